"""Random trees, diffed by the real git, applied by us: the exact tree comes out, and git agrees.

Trees are written with one `git fast-import` and compared by tree id, so that no working tree is needed.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.patches import StrictResult as PatchResult
from parsimony.patches import apply_strict as apply
from parsimony.patches import parse, prepare

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

FILE, EXECUTABLE, LINK, SUBMODULE = 0o100644, 0o100755, 0o120000, 0o160000
Tree = dict[bytes, tuple[int, bytes]]


# Each example starts several processes: shrinking one that fails would take minutes.
REAL_GIT = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


class Git:
    """An object database, and the few commands on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        self.run("init", "--quiet", "--bare", ".")

    def run(self, *arguments: str, data: bytes = b"", index: bool = False) -> bytes:
        environment = {**self.environment, **({"GIT_INDEX_FILE": str(self.folder / "scratch")} if index else {})}
        command = ["git", *arguments]
        done = subprocess.run(command, cwd=self.folder, input=data, capture_output=True, check=False, env=environment)
        done.check_returncode()
        return done.stdout

    def trees(self, *trees: Tree) -> list[str]:
        """Tree ids, in order."""
        stream = bytearray()
        for number, tree in enumerate(trees):
            stream += b"commit refs/heads/t%d\ncommitter x <x> 0 +0000\ndata 0\ndeleteall\n" % number
            for path, (mode, content) in tree.items():
                name = b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"'
                if mode == SUBMODULE:
                    stream += b"M %o %b %b\n" % (mode, content.split()[-1], name)
                else:
                    stream += b"M %o inline %b\ndata %d\n%b\n" % (mode, name, len(content), content)
        self.run("fast-import", "--quiet", "--force", data=bytes(stream))
        refs = [f"refs/heads/t{number}^{{tree}}" for number in range(len(trees))]
        return self.run("rev-parse", *refs).decode().split()

    def diff(self, old: str, new: str, *options: str) -> bytes:
        return self.run("diff-tree", "-r", "-p", "--binary", *options, old, new)

    def apply(self, tree: str, patch: bytes) -> str | None:
        """The id of the tree after `git apply`; None if git refuses."""
        for leftover in self.folder.glob("scratch*"):  # a crash of git leaves its lock
            leftover.unlink()
        self.run("read-tree", tree, index=True)
        try:
            self.run("apply", "--cached", "--whitespace=nowarn", "-", data=patch, index=True)
        except subprocess.CalledProcessError:
            return None
        return self.run("write-tree", index=True).decode().strip()


@pytest.fixture(scope="module")
def git(tmp_path_factory: pytest.TempPathFactory) -> Git:
    return Git(tmp_path_factory.mktemp("objects"))


PATHS = (
    b"x.py", b"d/y.py", b"d/e/z", b"a", b"b/a", b"sp ace/ c ", b"tab\there", b"new\nline", b'qu"o\\te', b"caf\xe9",
    "caf\u00e9/\u4f60".encode(), b"dev/null", b"-dash", b"d2 b/d2", b"cr\r", b"a b/a",
)  # fmt: skip
LINES = (
    b"\n", b"a\n", b"b\n", b"def f():\n", b"    return 1\n", b"\r\n", b"a\r\n", b"x\ry\n", b"\x0c\n", b"\xe9\n",
    b" \n", b"z", b"-- \n", b"++ b/x\n", b"@@ -1 +1 @@\n", b"diff --git a/x b/x\n", b"\\ x\n",
)  # fmt: skip
TEXT = st.lists(st.sampled_from(LINES), max_size=30).map(b"".join)
CONTENT = st.one_of(
    TEXT, TEXT, TEXT, st.binary(max_size=80), st.binary(max_size=20).map(lambda seed: b"\0" + seed * 40)
)


@st.composite
def entries(draw: st.DrawFn) -> tuple[int, bytes]:
    mode = draw(st.sampled_from([FILE, FILE, FILE, FILE, EXECUTABLE, LINK, SUBMODULE]))
    if mode == SUBMODULE:
        return mode, b"Subproject commit %040x\n" % draw(st.integers(1, 5))
    content = draw(CONTENT)
    # A target cannot hold a NUL, and links are kept apart from files so that no rename turns one into the other.
    return mode, (b"to/" + content.replace(b"\0", b"")) if mode == LINK else content


@st.composite
def changed(draw: st.DrawFn, content: bytes) -> bytes:
    """A few edits: git shows them as hunks, or as a delta where the content is binary."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(content)))
        end = draw(st.integers(at, min(len(content), at + 6)))
        content = content[:at] + draw(st.sampled_from([b"", b"new\n", b"\n", b"q"])) + content[end:]
    return content


def consistent(tree: Tree) -> Tree:
    """Without paths below a path that is a file."""
    return {path: entry for path, entry in tree.items() if not any(path.startswith(other + b"/") for other in tree)}


@st.composite
def tree_pairs(draw: st.DrawFn) -> tuple[Tree, Tree]:
    before = draw(st.dictionaries(st.sampled_from(PATHS), entries(), max_size=6))
    after: Tree = {}
    for path, (mode, content) in before.items():
        action = draw(st.sampled_from(["keep", "edit", "edit", "gone", "move", "copy", "mode", "type"]))
        other = draw(st.sampled_from(PATHS))
        entry = mode, content
        if action == "edit" and mode in (FILE, EXECUTABLE):
            entry = mode, draw(changed(content))
        elif action == "mode" and mode in (FILE, EXECUTABLE):
            entry = FILE + EXECUTABLE - mode, content
        elif action == "type":
            entry = draw(entries())
        if action in ("move", "copy"):
            after[other] = entry
        if action not in ("gone", "move"):
            after[path] = entry
    for path in draw(st.lists(st.sampled_from(PATHS), max_size=2)):
        after[path] = draw(entries())
    return consistent(before), consistent(after)


def contents(tree: Tree) -> dict[bytes, bytes]:
    return {path: content for path, (_, content) in tree.items()}


def applied(before: Tree, result: PatchResult) -> Tree:
    after = dict(before)
    for path in result:
        content = result[path]
        if content is None:
            del after[path]
        else:
            source = next(section.patch.old_path for section in result.sections if section.patch.new_path == path)
            inherited = before[source][0] if source is not None else FILE
            after[path] = result.modes.get(path, inherited), content
    return after


OPTIONS = st.sampled_from([
    (), ("-M",), ("-M10%", "-C10%", "--find-copies-harder"), ("-B", "-M"), ("--full-index", "-U1"), ("-U0",),
])  # fmt: skip


@REAL_GIT
@given(pair=tree_pairs(), options=OPTIONS)
def test_the_exact_tree_comes_out(git: Git, pair: tuple[Tree, Tree], options: tuple[str, ...]) -> None:
    before, after = pair
    old, new = git.trees(before, after)
    data = git.diff(old, new, *options)
    assert parse(data).problems == ()
    result = apply(data, contents(before))
    assert applied(before, result) == after
    assert set(result) == {path for path in {*before, *after} if before.get(path) != after.get(path)} | {
        section.patch.new_path for section in result.sections if section.patch.new_path is not None
    }
    if data and "-U0" not in options:
        assert git.apply(old, data) == new
    if data:
        prepared = prepare(data)
        assert prepared.variants[0].data == data
        assert prepared.refused == ()
        assert set(result) <= set(prepared.touched)


@REAL_GIT
@given(pair=tree_pairs(), data=st.data())
def test_where_both_accept_a_damaged_patch_they_agree(git: Git, pair: tuple[Tree, Tree], data: st.DataObject) -> None:
    before, after = pair
    old, new = git.trees(before, after)
    patch = bytearray(git.diff(old, new, "-M"))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(patch)))
        end = data.draw(st.integers(at, min(at + 4, len(patch))))
        patch[at:end] = data.draw(st.sampled_from([b"", b"\n", b" ", b"+", b"-", b"1", b"a", b"\r\n", b"-- a\n"]))
    damaged = bytes(patch)
    note(repr(damaged))
    try:
        result = apply(damaged, contents(before))
    except InputError:
        return
    theirs = git.apply(old, damaged)
    patch_read = parse(damaged)
    # Differences that are known and meant: the place of an offset hunk, text that git ignores, names without prefixes.
    prefixed = all(name[:2] in (b"a/", b"b/") for file in patch_read.files for name in file.names)
    if theirs is not None and prefixed and not result.offset_hunks and not patch_read.problems:
        assert git.trees(applied(before, result)) == [theirs]
