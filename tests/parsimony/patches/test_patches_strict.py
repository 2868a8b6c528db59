"""Strict application in memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.patches import apply_strict as apply

BASE = {b"x": b"a\nb\nc\n", b"e": b"", b"l": b"to", b"bin": b"\0\1", b"crlf": b"a\r\nb\r\n", b"open": b"a\nb"}
MARKER = b"\\ No newline at end of file\n"


def plain(path: bytes, hunks: bytes) -> bytes:
    return b"--- a/%b\n+++ b/%b\n%b" % (path, path, hunks)


def git(old: bytes, new: bytes, header: bytes, hunks: bytes = b"") -> bytes:
    names = b"--- a/%b\n+++ b/%b\n" % (old, new) if hunks else b""
    return b"diff --git a/%b b/%b\n%b%b%b" % (old, new, header, names, hunks)


def new(path: bytes, mode: bytes = b"100755") -> bytes:
    header = b"diff --git a/%b b/%b\nnew file mode %b\n" % (path, path, mode)
    return header + b"--- /dev/null\n+++ b/%b\n@@ -0,0 +1 @@\n+n\n" % path


CHANGE = b"@@ -1,2 +1,2 @@\n a\n-b\n+B\n"
GONE = b"diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", {}),
        (b" \n\t", {}),
        (plain(b"x", CHANGE), {b"x": b"a\nB\nc\n"}),
        (plain(b"x", CHANGE)[:-1], {b"x": b"a\nB\nc\n"}),
        (plain(b"x", b"@@ -1,3 +0,0 @@\n-a\n-b\n-c\n"), {b"x": b""}),
        (plain(b"e", b"@@ -0,0 +1 @@\n+a\n" + MARKER), {b"e": b"a"}),
        (plain(b"open", b"@@ -1,2 +1,2 @@\n a\n-b\n" + MARKER + b"+b\n"), {b"open": b"a\nb\n"}),
        (plain(b"crlf", b"@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n"), {b"crlf": b"a\r\nB\r\n"}),
        (plain(b"crlf", b"@@ -1,2 +1,2 @@\n a\n-b\n+B\n").replace(b"\n", b"\r\n"), {b"crlf": b"a\r\nB\r\n"}),
        (new(b"n"), {b"n": b"n\n"}),
        (b"diff --git a/n b/n\nnew file mode 100644\nindex 0..e69de29\n", {b"n": b""}),
        (GONE, {b"x": None}),
        (b"diff --git a/e b/e\ndeleted file mode 100644\n", {b"e": None}),
        (git(b"x", b"d/y", b"rename from x\nrename to d/y\n"), {b"x": None, b"d/y": b"a\nb\nc\n"}),
        (git(b"x", b"y", b"rename from x\nrename to y\n", CHANGE), {b"x": None, b"y": b"a\nB\nc\n"}),
        (
            git(b"x", b"y", b"copy from x\ncopy to y\n", CHANGE) + plain(b"x", CHANGE),
            {b"y": b"a\nB\nc\n", b"x": b"a\nB\nc\n"},
        ),
        (
            git(b"x", b"e", b"rename from x\nrename to e\n") + git(b"e", b"x", b"rename from e\nrename to x\n"),
            {b"x": b"", b"e": b"a\nb\nc\n"},
        ),
        (git(b"x", b"x", b"old mode 100644\nnew mode 100755\n"), {b"x": b"a\nb\nc\n"}),
        (GONE + new(b"x", b"120000"), {b"x": b"n\n"}),
        (GONE + new(b"x/n"), {b"x": None, b"x/n": b"n\n"}),
        (plain(b"x", CHANGE + b" c\n+lost\n"), {b"x": b"a\nB\nc\n"}),
        (plain(b"x", CHANGE + b"\n...\n@@ -3 +3 @@\n-c\n+C\n"), {b"x": b"a\nB\nC\n"}),
    ],
)  # fmt: skip
def test_what_comes_out(data: bytes, expected: dict[bytes, bytes | None]) -> None:
    result = apply(data, BASE)
    assert dict(result) == expected
    assert dict(apply(data, BASE.get)) == expected


def test_modes_and_sections_are_told() -> None:
    result = apply(
        new(b"n") + git(b"l", b"l", b"index 1..2 120000\n", b"@@ -1 +1 @@\n-to\n" + MARKER + b"+so\n" + MARKER), BASE
    )
    assert result.modes == {b"n": 0o100755, b"l": 0o120000}
    assert [(section.before, section.after) for section in result.sections] == [(None, b"n\n"), (b"to", b"so")]
    assert result.offset_hunks == 0
    assert apply(plain(b"x", b"@@ -1 +1 @@\n-b\n+B\n"), BASE).offset_hunks == 1


OLD_ID, NEW_ID = b"bdc955b7b2e610ad5a72302b139a2e6cb325519a", b"8835708590a9afa236e1bbad18df9d23de82ccd3"
LITERAL = b"GIT binary patch\nliteral 2\nJcmZQz0ssI600RI3\n\nliteral 2\nJcmZQz1ONa700IC2\n\n"


def binary(before: bytes, after: bytes) -> bytes:
    return git(b"bin", b"bin", b"index " + before + b".." + after + b" 100644\n" + LITERAL)


def test_binary_data_and_the_ids_of_both_sides() -> None:
    assert apply(binary(OLD_ID, NEW_ID), BASE) == {b"bin": b"\0\2"}
    with pytest.raises(InputError, match="without the whole blob ids"):
        apply(binary(OLD_ID[:7], NEW_ID[:7]), BASE)
    with pytest.raises(InputError, match="the base is not " + "0" * 40):
        apply(binary(b"0" * 40, NEW_ID), BASE)
    with pytest.raises(InputError, match="the result is not " + "0" * 40):
        apply(binary(OLD_ID, b"0" * 40), BASE)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"hello\n", "no unified diff"),
        (plain(b"nowhere", CHANGE), "row 1: nowhere is not in the base"),
        (plain(b"x", b"@@ -1,2 +1,2 @@\n a\n-B\n+b\n"), "row 3: the lines of a hunk are not in the base"),
        (plain(b"crlf", CHANGE), "not in the base"),
        (plain(b"x", b"@@ -1,3 +1,2 @@\n a\n-b\n+B\n"), "row 3: the hunk does not have 3 old and 2 new lines"),
        (plain(b"x", b"@@ -1,2 +1,2\n a\n-b\n+B\n"), "row 3: no hunk header"),
        (plain(b"x", b"@@ -1,3 +1,3 @@\n a\n\n-b\n+B\n"), "row 5: a blank context line"),
        (plain(b"x", b""), "changes nothing"),
        (plain(b"x", CHANGE) + plain(b"x", CHANGE), "row 7: x has two sections"),
        (GONE + GONE, "x has two sections"),
        (GONE + plain(b"x", CHANGE), "x is changed and removed"),
        (GONE.replace(b"-c\n", b"").replace(b"1,3", b"1,2"), "x is deleted but not all of it"),
        (b"diff --git a/x b/x\ndeleted file mode 100644\n", "x is deleted but not all of it"),
        (new(b"x"), "x is made but is in the base"),
        (new(b"x/n"), "x/n lies below x, a file"),
        (new(b"n") + new(b"n/m"), "n/m lies below n, a file"),
        (git(b"x", b"e", b"rename from x\nrename to e\n"), "e is made but is in the base"),
        (git(b"b", b"b", b"index 1..2\nBinary files a/b and b/b differ\n"), "row 3: a binary file without its data"),
        (plain(b"../x", CHANGE), "leaves the tree"),
        (b"\xef\xbb\xbf" + plain(b"x", CHANGE), "byte order mark"),
        (binary(OLD_ID, NEW_ID).replace(b"literal 2", b"literal 3", 1), "stated 3 bytes"),
    ],
)  # fmt: skip
def test_what_is_refused_and_where(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        apply(data, BASE)


def test_many_copies_of_a_large_file_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parsimony.patches.strict.MAX_RESULT_BYTES", 10_000)
    copies = b"".join(git(b"x", b"y%d" % n, b"copy from x\ncopy to y%d\n" % n) for n in range(20))
    with pytest.raises(InputError, match="over the limit"):
        apply(copies, {b"x": bytes(1000)})


@given(st.data())
def test_mutated_patches_end_in_a_result_or_an_input_error(data: st.DataObject) -> None:
    whole = plain(b"x", CHANGE) + new(b"n") + git(b"e", b"f", b"rename from e\nrename to f\n")
    whole += binary(OLD_ID, NEW_ID)
    patch = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(patch) - 1))
        end = data.draw(st.integers(at, min(at + 3, len(patch))))
        patch[at:end] = data.draw(
            st.one_of(st.binary(max_size=3), st.sampled_from([b"\n", b"-", b"+", b" ", b"@@ -1 +1 @@\n"]))
        )
    try:
        result = apply(bytes(patch), BASE)
    except InputError:
        return
    assert all(content is None or isinstance(content, bytes) for content in result.values())
