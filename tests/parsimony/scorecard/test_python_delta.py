"""A version of a Python file read by what differs gives what reading the whole file gives, whatever the change."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimony.scorecard import python_delta, python_outline
from parsimony.scorecard.changes import Change, _by_content
from parsimony.scorecard.python_delta import PythonBase, Window
from parsimony.scorecard.sources import Sources

BASE = '''\
"""Module."""
from __future__ import annotations

import os; import sys

LIMIT = 3  # more


@decorated(
    LIMIT,
)
class Outer(Base):
    """Text
with a line at the left."""

    size = 1

    @property
    def width(self):
        return self.size

    class Inner:
        flag = True

        def deep(self, x):
            if x:
                return [
1]
            return x

        def last(self): pass

    def long(
        self,
    ):
        value = 1 + \\
            2

        # a comment
        return value

    def end(self):
        return 0


def free(a, b=1):
    def inside():
        return a
    return inside

if LIMIT:
    def choice(): return 1
else:
    def choice(): return 2
x = 1; y = 2

class Small: pass

async def tail():
    await free()
'''
LINES = BASE.split("\n")

BARE = """\
pass|# c|def new(): pass|class K:|return 1|@deco|if x:|else:|try:|x = (|)|global q|nonlocal z|global LIMIT|break
yield|await x|import *|from os import *|a = b = *c|é = 1|def f(a, a): pass|x: (yield) = 1|async def g(): pass
def new(self):|lambda: (yield)|from __future__ import division|x = 1 \\|\\|x = 1; y = 2|class Small: pass"""
ODD = ["'''", "    '''", "\tpass", "    \tpass", "  pass", "\r", "x\rdef q(): pass", "\f", "\0", "   "]
WORDS = ["", *BARE.replace("\n", "|").split("|")]
PIECES = [*ODD, *(" " * indent + word for indent in (0, 4, 8, 12) for word in WORDS)]


def base_of(text: str) -> PythonBase:
    module, outline, compiles = python_outline.parse(text)
    assert compiles
    found = python_delta.read_base(text, module, outline)
    assert found is not None
    return found


KNOWN = base_of(BASE)


def whole(text: str) -> tuple[object, bool]:
    source = Sources().read("a.py", text.encode(), "python")
    return source.outline, source.compiles


def windows_of(text: str) -> list[Window]:
    """Where a version differs, as its patch would say."""
    removed, added = _by_content(BASE.encode(), text.encode())
    return Change("a.py", "a.py", b"", b"", removed, added).windows()


@st.composite
def versions(draw: st.DrawFn) -> str:
    """The base with a few lines changed, taken out or put in, near each other or not."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines)))
        out = draw(st.integers(0, 3))
        pieces = st.one_of(st.sampled_from(PIECES), st.sampled_from(LINES))
        lines[at : at + out] = draw(st.lists(pieces, max_size=3))
    return "\n".join(lines)


@settings(max_examples=400)
@given(versions())
def test_what_differs_tells_as_much_as_the_whole_file(text: str) -> None:
    for windows in ((), windows_of(text)):
        found = python_delta.read_after(KNOWN, text, windows)
        if found is not None:
            assert found == whole(text)


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("return x\n", "return x + 1\n", 8),  # one method of Inner
        ("return value", "return value + 1", 11),
        ("LIMIT = 3", "LIMIT = 4", 40),
        ("    size = 1\n", "    size = 1\n    other = 2\n", 30),
        ("async def tail", "def more(): pass\n\nasync def tail", 12),
    ],
)
def test_only_what_is_around_a_change_is_parsed(
    old: str, new: str, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    regions: list[int] = []
    parse = python_delta._parsed

    def parsed(block: python_delta.Block, region: Sequence[str]) -> object:
        regions.append(len(region))
        return parse(block, region)

    monkeypatch.setattr(python_delta, "_parsed", parsed)
    text = BASE.replace(old, new, 1)
    found = python_delta.read_after(KNOWN, text)
    assert found == whole(text)
    assert len(regions) == 1
    assert regions[0] <= lines


@pytest.mark.parametrize("text", ["x = 1\rdef f(): pass\n", "x = 1\nglobal x\n", "a = '\f'\n"])
def test_files_that_hang_together_in_other_ways_are_no_base(text: str) -> None:
    module, outline, _ = python_outline.parse(text)
    assert python_delta.read_base(text, module, outline) is None


def test_sources_read_versions_of_a_base_by_what_differs() -> None:
    sources = Sources()
    sources.read("a.py", BASE.encode(), "python")
    text = BASE.replace("return value", "return (value")
    assert sources.read("a.py", text.encode(), "python", base=BASE.encode()).outline is None
    better = BASE.replace("return value", "return value, 1")
    found = sources.read("a.py", better.encode(), "python", base=BASE.encode())
    assert (found.outline, found.compiles) == whole(better)


@given(versions())
def test_windows_are_all_that_differs(text: str) -> None:
    old, new = python_delta._split(BASE), python_delta._split(text)
    windows = windows_of(text)
    assert python_delta._agree(old, new, windows) is (old != new)
    assert all(one.last < other.first for one, other in pairwise(windows))
    assert sum(window.growth for window in windows) == len(new) - len(old)


def test_changes_far_from_each_other_are_read_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    regions: list[tuple[str, int]] = []
    parse = python_delta._parsed

    def parsed(block: python_delta.Block, region: Sequence[str]) -> object:
        regions.append((block.around, len(region)))
        return parse(block, region)

    monkeypatch.setattr(python_delta, "_parsed", parsed)
    text = BASE.replace("            return x\n", "            return x, x\n            # more\n")
    text = text.replace("return inside", "pass").replace("1 + ", "9 + ")
    assert python_delta.read_after(KNOWN, text, windows_of(text)) == whole(text)
    assert regions == [("Outer.Inner.", 8), ("Outer.", 8), ("", 9)]


def test_windows_that_do_not_say_it_all_are_not_believed() -> None:
    text = BASE.replace("return value", "return [value]").replace("return inside", "return [inside]")
    assert python_delta.read_after(KNOWN, text, windows_of(text)[:1]) == whole(text)


def test_an_empty_file_can_be_a_base() -> None:
    empty = base_of("")
    assert python_delta.read_after(empty, "def f():\n    pass\n") == whole("def f():\n    pass\n")
