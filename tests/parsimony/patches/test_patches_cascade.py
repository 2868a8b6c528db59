"""The forms against the real programs: `git apply` and GNU `patch`, in the way a grading runs them."""

import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from parsimony.patches import apply_strict as apply
from parsimony.patches import prepare

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.skipif(shutil.which("patch") is None, reason="GNU patch is not installed"),
]

Tree = dict[bytes, bytes]
LINES = b"".join(b"line%d\n" % number for number in range(1, 13))
CHANGE = b"""\
diff --git a/f b/f
index 1111111..2222222 100644
--- a/f
+++ b/f
@@ -1,7 +1,7 @@
 line1
 line2
 line3
-line4
+LINE4
 line5
 line6
 line7
"""
CHANGED = LINES.replace(b"line4", b"LINE4")
HEAD = CHANGE[: CHANGE.index(b" line1\n")]
NEW = b"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n"
DATALESS = b"diff --git a/p.png b/p.png\nnew file mode 100644\nindex 0..1\nBinary files /dev/null and b/p.png differ\n"


def crlf(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


class Bench:
    """Fresh folders to apply patches in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.count = 0

    def run(self, command: list[str], files: Mapping[bytes, bytes], data: bytes) -> Tree | None:
        """The tree after a command that succeeded, with nothing but what is below it; None if it failed."""
        self.count += 1
        folder = self.root / str(self.count)
        folder.mkdir()
        for name, content in files.items():
            path = folder / name.decode("utf-8", "surrogateescape")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        environment = {
            "PATH": "/usr/bin:/bin:/usr/local/bin", "LC_ALL": "C", "HOME": str(self.root),
            "GIT_CEILING_DIRECTORIES": str(self.root), "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip
        done = subprocess.run(command, cwd=folder, input=data, capture_output=True, check=False, env=environment)
        if done.returncode != 0:
            return None
        return {
            str(path.relative_to(folder)).encode("utf-8", "surrogateescape"): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and path.suffix != ".orig"
        }

    def git(self, files: Mapping[bytes, bytes], data: bytes) -> Tree | None:
        return self.run(["git", "apply", "--whitespace=nowarn", "-"], files, data)

    def patch(self, files: Mapping[bytes, bytes], data: bytes) -> Tree | None:
        return self.run(["patch", "--batch", "--forward", "--fuzz=5", "-p1"], files, data)

    def cascade(self, files: Mapping[bytes, bytes], data: bytes) -> tuple[str | None, Tree | None]:
        """The name of the first form that git takes, and the tree that it makes."""
        for variant in prepare(data).applicable:
            tree = self.git(files, variant.data)
            if tree is not None:
                return variant.name, tree
        return None, None


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.parametrize(
    ("file", "data", "form", "result"),
    [
        (LINES, CHANGE, "raw", CHANGED),
        (LINES, crlf(CHANGE), "lf", CHANGED),
        (LINES, HEAD + crlf(CHANGE[len(HEAD) :]), "lf", CHANGED),
        (crlf(LINES), CHANGE, "crlf", crlf(CHANGED)),
        (crlf(LINES), crlf(CHANGE), "raw", crlf(CHANGED)),
        (crlf(LINES), HEAD + crlf(CHANGE[len(HEAD) :]), "raw", crlf(CHANGED)),
        (LINES.replace(b"2\n", b"2\r\n"), CHANGE.replace(b"2\n", b"2\r\n"), "raw", CHANGED.replace(b"2\n", b"2\r\n")),
        (LINES.replace(b"2\n", b"2\r\n"), CHANGE, None, None),
        (LINES, CHANGE[:-1], "mended", CHANGED),
        (LINES, crlf(CHANGE)[:-1], "lf", CHANGED),
        (LINES, DATALESS + CHANGE, "mended", CHANGED),
        (LINES, b"Binary files a/p and b/p differ\n" + CHANGE, "mended", CHANGED),
        (LINES, b"\xef\xbb\xbf" + CHANGE, "mended", CHANGED),
        (LINES, CHANGE.replace(b"-1,7 +1,7", b"-1,8 +1,8"), "recounted", CHANGED),
        (LINES, CHANGE.replace(b"-1,7 +1,7", b"-1,6 +1,6"), "raw", CHANGED),
        (LINES, CHANGE.replace(b"-1,7 +1,7", b"-1,3 +1,3"), "recounted", CHANGED),
        (LINES, CHANGE + b"\n@@ -9 +9 @@\n-line9\n+LINE9\n line10\n", "recounted", None),
        (LINES, CHANGE + b"\n@@ -9,3 +9,3 @@\n-line9\n+LINE9\n line10\n line11\n", "mended", None),
        (LINES, b"Sure:\n```diff\n" + CHANGE + b"```\nDone.\n", "raw", CHANGED),
        (LINES, CHANGE + b"-- \n2.39.5\n\n", "raw", CHANGED),
        (LINES, CHANGE + b"@@ ... @@\n-line9\n+LINE9\n", None, None),
        (LINES, CHANGE.replace(b"line4", b"other"), None, None),
    ],
)
def test_forms_of_one_change(bench: Bench, file: bytes, data: bytes, form: str | None, result: bytes | None) -> None:
    name, tree = bench.cascade({b"f": file}, data)
    assert name == form
    if form is not None:
        assert tree == {b"f": result or CHANGED.replace(b"line9", b"LINE9")}


BODY_CRLF = HEAD + crlf(CHANGE[len(HEAD) :])


@pytest.mark.parametrize(
    ("file", "data", "by_git", "by_patch"),
    [
        (LINES, crlf(CHANGE), None, CHANGED),
        (crlf(LINES), crlf(CHANGE), crlf(CHANGED), None),
        (LINES, BODY_CRLF, None, None),
        (crlf(LINES), CHANGE, None, None),
        (LINES, CHANGE[:-1], None, CHANGED),
        (b"a\n", b"--- a/f\n+++ b/f\n@@ -1 +1,2 @@\n a\n+b", None, None),
        (LINES, CHANGE.replace(b"-1,7 +1,7", b"-1,6 +1,6") + b"+LOST\n", CHANGED, CHANGED),
    ],
)
def test_what_the_programs_do_by_themselves(
    bench: Bench, file: bytes, data: bytes, by_git: bytes | None, by_patch: bytes | None
) -> None:
    """The table of docs/decisions/0010, as far as the other tests here do not show it."""
    assert bench.git({b"f": file}, data) == (by_git and {b"f": by_git})
    assert bench.patch({b"f": file}, data) == (by_patch and {b"f": by_patch})


def test_git_alone_would_lose_what_losses_say(bench: Bench) -> None:
    """The reason for `Variant.losses`: git's exit status is 0 and part of the patch is missing."""
    lossy = {
        b"--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n line1\n+A\n line2\n+B\n line3\n": LINES.replace(b"1\nl", b"1\nA\nl", 1),
        CHANGE + b"@@ ... @@\n-line9\n+LINE9\n": CHANGED,
        b"\xef\xbb\xbfdiff --git a/e b/e\nnew file mode 100644\n" + CHANGE: CHANGED,
    }
    torn = NEW.replace(b"100644\n", b"100755\n\n")
    assert bench.git({}, torn) == {b"n": b"n\n"}
    assert not (bench.root / str(bench.count) / "n").stat().st_mode & stat.S_IXUSR
    assert prepare(torn).variants[0].losses
    for data, partial in lossy.items():
        assert prepare(data).variants[0].losses
        assert bench.git({b"f": LINES}, data) == {b"f": partial}


BINARY = (
    b"diff --git a/bin b/bin\nnew file mode 100644\nindex %040d..bdc955b7b2e610ad5a72302b139a2e6cb325519a\n"
    b"GIT binary patch\nliteral 2\nJcmZQz1ONa700IC2\n\nliteral 0\nHcmV?d00001\n\n"
) % 0


def test_git_stops_at_damaged_binary_data_and_exits_with_0(bench: Bench) -> None:
    assert bench.git({b"f": LINES}, BINARY + CHANGE) == {b"f": CHANGED, b"bin": b"\0\1"}
    for damage in (
        BINARY.replace(b"1ON", b"2ON"),
        BINARY.replace(b"HcmV", b"HcnV"),
        BINARY.replace(b"literal 2", b"literal 3"),
    ):
        assert bench.git({b"f": LINES}, CHANGE + damage + NEW) == {b"f": CHANGED}
        assert prepare(CHANGE + damage + NEW).applicable == ()
    assert bench.git({b"f": LINES}, CHANGE + BINARY[:-1]) == {b"f": CHANGED}
    assert bench.cascade({b"f": LINES}, CHANGE + BINARY[:-1]) == ("mended", {b"f": CHANGED, b"bin": b"\0\1"})
    for body in (BINARY[BINARY.index(b"GIT") :], b"Binary files a/f and b/g differ\n"):
        moved = crlf(b"diff --git a/f b/g\nrename from f\nrename to g\n" + body)
        assert bench.git({b"f": LINES}, moved) == {b"g": LINES}
        assert prepare(moved).variants[0].losses
    assert bench.cascade({b"f": LINES}, crlf(CHANGE + BINARY)) == ("lf", {b"f": CHANGED, b"bin": b"\0\1"})
    assert bench.cascade({b"f": LINES}, crlf(CHANGE + DATALESS)) == ("lf", {b"f": CHANGED})


@pytest.mark.parametrize("index", [b"", b"index 1234567..0000000\n", b"index 1234567..0000000 100644\n"])
def test_new_and_deleted_files_whose_mode_was_forgotten(bench: Bench, index: bytes) -> None:
    gone = b"diff --git a/g b/g\n" + index + b"--- a/g\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
    assert bench.git({b"g": b"a\nb\n"}, gone) == {b"dev/null": b""}
    assert bench.cascade({b"g": b"a\nb\n"}, gone) == ("mended", {})
    made = b"diff --git a/n b/n\n" + index + b"--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n"
    assert bench.git({}, made) is None
    assert bench.cascade({}, made) == ("mended", {b"n": b"n\n"})
    assert bench.cascade({}, crlf(made)) == ("mended", {b"n": b"n\r\n"})


def test_patch_alone_would_lose_more_and_gets_its_own_form(bench: Bench) -> None:
    """The reason for `Prepared.fuzzy`: exit status 0 with hunks missing, files too many, or `.git` written."""
    gap = CHANGE + b"\n@@ -9,2 +9,2 @@\n-line9\n+LINE9\n line10\n"
    assert bench.patch({b"f": LINES}, gap) == {b"f": CHANGED}
    assert bench.patch({b"f": LINES}, DATALESS + CHANGE) == {b"f": CHANGED, b"p.png": b""}
    for data, expected in ((gap, CHANGED.replace(b"line9", b"LINE9")), (DATALESS + CHANGE, CHANGED)):
        fuzzy = prepare(data).fuzzy
        assert fuzzy is not None
        assert bench.patch({b"f": LINES}, fuzzy.data) == {b"f": expected}
    hook = NEW.replace(b"b/n", b"b/.GIT/hooks/n").replace(b"a/n", b"a/.GIT/hooks/n")
    assert bench.patch({}, hook) == {b".GIT/hooks/n": b"n\n"}
    assert prepare(hook).refused


@pytest.mark.parametrize("data", [CHANGE, crlf(CHANGE), CHANGE[:-1], b"text\n" + CHANGE, CHANGE + NEW])
def test_patch_takes_its_form_with_stale_context(bench: Bench, data: bytes) -> None:
    stale = {b"f": LINES.replace(b"line1\n", b"first\n")}
    assert bench.cascade(stale, data)[1] is None
    fuzzy = prepare(data).fuzzy
    assert fuzzy is not None
    tree = bench.patch(stale, fuzzy.data)
    assert tree is not None
    assert tree[b"f"] == CHANGED.replace(b"line1\n", b"first\n")


def test_attributes_of_the_tree_convert_line_ends_without_our_help(bench: Bench, tmp_path: Path) -> None:
    """With `eol=crlf` git itself reads a CR LF file as LF and writes it back."""
    script = "git init -q . && git apply --whitespace=nowarn - && rm -rf .git"
    files = {b"f": crlf(LINES), b".gitattributes": b"f text eol=crlf\n"}
    tree = bench.run(["sh", "-c", script], files, CHANGE)
    assert tree is not None
    assert tree[b"f"] == crlf(CHANGED)


FORMS = {
    "new empty file": b"diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n",
    "deleted": b"diff --git a/g b/g\ndeleted file mode 100644\n--- a/g\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n",
    "rename": b"diff --git a/g b/h/g\nsimilarity index 100%\nrename from g\nrename to h/g\n",
    "rename with change":
        b"diff --git a/g b/h\nrename from g\nrename to h\n--- a/g\n+++ b/h\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
    "copy": b"diff --git a/g b/h\nsimilarity index 100%\ncopy from g\ncopy to h\n",
    "mode": b"diff --git a/g b/g\nold mode 100644\nnew mode 100755\n",
    "quoted": rb'--- /dev/null|+++ "b/\303\251\t\"x\\"|@@ -0,0 +1 @@|+n|'.replace(b"|", b"\n"),
    "spaced": b"diff --git a/s p b/s p\n--- a/s p\t\n+++ b/s p\t\n@@ -1 +1 @@\n-s\n+t\n",
    "not UTF-8": b"--- a/\xe9\n+++ b/\xe9\n@@ -1 +1 @@\n-\xe8\n+\xea\n",
    "time stamps":
        b"--- a/g\t2024-01-31 10:20:30.5 +0100\n+++ b/g\t2024-01-31 10:20:31.5 +0100\n@@ -1,2 +1,1 @@\n a\n-b\n",
    "epoch": b"--- a/z\t1970-01-01 00:00:00 +0000\n+++ b/z\t2024-01-31 10:20:31 +0000\n@@ -0,0 +1 @@\n+z\n",
    "no final newline": b"--- a/g\n+++ b/g\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n",
    "binary":
        b"diff --git a/bin b/bin\nindex bdc955b7b2e610ad5a72302b139a2e6cb325519a.."
        b"8835708590a9afa236e1bbad18df9d23de82ccd3 100644\nGIT binary patch\n"
        b"literal 2\nJcmZQz0ssI600RI3\n\nliteral 2\nJcmZQz1ONa700IC2\n\n",
    "two names": b"diff --git a/g b/h\nindex 1..2 100644\n--- a/g\n+++ b/h\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
    "blank line in the header": b"diff --git a/g b/g\n\n--- a/g\n+++ b/g\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
    "mail":
        b"Subject: x\n---\n g | 2 +-\n\ndiff --git a/g b/g\n--- a/g\n+++ b/g\n@@ -1,2 +1,1 @@\n a\n-b\n-- \n2.39\n\n",
}  # fmt: skip
BASE = {b"g": b"a\nb\n", b"s p": b"s\n", b"\xe9": b"\xe8\n", b"bin": b"\0\1"}


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS.keys())
def test_strict_application_agrees_with_git(bench: Bench, data: bytes) -> None:
    changes = apply(data, BASE)
    mine = {path: content for path, content in {**BASE, **changes}.items() if content is not None}
    assert bench.git(BASE, data) == mine
    assert prepare(data).applicable[0].data == data


@pytest.mark.parametrize(
    "data",
    [
        FORMS["copy"].replace(b"copy to h", b"copy to ../h").replace(b"b/h", b"b/../h"),
        NEW.replace(b"b/n", b"b/.git/n").replace(b"a/n", b"a/.git/n"),
        b"diff --git a/g b/g\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
        NEW.replace(b"/n\n", b"/g\n").replace(b"a/n b/n", b"a/g b/g"),
        CHANGE,
        CHANGE.replace(b"-1,7", b"-1,9"),
        DATALESS,
    ],
)
def test_what_strict_application_refuses_git_refuses(bench: Bench, data: bytes) -> None:
    with pytest.raises(ValueError):
        apply(data, BASE)
    assert bench.git(BASE, data) is None


def test_modes_agree_with_git(bench: Bench) -> None:
    assert bench.git(BASE, FORMS["mode"]) is not None
    mode = (bench.root / str(bench.count) / "g").stat().st_mode
    assert apply(FORMS["mode"], BASE).modes == {b"g": 0o100755}
    assert mode & stat.S_IXUSR
