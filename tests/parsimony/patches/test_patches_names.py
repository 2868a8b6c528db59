"""File names as git and GNU diff write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.patches.names import (
    HeaderName,
    binary_names,
    file_name,
    git_names,
    possible_paths,
    strip_prefix,
    unquote,
)


def quote(name: bytes) -> bytes:
    """The longest spelling: every byte in octal."""
    return b'"' + b"".join(b"\\%03o" % byte for byte in name) + b'"'


@given(st.binary(max_size=40), st.binary(max_size=10))
def test_quoting_is_undone_and_ends_where_it_ends(name: bytes, rest: bytes) -> None:
    quoted = quote(name)
    assert unquote(quoted + rest) == (name, len(quoted))


def test_short_escapes() -> None:
    assert unquote(rb'"\a\b\t\n\v\f\r\"\\x"') == (b'\a\b\t\n\v\f\r"\\x', 21)


@pytest.mark.parametrize("text", [b"x", b'"x', b'"x\\"', rb'"\q"', rb'"\08"', rb'"\400"'])
def test_what_is_not_well_quoted(text: bytes) -> None:
    assert unquote(text) is None


@given(st.binary(max_size=60))
def test_unreadable_names_raise_nothing(text: bytes) -> None:
    unquote(text)
    file_name(text, git=True)
    file_name(text, git=False)
    git_names(text)
    binary_names(b"Binary files " + text + b" differ\n")
    possible_paths(text)


@pytest.mark.parametrize(
    ("rest", "git", "expected"),
    [
        (b"a/x.py\n", True, HeaderName(b"a/x.py")),
        (b"a/x y\t\r\n", True, HeaderName(b"a/x y")),
        (b"a/x \n", True, HeaderName(b"a/x ")),
        (b'"a/\\t" rest\n', True, HeaderName(b"a/\t")),
        (b"/dev/null\n", True, HeaderName(None, absent=True)),
        (b"/dev/null\tx\n", False, HeaderName(None, absent=True)),
        (b"/dev/nullx\n", True, HeaderName(b"/dev/nullx")),
        (b"a/x 2024-01-31 10:20\n", True, HeaderName(b"a/x 2024-01-31 10:20")),
        (b"a/x 2024-01-31 10:20\n", False, HeaderName(b"a/x")),
        (b"a/x  2024-01-31 10:20:30.5 -0700\n", False, HeaderName(b"a/x")),
        (b"a/x\t1970-01-01 00:00:01 +0000\n", False, HeaderName(b"a/x")),
        (b"a/x\t1970-01-01 01:00:00.000 +0100\n", False, HeaderName(b"a/x", absent=True)),
        (b"\n", True, HeaderName(None)),
    ],
)
def test_names_after_the_signs(rest: bytes, git: bool, expected: HeaderName) -> None:
    assert file_name(rest, git=git) == expected


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (b"a/x b/x\n", (b"a/x", b"b/x")),
        (b"a/x y b/x y\n", (b"a/x y", b"b/x y")),
        (b"x y x y\n", (b"x y", b"x y")),
        (b"a/a b/a b/a b/a\n", (b"a/a b/a", b"b/a b/a")),
        (b"i/x w/x\n", (b"i/x", b"w/x")),
        (b"a/old b/new\n", (b"a/old", b"b/new")),
        (b"a/old one b/new one\n", (b"a/old one", b"b/new one")),
        (b'"a/\\t" "b/\\t"\n', (b"a/\t", b"b/\t")),
        (b'"a/\\t" b/x y\n', (b"a/\t", b"b/x y")),
        (b'a/x y "b/\\t"\n', (b"a/x y", b"b/\t")),
        (b"a/x\n", None),
        (b'"a/x b/x\n', None),
        (b'"a/x"b/x\n', None),
        (b"a b c\n", None),
        (b"\n", None),
    ],
)
def test_the_line_with_both_names(rest: bytes, expected: tuple[bytes, bytes] | None) -> None:
    assert git_names(rest) == expected


def test_binary_files_differ() -> None:
    assert binary_names(b"Binary files a/x and b/x differ\n") == (HeaderName(b"a/x"), HeaderName(b"b/x"))
    both = binary_names(b"Binary files a/x and y and b/x and y differ\r\n")
    assert both == (HeaderName(b"a/x and y"), HeaderName(b"b/x and y"))
    assert binary_names(b"Files a and b and c and d differ\n") == (HeaderName(None), HeaderName(None))
    assert binary_names(b"Binary files a and b are different\n") is None


def test_prefixes() -> None:
    assert [strip_prefix(name) for name in (b"a/x", b"b/a/x", b"c/x", b"ax")] == [b"x", b"a/x", b"c/x", b"ax"]
    assert possible_paths(b"a/x/y") == (b"x/y",)
    assert possible_paths(b"orig/x/y") == (b"orig/x/y", b"x/y")
    assert possible_paths(b"x") == (b"x",)
