"""Paths that no patch may write."""

import pytest

from parsimony.patches import parse
from parsimony.patches.safety import crosses_link, refusals, touched, unsafe


def plain(old: bytes, new: bytes) -> bytes:
    return b"--- " + old + b"\n+++ " + new + b"\n@@ -1 +1 @@\n-a\n+b\n"


def link(path: bytes) -> bytes:
    return b"diff --git a/%b b/%b\nnew file mode 120000\n--- /dev/null\n+++ b/%b\n@@ -0,0 +1 @@\n+..\n" % (
        path,
        path,
        path,
    )


def new(path: bytes) -> bytes:
    return b"diff --git a/%b b/%b\nnew file mode 100644\n" % (path, path)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (b"a/../x", "leaves the tree"),
        (b"../x", "leaves the tree"),
        (b"a/x/..", "leaves the tree"),
        (b"/etc/passwd", "absolute"),
        (b"a//etc/passwd", "absolute"),
        (b"a/.git/config", ".git"),
        (b".git/hooks/x", ".git"),
        (b"a/sub/.git", ".git"),
        (b"b/sub/.GIT/config", ".git"),
        (b"a/.Git", ".git"),
        (b"a/x\0y", "NUL"),
        (b"a/" + b"x/" * 3000, "too long"),
    ],
)
def test_names_that_are_refused_wherever_they_stand(name: bytes, reason: str) -> None:
    assert reason in (unsafe(name) or "")
    octal = b'"' + b"".join(b"\\%03o" % byte for byte in name) + b'"'
    patches = [
        plain(octal, b"b/ok"),
        plain(b"a/ok", octal),
        b"diff --git " + octal + b" b/ok\nold mode 100644\nnew mode 100755\n",
        b"diff --git a/ok " + octal + b"\nold mode 100644\nnew mode 100755\n",
        b"diff --git a/ok b/to\nrename from " + octal + b"\nrename to to\n",
        b"diff --git a/ok b/to\ncopy from ok\ncopy to " + octal + b"\n",
    ]
    for data in patches:
        assert any(reason in refusal for refusal in refusals(parse(data))), data


@pytest.mark.parametrize(
    "name",
    [b"a/.github/x", b"a/.gitignore", b"a/x..y", b"a/...", b"/dev/null", b"a/git/x", b"a/node_modules/x", b"b/c\\d"],
)
def test_names_that_are_fine(name: bytes) -> None:
    assert refusals(parse(plain(b"a/ok", name))) == ()


@pytest.mark.parametrize(
    "data",
    [
        link(b"l") + new(b"l/x"),
        new(b"l/x") + link(b"l"),
        new(b"d/l/e/x") + link(b"d/l"),
        link(b"l").replace(b"120000", b"160000") + new(b"l/x"),
        b"diff --git a/k b/l\nrename from k\nrename to l\n" + new(b"l/x"),
        b"diff --git a/k b/l\ncopy from k\ncopy to l\n" + new(b"l/x"),
        link(b"l") + b"diff --git a/y b/l/x\nrename from y\nrename to l/x\n",
        b"diff --git a/l b/l\nindex 1..2 120000\n" + plain(b"a/l", b"b/l") + plain(b"a/l/x", b"b/l/x"),
    ],
)
def test_paths_through_a_link_that_the_patch_makes(data: bytes) -> None:
    (refusal,) = refusals(parse(data))
    assert "the patch itself makes a link" in refusal


def test_a_folder_that_becomes_a_link() -> None:
    gone = b"diff --git a/l/x b/l/x\ndeleted file mode 100644\n--- a/l/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    patch = parse(link(b"l") + gone)
    assert refusals(patch) == ()
    assert crosses_link(patch)
    back = b"diff --git a/l b/l\ndeleted file mode 120000\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-..\n" + new(b"l/x")
    assert refusals(parse(back)) == ()
    assert not crosses_link(parse(back))


def test_everything_touched_is_listed_once_in_order() -> None:
    data = (
        plain(b"a/z", b"b/z")
        + b"diff --git a/o b/n\nrename from o\nrename to n\n"
        + plain(b"pkg/m", b"pkg/m")
        + new(b"z")
    )
    assert touched(parse(data)) == (b"z", b"o", b"n", b"pkg/m", b"m")
    assert touched(parse(plain(b"/dev/null", b"b/node_modules/x"))) == (b"node_modules/x",)
    gone = b"diff --git a/x b/x\ndeleted file mode 100644\nBinary files a/x and /dev/null differ\n"
    assert touched(parse(gone)) == (b"x",)


def test_names_are_shown_without_control_characters() -> None:
    (refusal,) = refusals(parse(plain(b'"a/../\\033[2J\\377"', b"b/ok")))
    assert refusal == r"a path leaves the tree: a/../\x1b[2J\\xff"
