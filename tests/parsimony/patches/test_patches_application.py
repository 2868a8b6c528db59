"""Patches applied to the files that count: the published rules, and the strict mode that takes what they refuse."""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.patches import apply, hunks

LINES = b"a\nb\nc\n"
FILES = {"p/x.py": LINES, "p/y.py": LINES}
HUNK = "@@ -1,1 +1,1 @@\n-a\n+z\n"


def section(path: str = "p/x.py", hunk: str = HUNK, *, git: bool = True) -> str:
    return (f"diff --git a/{path} b/{path}\n" if git else "") + f"--- a/{path}\n+++ b/{path}\n{hunk}"


def test_one_replacement() -> None:
    result = apply(FILES, section().encode())
    assert dict(result) == {"p/x.py": b"z\nb\nc\n"}
    assert (result.touched_files, result.excluded_files, result.offset_hunks) == (("p/x.py",), (), 0)


@pytest.mark.parametrize("files", [FILES.get, FILES.__getitem__])
def test_files_may_be_a_function(files: Any) -> None:
    assert apply(files, section().encode())["p/x.py"] == b"z\nb\nc\n"
    with pytest.raises(InputError, match="not in the base"):
        apply(files, section("p/none.py").encode())


def test_what_does_not_count_is_neither_read_nor_changed() -> None:
    asked: list[str] = []

    def read(path: str) -> bytes | None:
        asked.append(path)
        return FILES.get(path)

    result = apply(read, (section("tests/t.py") + section() + section("docs/a.md")).encode())
    assert asked == ["p/x.py"]
    assert result.exclusions == (("tests/t.py", "test_dir"), ("docs/a.md", "unknown_suffix"))
    assert result.touched_files == ("tests/t.py", "p/x.py", "docs/a.md")


@pytest.mark.parametrize(
    ("hunk", "after", "offset"),
    [
        ("@@ -1 +1 @@\n-a\n+z\n", "z\nb\nc\n", 0),
        ("@@ -3,1 +3,1 @@\n-b\n+z\n", "a\nz\nc\n", 1),
        ("@@ -1,0 +2,1 @@\n+z\n", "a\nz\nb\nc\n", 0),
        ("@@ -1,1 +1,1 @@\n-a\n+z\n extra\n+ignored\n", "z\nb\nc\n", 0),
        ("@@ -1,1 +1,1 @@\n-a\n+z\nprose\n@@ -3,1 +3,1 @@\n-c\n+y\n", "z\nb\ny\n", 0),
        ("@@ -3,1 +3,1 @@\n-c\n+c\n\\ No newline at end of file\n", "a\nb\nc", 0),
        ("@@ -1,0 +1,0 @@\n", "a\nb\nc\n", 0),
    ],
)
def test_the_published_rules_take(hunk: str, after: str, offset: int) -> None:
    result = apply(FILES, section(hunk=hunk).encode())
    assert result["p/x.py"] == after.encode()
    assert result.offset_hunks == offset


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ("prose\n", "no text diff"),
        (section(hunk="@@ -1,2 +1,2 @@\n-a\n+z\n"), "does not have 2 old"),
        (section(hunk="@@ -1,1 +1,1 @@\n-x\n+z\n"), "not in the base"),
        (section(hunk="@@ -1,1 +2,1 @@\n-a\n+z\n"), "does not follow"),
        (section(hunk="@@ -1,2 +1,2 @@\n-a\n+z\n\n"), "neither a space nor a sign"),
        (section(hunk="@@ -1 1 @@\n-a\n+z\n"), "needs the form"),
        (section(hunk=HUNK + " @@ -3,1 +3,1 @@\n-c\n+y\n"), "needs the form"),
        (section() + section(), "two sections"),
        (section(hunk=""), "no text hunks"),
        (section() + "diff --git a/p/y.py b/p/y.py\nold mode 100644\nnew mode 100755\n", "no text hunks"),
        ("diff --git a/p/n.py b/p/n.py\nnew file mode 100644\nindex 0..e69de29\n", "no text hunks"),
        ("diff --git a/p/a b.py b/p/a b.py\n--- a/p/a b.py\n+++ b/p/a b.py\n" + HUNK, "spaces in its names"),
        ("--- a/p/x.py\n\n+++ b/p/x.py\n" + HUNK, r'no "\+\+\+ " line'),
        (section("/p/x.py"), "absolute"),
        (section("p/../x.py"), "leaves the tree"),
        (section('"p/x.py"', git=False), "quoted"),
        (section(hunk="@@ -1,2 +1,2 @@\n-a\n+z\x0cq\n b\n"), "neither a space"),
    ],
)
def test_the_published_rules_refuse(patch: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply(FILES, patch.encode())


def test_a_deletion_leaves_what_the_patch_leaves() -> None:
    result = apply(FILES, b"--- a/p/x.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n")
    assert result.files[0].after == b"c\n"
    assert result.files[0].new_path is None
    assert dict(result) == {"p/x.py": None}


def test_a_byte_order_mark_is_on_neither_side() -> None:
    result = apply({"p/x.py": b"\xef\xbb\xbf" + LINES}, section().encode())
    assert (result.files[0].before, result.files[0].after) == (LINES, b"z\nb\nc\n")


def test_bytes_that_are_not_utf8() -> None:
    with pytest.raises(InputError, match="0xe9"):
        apply({"p/x.py": b"a\n\xe9\n"}, section().encode())
    with pytest.raises(InputError, match="the patch is not UTF-8"):
        apply(FILES, section().encode() + b"\xff\n")


def test_strict_takes_what_the_published_rules_refuse() -> None:
    rename = "diff --git a/p/x.py b/p/new.py\nsimilarity index 100%\nrename from p/x.py\nrename to p/new.py\n"
    result = apply(FILES, rename.encode(), mode="strict")
    assert dict(result) == {"p/x.py": None, "p/new.py": LINES}
    copy = rename.replace("rename", "copy")
    assert dict(apply(FILES, copy.encode(), mode="strict")) == {"p/new.py": LINES}
    mode = "diff --git a/p/x.py b/p/x.py\nold mode 100644\nnew mode 100755\n"
    assert dict(apply(FILES, mode.encode(), mode="strict")) == {"p/x.py": LINES}
    empty = "diff --git a/p/n.py b/p/n.py\nnew file mode 100644\nindex 0..e69de29\n"
    assert dict(apply(FILES, empty.encode(), mode="strict")) == {"p/n.py": b""}
    spaced = "diff --git a/p/a b.py b/p/a b.py\n--- a/p/a b.py\t\n+++ b/p/a b.py\t\n" + HUNK
    assert dict(apply({"p/a b.py": LINES}, spaced.encode(), mode="strict")) == {"p/a b.py": b"z\nb\nc\n"}


def test_strict_passes_over_binary_files_that_do_not_count() -> None:
    binary = "diff --git a/i.png b/i.png\nindex 1..2 100644\nBinary files a/i.png and b/i.png differ\n"
    result = apply(FILES, (binary + section()).encode(), mode="strict")
    assert dict(result) == {"p/x.py": b"z\nb\nc\n"}
    assert result.exclusions == (("i.png", "unknown_suffix"),)
    with pytest.raises(InputError, match="without its data"):
        apply(FILES, binary.replace("i.png", "p/x.py").encode(), mode="strict")


def test_there_are_two_modes() -> None:
    with pytest.raises(InputError, match="measure or strict"):
        apply(FILES, b"", mode="grade")  # type: ignore[arg-type]


def test_the_lines_of_the_hunks_alone() -> None:
    result = hunks(section(hunk=HUNK + "@@ -3,1 +3,1 @@\n-c\n+y\n").encode())
    assert (result.files[0].before, result.files[0].after) == (b"a\nc\n", b"z\ny\n")


@given(
    st.lists(st.sampled_from([*section().splitlines(keepends=True), " b\n", "\n", "\\ x\n", "+", "@@"]), max_size=12)
)
def test_any_order_of_lines_ends_in_a_result_or_an_input_error(lines: list[str]) -> None:
    for mode in ("measure", "strict"):
        try:
            result = apply(FILES, "".join(lines).encode(), mode=mode)
        except InputError:
            continue
        assert set(result) <= {"p/x.py"}


def vectors() -> Iterator[dict[str, Any]]:
    named = os.environ.get("PARSIMONY_VECTORS")
    folder = Path(named) if named else Path(__file__).resolve().parents[4] / "shared" / "vectors"
    if not (folder / "patches-given.jsonl").is_file():
        pytest.skip("PARSIMONY_VECTORS does not name the folder of the shared vectors")
    with (folder / "patches-given.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


OVERRULED = "duplicate: "
"""Cases that a later version of the published rules turned into errors."""


@pytest.mark.shared
def test_the_shared_vectors() -> None:
    wrong = []
    for row in vectors():
        files = {
            path: item["text"].encode() if "text" in item else base64.b64decode(item["base64"])
            for path, item in row["files"].items()
        }
        expected = row["expected"]
        try:
            result = apply(files, row["patch"].encode("utf-8", "surrogatepass"))
        except InputError:
            found: object = "error"
            wanted: object = "error" if row["kind"].startswith(OVERRULED) else expected["status"]
        else:
            found = (
                [
                    (file.old_path or "/dev/null", file.new_path or "/dev/null", (file.after or b"").decode())
                    for file in result.files
                ],
                list(result.touched_files),
                result.offset_hunks,
            )
            wanted = (
                [(item["old_path"], item["new_path"], item["text"]) for item in expected.get("results", ())],
                expected.get("touched_files"),
                expected.get("offset_hunks"),
            )
        if found != wanted:
            wrong.append((row["id"], row["kind"], found, wanted))
    assert wrong == []
