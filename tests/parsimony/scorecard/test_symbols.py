"""What a patch touches, and which symbol a name in a trace means."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.scorecard.changes import Change, Unknown, changes, needed, order
from parsimony.scorecard.sources import Sources
from parsimony.scorecard.symbols import Symbol, Touched, means, touched

BASE = b"""\
LIMIT = 3


class Box:
    size = 1

    def put(self, x):
        return x

    def take(self):
        return 1


def free():
    return 2
"""


def diff(path: str, before: bytes | None, after: bytes | None) -> bytes:
    old, new = (data.decode().splitlines(keepends=True) if data is not None else [] for data in (before, after))
    names = ("/dev/null" if before is None else f"a/{path}", "/dev/null" if after is None else f"b/{path}")
    mode = "new file mode 100644\n" if before is None else "deleted file mode 100644\n" if after is None else ""
    lines = "".join(difflib.unified_diff(old, new, *names))
    return f"diff --git a/{path} b/{path}\n{mode}{lines}".encode()


def touch(before: bytes | None, after: bytes | None, path: str = "pkg/box.py") -> Touched:
    found = changes(diff(path, before, after), {path: before}, "python", whole=True)
    return touched(found, Sources(), "python")


def names(symbols: tuple[Symbol, ...]) -> list[str]:
    return [symbol.name for symbol in symbols]


@pytest.mark.parametrize(
    ("old", "new", "entities", "places"),
    [
        (b"return x", b"return y", ["Box.put"], ["Box.put"]),
        (b"size = 1", b"size = 2", ["Box"], ["Box"]),  # the class itself, not its methods
        (b"LIMIT = 3", b"LIMIT = 4", [], []),
        (b"        return x\n", b"", ["Box.put"], ["Box.put"]),  # only taken out: the old side tells
        (b"def free", b"def other", ["free", "other"], ["free"]),
        (
            b"    def take",
            b"    def peek(self):\n        pass\n\n    def take",
            ["Box.peek", "Box"],
            ["Box"],
        ),  # a new method stands for its class, where it could have been found
        (b"def free", b"def helper():\n    pass\n\n\ndef free", ["helper"], []),
    ],
)
def test_what_is_touched(old: bytes, new: bytes, entities: list[str], places: list[str]) -> None:
    assert old in BASE
    found = touch(BASE, BASE.replace(old, new))
    assert names(found.entities) == entities
    assert names(found.places) == places
    assert (found.parses, found.compiles) == (old != b"        return x\n", old != b"        return x\n")


def test_a_file_that_is_made_or_deleted() -> None:
    assert names(touch(None, BASE).entities) == ["Box", "Box.put", "Box.take", "free"]
    assert touch(None, BASE).places == ()
    assert names(touch(BASE, None).places) == ["Box", "Box.put", "Box.take", "free"]


def test_what_does_not_parse_afterwards_still_has_its_old_side() -> None:
    found = touch(BASE, BASE.replace(b"return x", b"return ("))
    assert (found.parses, found.compiles) == (False, False)
    assert names(found.places) == ["Box.put"]


def test_what_parses_but_does_not_compile() -> None:
    found = touch(BASE, BASE.replace(b"LIMIT = 3", b"return 3"))
    assert (found.parses, found.compiles) == (True, False)


def test_a_base_that_does_not_parse_tells_nothing() -> None:
    with pytest.raises(Unknown, match="does not parse before"):
        touch(b"print 'old'\n", b"print 'new'\n")


def test_a_renamed_file_keeps_the_name_that_it_has_in_the_base() -> None:
    patch = (
        b"diff --git a/pkg/box.py b/pkg/crate.py\nsimilarity index 90%\nrename from pkg/box.py\n"
        b"rename to pkg/crate.py\n"
        b"--- a/pkg/box.py\n+++ b/pkg/crate.py\n@@ -7,3 +7,3 @@\n     def put(self, x):\n-        return x\n"
        b"+        return y\n \n"
    )
    found = changes(patch, {"pkg/box.py": BASE}, "python", whole=True)
    assert order(patch, "python") == ("pkg/box.py",)
    assert needed(patch, "python") == ("pkg/box.py", "pkg/crate.py")
    assert [str(symbol) for symbol in touched(found, Sources(), "python").places] == ["pkg/box.py:Box.put"]


def test_only_implementation_files_count() -> None:
    patch = (
        diff("tests/test_box.py", b"a\n", b"b\n") + diff("pkg/box.py", BASE, b"") + diff("README.md", b"a\n", b"b\n")
    )
    assert order(patch, "python") == ("pkg/box.py",)
    assert order(patch, "go") == ()


def test_lines_are_right_where_hunks_are_off() -> None:
    patch = diff("pkg/box.py", BASE, BASE.replace(b"return 2", b"return 22"))
    moved = b"# one\n# two\n" + BASE
    (change,) = changes(patch, {"pkg/box.py": moved}, "python", whole=True)
    assert (change.removed, change.added) == ((17,), (17,))
    assert names(touched([change], Sources(), "python").places) == ["free"]


def test_a_patch_that_does_not_fit() -> None:
    patch = diff("pkg/box.py", BASE, BASE.replace(b"return 2", b"return 22"))
    with pytest.raises(Unknown, match="does not fit"):
        changes(patch, {"pkg/box.py": b"x = 1\n"}, "python", whole=True)
    assert changes(patch, {"pkg/box.py": b"x = 1\n"}, "python", whole=False) == (Change("pkg/box.py", "pkg/box.py"),)
    with pytest.raises(Unknown, match="not known"):
        changes(patch, {}, "python", whole=False)
    with pytest.raises(Unknown, match="not in the base"):
        changes(patch, {"pkg/box.py": None}, "python", whole=True)


LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c = 1\n", b"\n"]), max_size=12)


@given(LINES, LINES)
def test_lines_taken_out_and_put_in_are_what_differs(before: list[bytes], after: list[bytes]) -> None:
    old, new = b"".join(before), b"".join(after)
    if old == new:
        return
    (change,) = changes(diff("pkg/x.py", old, new), {"pkg/x.py": old}, "python", whole=True)
    assert change.after == new
    kept = [line for number, line in enumerate(before, 1) if number not in change.removed]
    assert kept == [line for number, line in enumerate(after, 1) if number not in change.added]


PUT = Symbol("src/pkg/box.py", "", "Box.put")
SPACED = Symbol("lib/core/vec.cc", "math.detail", "Vec.len")


@pytest.mark.parametrize(
    ("name", "symbol", "means_it"),
    [
        ("Box.put", PUT, True),
        (" Box.put() ", PUT, True),
        ("Box#put", PUT, True),
        ("src/pkg/box.py::Box::put", PUT, True),
        ("src/pkg/box.py:Box.put", PUT, True),
        ("pkg.box.Box.put", PUT, True),
        ("box.Box.put", PUT, True),
        ("pkg.Box.put", PUT, True),  # a package that gives its names on
        ("put", PUT, False),
        ("Box", PUT, False),
        ("Crate.put", PUT, False),
        ("other/box.py:Box.put", PUT, False),
        ("src/pkg/crate.py:Box.put", PUT, False),
        ("", PUT, False),
        ("Vec::len", SPACED, True),
        ("math::detail::Vec::len", SPACED, True),
        ("detail::Vec::len", SPACED, True),
        ("math::Vec::len", SPACED, False),
        ("lib/core/vec.cc:Vec::len", SPACED, True),
        ("Router.find", Symbol("a.js", "", "Router.#find"), True),
        ("free", Symbol("box.py", "", "free"), True),
        ("Box.free", Symbol("box.py", "", "free"), False),
    ],
)
def test_which_symbol_a_name_means(name: str, symbol: Symbol, means_it: bool) -> None:
    assert means(name, symbol) is means_it


@given(
    st.lists(st.sampled_from(["a", "b", "Box", "put"]), min_size=1, max_size=3), st.sampled_from([".", "::", "#", "/"])
)
def test_every_spelling_of_a_symbol_means_it(parts: list[str], separator: str) -> None:
    symbol = Symbol("x/y.py", "", ".".join(parts))
    assert means(separator.join(parts), symbol)
    assert means(str(symbol), symbol)
    assert means("x.y." + ".".join(parts), symbol)
