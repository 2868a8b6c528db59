"""Reading: one fixture for each form of diff, and nothing ever raised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.patches import ChangeKind, FilePatch, ProblemKind, is_blank, parse
from parsimony.patches.model import split_lines
from parsimony.patches.reader import MAX_PATCH_BYTES
from parsimony.patches.repair import render

SIMPLE = b"""\
diff --git a/p/x.py b/p/x.py
index 1111111..2222222 100644
--- a/p/x.py
+++ b/p/x.py
@@ -1,3 +1,3 @@ def f():
 a
-b
+c
 d
"""


def only(data: bytes) -> FilePatch:
    """The single section of a patch that has nothing wrong with it."""
    patch = parse(data)
    assert patch.problems == ()
    (file,) = patch.files
    return file


def problems(data: bytes) -> list[tuple[int, ProblemKind]]:
    return [(problem.row, problem.kind) for problem in parse(data).problems]


def test_a_plain_change() -> None:
    file = only(SIMPLE)
    assert (file.kind, file.old_path, file.new_path) == (ChangeKind.MODIFY, b"p/x.py", b"p/x.py")
    assert (file.old_mode, file.new_mode, file.old_id, file.new_id) == (0o100644, 0o100644, b"1111111", b"2222222")
    (hunk,) = file.hunks
    assert (hunk.row, hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (5, 1, 3, 1, 3)
    assert hunk.old_lines() == [b"a\n", b"b\n", b"d\n"]
    assert hunk.new_lines() == [b"a\n", b"c\n", b"d\n"]
    assert hunk.sound


def test_counts_of_one_may_be_left_out() -> None:
    (hunk,) = only(b"--- a/x\n+++ b/x\n@@ -7 +9 @@\n-a\n+b\n").hunks
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (7, 1, 9, 1)


def test_crlf_is_content_in_bodies_and_not_in_headers() -> None:
    file = only(SIMPLE.replace(b"\n", b"\r\n"))
    assert file.path == b"p/x.py"
    assert file.hunks[0].old_lines() == [b"a\r\n", b"b\r\n", b"d\r\n"]


def test_only_a_line_feed_ends_a_line() -> None:
    text = b"a\rb\n\x0c\n\x85\xe2\x80\xa8c\n"
    assert split_lines(text) == [b"a\rb\n", b"\x0c\n", b"\x85\xe2\x80\xa8c\n"]
    (hunk,) = only(b"--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n-old\n+a\rb\n+\x0c\n+\x85\xe2\x80\xa8c\n").hunks
    assert b"".join(hunk.new_lines()) == text


def test_no_newline_markers_on_either_side() -> None:
    marker = b"\\ No newline at end of file\n"
    (hunk,) = only(b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n" + marker + b"+c\n" + marker).hunks
    assert (hunk.old_lines(), hunk.new_lines()) == ([b"a\n", b"b"], [b"a\n", b"c"])
    (hunk,) = only(b"--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n-a\n b\n" + marker).hunks
    assert (hunk.old_lines(), hunk.new_lines()) == ([b"a\n", b"b"], [b"b"])
    (hunk,) = only(b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\\ Kein Zeilenumbruch am Dateiende.\n").hunks
    assert (hunk.old_lines(), hunk.new_lines()) == ([b"a\n"], [b"b"])


def test_the_final_newline_is_restored_and_noted() -> None:
    patch = parse(SIMPLE[:-1])
    assert patch.files == parse(SIMPLE).files
    assert [(problem.row, problem.kind) for problem in patch.problems] == [(9, ProblemKind.FINAL_NEWLINE)]
    assert patch.data == SIMPLE[:-1]


def test_paths_need_no_encoding() -> None:
    file = only(b"--- a/caf\xe9/\xff.py\n+++ b/caf\xe9/\xff.py\n@@ -1 +1 @@\n-\xe9\n+\xe8\n")
    assert file.path == b"caf\xe9/\xff.py"
    assert file.hunks[0].new_lines() == [b"\xe8\n"]


def test_quoted_paths() -> None:
    name = rb'"a/caf\303\251 \"q\" \\ \t.py" "b/caf\303\251 \"q\" \\ \t.py"'
    file = only(b"diff --git " + name + b"\nold mode 100644\nnew mode 100755\n")
    assert file.old_path == file.new_path == 'café "q" \\ \t.py'.encode()
    file = only(b'--- "a/new\\nline"\n+++ "b/new\\nline"\n@@ -1 +1 @@\n-a\n+b\n')
    assert file.path == b"new\nline"


def test_spaced_paths() -> None:
    file = only(b"diff --git a/a b/c d.py b/a b/c d.py\nold mode 100644\nnew mode 100755\n")
    assert file.path == b"a b/c d.py"
    file = only(b"diff --git a/a b.py b/a b.py\n--- a/a b.py\t\n+++ b/a b.py\t\n@@ -1 +1 @@\n-a\n+b\n")
    assert file.path == b"a b.py"


def test_prefixes() -> None:
    def paths(old: bytes, new: bytes) -> tuple[bytes | None, bytes | None]:
        file = only(b"--- " + old + b"\n+++ " + new + b"\n@@ -1 +1 @@\n-a\n+b\n")
        return file.old_path, file.new_path

    assert paths(b"a/x.py", b"b/x.py") == (b"x.py", b"x.py")
    assert paths(b"a/a/x.py", b"b/a/x.py") == (b"a/x.py", b"a/x.py")
    assert paths(b"p/x.py", b"p/x.py") == (b"p/x.py", b"p/x.py")
    assert paths(b"a/dev/null", b"b/x") == (b"dev/null", b"x")


def test_time_stamps_of_plain_diffs() -> None:
    stamp = b"2024-01-31 10:20:30.123456789 +0100"
    file = only(b"--- a/x y.py\t" + stamp + b"\n+++ b/x y.py\t" + stamp + b"\n@@ -1 +1 @@\n-a\n+b\n")
    assert file.path == b"x y.py"
    file = only(b"--- a/x.py 2024-01-31 10:20:30\n+++ b/x.py 2024-01-31 10:20\n@@ -1 +1 @@\n-a\n+b\n")
    assert file.path == b"x.py"


@pytest.mark.parametrize(
    "stamp", [b"1970-01-01 00:00:00.000000000 +0000", b"1970-01-01 02:00:00 +02:00", b"1969-12-31 19:00:00 -0500"]
)
def test_the_epoch_means_that_there_is_no_file(stamp: bytes) -> None:
    now = b"2024-01-31 10:20:30.1 +0100"
    file = only(b"--- a/x.py\t" + stamp + b"\n+++ b/x.py\t" + now + b"\n@@ -0,0 +1 @@\n+a\n")
    assert (file.kind, file.old_path, file.new_path) == (ChangeKind.ADD, None, b"x.py")
    file = only(b"--- a/x.py\t" + now + b"\n+++ b/x.py\t" + stamp + b"\n@@ -1 +0,0 @@\n-a\n")
    assert (file.kind, file.old_path, file.new_path) == (ChangeKind.DELETE, b"x.py", None)
    git = b"diff --git a/x.py b/x.py\n--- a/x.py\t" + stamp + b"\n+++ b/x.py\n@@ -0,0 +1 @@\n+a\n"
    assert only(git).kind is ChangeKind.MODIFY


def test_new_and_deleted_files() -> None:
    file = only(
        b"diff --git a/n b/n\nnew file mode 100755\nindex 0000000..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n"
    )
    assert (file.kind, file.old_path, file.new_path) == (ChangeKind.ADD, None, b"n")
    assert (file.old_mode, file.new_mode) == (None, 0o100755)
    file = only(
        b"diff --git a/n b/n\ndeleted file mode 100644\nindex 1..0\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    )
    assert (file.kind, file.old_path, file.new_path) == (ChangeKind.DELETE, b"n", None)
    file = only(b"--- /dev/null   \n+++ b/n\n@@ -0,0 +1 @@\n+a\n")
    assert (file.kind, file.old_path, file.new_path) == (ChangeKind.ADD, None, b"n")


def test_sections_without_hunks() -> None:
    file = only(b"diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n")
    assert (file.kind, file.new_path, file.hunks) == (ChangeKind.ADD, b"e", ())
    file = only(b"diff --git a/e b/e\ndeleted file mode 100644\nindex e69de29..0000000\n")
    assert (file.kind, file.old_path, file.new_path) == (ChangeKind.DELETE, b"e", None)
    file = only(b"diff --git a/e b/e\nold mode 100644\nnew mode 100755\n")
    assert (file.kind, file.old_mode, file.new_mode) == (ChangeKind.MODIFY, 0o100644, 0o100755)


@pytest.mark.parametrize(("word", "kind"), [(b"rename", ChangeKind.RENAME), (b"copy", ChangeKind.COPY)])
def test_renames_and_copies(word: bytes, kind: ChangeKind) -> None:
    header = b"diff --git a/o p b/n/q\nsimilarity index 90%\n" + word + b" from o p\n" + word + b" to n/q\n"
    file = only(header)
    assert (file.kind, file.old_path, file.new_path) == (kind, b"o p", b"n/q")
    file = only(header + b"index 1..2 100644\n--- a/o p\t\n+++ b/n/q\n@@ -1 +1 @@\n-a\n+b\n")
    assert (file.kind, file.old_path, file.new_path, len(file.hunks)) == (kind, b"o p", b"n/q", 1)
    file = only(b'diff --git "a/\\303\\251" b/a/n\n' + word + b' from "\\303\\251"\n' + word + b" to a/n\n")
    assert (file.old_path, file.new_path) == ("é".encode(), b"a/n")


def test_symlinks_and_submodules() -> None:
    link = b"--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+to/there\n\\ No newline at end of file\n"
    file = only(b"diff --git a/l b/l\nnew file mode 120000\nindex 0..1\n" + link)
    assert (file.new_mode, file.hunks[0].new_lines()) == (0o120000, [b"to/there"])
    sub = b"index 1..2 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-Subproject commit 1\n+Subproject commit 2\n"
    file = only(b"diff --git a/s b/s\n" + sub)
    assert (file.old_mode, file.new_mode) == (0o160000, 0o160000)


def test_binary_with_and_without_data() -> None:
    ids = b"index " + b"1" * 40 + b".." + b"2" * 40 + b" 100644\n"
    file = only(b"diff --git a/b b/b\n" + ids + b"GIT binary patch\n" + LITERAL + b"literal 0\nHcmV?d00001\n\n")
    assert file.binary is not None
    assert file.binary.reverse is not None
    assert (file.binary.forward.method, file.binary.forward.size, file.binary.reverse.size) == (b"literal", 2, 0)
    patch = parse(b"diff --git a/b b/b\nindex 1..2 100644\nBinary files a/b and b/b differ\n" + SIMPLE)
    assert [(file.path, file.dataless) for file in patch.files] == [(b"b", True), (b"p/x.py", False)]
    assert [(problem.row, problem.kind) for problem in patch.problems] == [(3, ProblemKind.BINARY_WITHOUT_DATA)]
    patch = parse(b"Binary files old/d/b and new/d/b differ\nBinary files /dev/null and b/c differ\n")
    assert [(file.old_path, file.new_path, file.kind) for file in patch.files] == [
        (b"old/d/b", b"new/d/b", ChangeKind.MODIFY),
        (None, b"c", ChangeKind.ADD),
    ]


@pytest.mark.parametrize("size", [b"01V?d00001", b"", b"x", b"-1", b"1" * 30])
@pytest.mark.parametrize("method", [b"literal", b"delta"])
def test_reverse_binary_data_of_no_size_are_damaged(method: bytes, size: bytes) -> None:
    """Git drops such a section and all that follow it, and ends with status 0."""
    head = b"diff --git a/b b/b\nindex " + b"1" * 40 + b".." + b"2" * 40 + b" 100644\nGIT binary patch\n"
    data = head + LITERAL + method + b" " + size + b"\nHcmV?d00001\n\n" + SIMPLE
    assert parse(data).has(ProblemKind.BINARY_DATA)


def test_text_around_the_diff_is_passed_over() -> None:
    mail = b"From 1 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\nWhy.\n---\n x.py | 2 +-\n 1 file changed\n\n"
    assert only(mail + SIMPLE + b"-- \n2.39.5\n\n").path == b"p/x.py"
    assert only(b"Here is the fix:\n\n```diff\n" + SIMPLE + b"```\n\nIt works - I think.\n").hunks[0].sound
    assert only(b"Index: p/x.py\n" + b"=" * 67 + b"\n" + SIMPLE[SIMPLE.index(b"---") :]).path == b"p/x.py"


def test_several_files_and_hunks() -> None:
    second = b"@@ -9,2 +9,1 @@\n i\n-j\n"
    patch = parse(SIMPLE + second + b"\n\n" + SIMPLE.replace(b"x.py", b"y.py") + b"--- a/z\n+++ b/z\n" + second)
    assert patch.problems == ()
    assert [(file.path, file.row, len(file.hunks)) for file in patch.files] == [
        (b"p/x.py", 1, 2),
        (b"p/y.py", 15, 1),
        (b"z", 24, 1),
    ]


def test_lines_that_only_look_like_headers_stay_in_their_hunk() -> None:
    file = only(b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/y\n+++ b/y\n diff --git a/z b/z\n")
    assert file.hunks[0].old_lines() == [b"-- a/y\n", b"diff --git a/z b/z\n"]
    assert file.hunks[0].new_lines() == [b"++ b/y\n", b"diff --git a/z b/z\n"]


def test_other_lines_may_stand_before_the_names_of_a_git_section() -> None:
    file = only(b"diff --git a/x b/x\n\nsome: header\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    assert (file.path, file.git) == (b"x", True)
    patch = parse(b"diff --git a/e b/e\nnew file mode 100644\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
    assert [(file.path, file.kind) for file in patch.files] == [(b"e", ChangeKind.ADD), (b"x", ChangeKind.MODIFY)]


LITERAL = b"literal 2\nJcmZQz0ssI600RI3\n\n"
HEAD = b"--- a/x\n+++ b/x\n"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"hello\n", [(1, ProblemKind.NO_FILES)]),
        (b"\xef\xbb\xbf" + HEAD + b"@@ -1 +1 @@\n-a\n+b\n", [(1, ProblemKind.BYTE_ORDER_MARK)]),
        (HEAD + b"@@ -1,2 +1 @@\n-a\n+b\n", [(3, ProblemKind.HUNK_COUNTS)]),
        (HEAD + b"@@ -1 +1 @@\n-a\n-b\n+c\n", [(3, ProblemKind.HUNK_COUNTS)]),
        (HEAD + b"@@ -1,3 +1,3 @@\n a\n\tb\n-c\n+d\n", [(3, ProblemKind.HUNK_COUNTS)]),
        (HEAD + b"@@ -1 +1 @@\n-a\n+b\n c\n", [(6, ProblemKind.EXTRA_CONTEXT)]),
        (HEAD + b"@@ -1 +1 @@\n-a\n+b\n c\n+d\n", [(6, ProblemKind.EXTRA_EDITS)]),
        (HEAD + b"@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", [(5, ProblemKind.BLANK_CONTEXT)]),
        (HEAD + b"@@ -1 +1 @@\n-a\n+b\n\n@@ -3 +3 @@\n-c\n+d\n", [(6, ProblemKind.BLANK_GAP)]),
        (HEAD + b"@@ -1 +1 @@\n-a\n+b\n...\n@@ -3 +3 @@\n-c\n+d\n", [(6, ProblemKind.TEXT_GAP)]),
        (HEAD + b"@@ -1 +1 @@\n-a\n+b\n\\ No\n", [(6, ProblemKind.MARKER)]),
        (HEAD + b"@@ -1,2 +1,2\n-a\n+b\n", [(3, ProblemKind.HUNK_HEADER)]),
        (HEAD + b" @@ -1 +1 @@\n-a\n+b\n", [(3, ProblemKind.HUNK_HEADER)]),
        (b"diff --git a/x b/x\nhm\nnew file mode 100644\n", [(3, ProblemKind.STRAY_HEADER)]),
        (b"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n", [(3, ProblemKind.STRAY_HEADER)]),
        (b"diff --git a/x b/x\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n", [(1, ProblemKind.MISSING_MODE)]),
        (b"diff --git a/x b/x\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", [(1, ProblemKind.MISSING_MODE)]),
        (HEAD + b" a\n-b\n+c\n", [(4, ProblemKind.HUNK_HEADER)]),
        (b"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n", [(1, ProblemKind.EMPTY_SECTION)]),
        (HEAD + b"@@ ... @@\n-a\n+b\n", [(3, ProblemKind.HUNK_HEADER)]),
        (HEAD + b"@@ -%d +1 @@\n-a\n+b\n" % 10**20, [(3, ProblemKind.HUNK_HEADER)]),
        (HEAD + b"\n", [(1, ProblemKind.EMPTY_SECTION)]),
        (b"diff --git a/x b/x\n", [(1, ProblemKind.EMPTY_SECTION)]),
        (b"diff --git a/x b/y\n", [(1, ProblemKind.EMPTY_SECTION)]),
        (b"--- a/x\n\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", [(1, ProblemKind.MISSING_PLUS), (4, ProblemKind.ORPHAN_HUNK)]),
        (
            b"diff --cc x\nindex 1,2..3\n" + HEAD + b"@@@ -1 -1 +1 @@@\n- a\n -b\n++c\n",
            [(1, ProblemKind.COMBINED_DIFF)],
        ),
        (b"diff --git a b c d\nold mode 100644\nnew mode 100755\n", [(1, ProblemKind.NAMES)]),
        (b'--- "a/x\n+++ "b/x\n@@ -1 +1 @@\n-a\n+b\n', [(1, ProblemKind.NAMES)]),
        (b"--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+a\n", [(1, ProblemKind.CONTRADICTION)]),
        (
            b"diff --git a/x b/x\nnew file mode 100644\n" + HEAD + b"@@ -0,0 +1 @@\n+a\n",
            [(1, ProblemKind.CONTRADICTION)],
        ),
        (b"diff --git a/x b/x\nold mode rwx\nnew mode 100755\n", [(2, ProblemKind.MODE)]),
        (b"diff --git a/x b/x\nGIT binary patch\nliteral 2\nJcmZQz0ss", [(4, ProblemKind.BINARY_DATA)]),
        (b"diff --git a/x b/x\nGIT binary patch\nliteral 2\nJcmZQz0ssI600RI3\n", [(4, ProblemKind.BINARY_END)]),
        (b"diff --git a/x b/x\nGIT binary patch\n" + LITERAL, [(1, ProblemKind.BINARY_IDS)]),
        (b"diff --git a/x b/x\nindex 1..2\nGIT binary patch\n" + LITERAL, [(1, ProblemKind.BINARY_IDS)]),
        (b"diff --git a/x b/x\nGIT binary patch\nnonsense\n", [(2, ProblemKind.BINARY_DATA)]),
    ],
)
def test_problems_have_their_kind_and_line(data: bytes, expected: list[tuple[int, ProblemKind]]) -> None:
    found = problems(data)
    assert set(expected) <= set(found)


def test_a_hunk_with_wrong_counts_keeps_its_lines() -> None:
    git = b"diff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"
    for more in (b"", b"\n\n", b"\n" + git, b"--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", b"-- \n2.39.5\n\n", b"```\n"):
        patch = parse(HEAD + b"@@ -1,9 +1,9 @@\n a\n-b\n+c\n" + more)
        hunk = patch.files[0].hunks[0]
        assert hunk.body == (b" a\n", b"-b\n", b"+c\n")
        assert not hunk.sound
        assert len(patch.files) == (2 if b"/y" in more else 1)


def test_lines_beyond_the_counts_are_kept_apart() -> None:
    (file,) = parse(HEAD + b"@@ -1 +1 @@\n-a\n+b\n c\n+d\n-- \n2.39.5\n").files
    assert (file.hunks[0].body, file.hunks[0].extra) == ((b"-a\n", b"+b\n"), (b" c\n", b"+d\n"))


def test_too_large_a_patch_is_not_read() -> None:
    patch = parse(bytes(MAX_PATCH_BYTES + 1))
    assert patch.files == ()
    assert [problem.kind for problem in patch.problems] == [ProblemKind.TOO_LARGE]


def test_the_list_of_problems_is_bounded() -> None:
    assert len(parse(HEAD + b"@@ nonsense\n" * 5000).problems) < 200


def test_blank_patches() -> None:
    for blank in (b"", b" \n", b"\n\r\n\t\x0b\x0c ", b"\xef\xbb\xbf\n"):
        assert is_blank(blank)
        assert parse(blank).files == ()
        assert not parse(blank).has(ProblemKind.NO_FILES)
    assert not is_blank(b".")
    assert not is_blank(b"\0")


FRAGMENTS = (
    *SIMPLE.splitlines(),
    b"", b"@@", b"@@ -1 +1 @@", b"@@ -0,0 +1 @@", b"-- ", b"2.39.5", b"\\", b"\\ No newline at end of file", b"\0",
    b"\xef\xbb\xbf",
    b"diff --git a/x b/x", b"diff --git ", b'diff --git "a/\\1" "b', b"--- a/x", b"+++ b/x", b"--- /dev/null", b"--- ",
    b"old mode 100644", b"new mode 100755", b"new file mode 120000", b"deleted file mode 100644", b"index 1..2 100644",
    b"rename from x", b"rename to y", b"copy from ", b"diff --cc x",
    b"GIT binary patch", b"literal 2", b"JcmZQz0ssI600RI3", b"delta 9",
    b"Binary files a and b and c differ", b"Binary files x differ",
)  # fmt: skip
DIFFISH = st.lists(
    st.tuples(st.sampled_from(FRAGMENTS), st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"", b" "])), max_size=40
).map(lambda parts: b"".join(line + end for line, end in parts))


@given(st.one_of(st.binary(max_size=300), DIFFISH))
def test_reading_never_raises_and_loses_no_section(data: bytes) -> None:
    patch = parse(data)
    assert patch.data == data
    rows = [file.row for file in patch.files]
    assert rows == sorted(set(rows))
    lines = set(split_lines(data + b"\n"))
    for file in patch.files:
        for hunk in file.hunks:
            for line in (hunk.header, *hunk.body, *hunk.extra):
                assert line in lines or line.removesuffix(b"\n") in {one.removesuffix(b"\n") for one in lines}


@given(DIFFISH)
def test_what_is_rendered_reads_the_same(data: bytes) -> None:
    files = parse(data).files
    again = parse(render(files)).files
    if all(file.git for file in files) and not parse(data).problems:
        assert [(file.kind, file.old_path, file.new_path) for file in again] == [
            (file.kind, file.old_path, file.new_path) for file in files
        ]
    assert render(parse(render(files)).files) == render(again)
