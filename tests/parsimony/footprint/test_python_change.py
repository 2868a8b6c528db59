"""What is compared is a part of both files; the counts are those of the whole."""

import ast
import warnings
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parsimony.footprint.align import align
from parsimony.footprint.labels import Labels
from parsimony.footprint.python_change import compare
from parsimony.footprint.python_source import read, unify_line_ends
from parsimony.footprint.python_tokens import render, tokens
from parsimony.footprint.python_track import units_v1, units_v2
from parsimony.footprint.python_units import walk
from parsimony.footprint.tracks import FileChange

PIECES = (
    '"""Doc."""\n', '"text"\n', "import os\n", "x = 1\n", "x = 2; y = 3\n", "\n", "# comment\n", "    z()\n", "\tz()\n",
    "def f(a, b=1):\n", "    'doc'\n", "    return a\n", "@deco(1)\n", "class C(B):\n", "    def m(self):\n",
    "        return self\n", "if x:\n", "elif y:\n", "else:\n", "    pass\n", "try:\n", "except E:\n", "finally:\n",
    "for i in x:\n", "    for j in i:\n", "        j += 1\n", "with a as b: pass\n", "s = '''\n", "'''\n",
    "t = (\n", ")\n", "x = 1 \\\n", "f'{x!r}'\n", "match x:\n", "    case 1:\n", "        y()\n", "no newline",
    "async def g(): await x\n",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, str]:
    """Two texts with much in common."""
    lines = draw(st.lists(st.sampled_from(PIECES), max_size=16))
    changed = list(lines)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(changed)))
        changed[at : at + draw(st.integers(0, 2))] = draw(st.lists(st.sampled_from(PIECES), max_size=2))
    return "".join(lines), "".join(changed)


def whole(before: str, after: str) -> FileChange | None:
    """The same by the definition: both files parsed, walked and rendered from the first line to the last."""
    sides = []
    labels = Labels()
    for text in (before, after):
        source = read(text)
        if source.statements is None:
            return None
        body: Sequence[ast.stmt] = source.body
        units = walk(body, labels, units_v1().handlers)
        sides.append((units, [labels[("token", item)] for item in tokens(render(body, opens=True))]))
    (old, old_tokens), (new, new_tokens) = sides
    lexical = align(old_tokens, new_tokens)
    return FileChange(
        align(old.labels, new.labels),
        align(labels.blind(old.labels), labels.blind(new.labels)),
        lexical,
        new.nodes - old.nodes,
        new.branches - old.branches,
        lexical.total > 0,
    )


@settings(max_examples=400)
@given(edited())
@example(('"""Doc."""\nx = 1\n"text"\n', '"""Doc."""\n"text"\n'))
@example(('x = 1\n"text"\n', '"text"\n'))
@example(("def f():\n    a = 1\n    'text'\n    return a\n", "def f():\n    'text'\n    return a\n"))
@example(("if a:\n    b()\nc()\n", "if a:\n    b()\nelse:\n    d()\nc()\n"))
@example(("x = 1\ny = 2\n", "x = 1 \\\ny = 2\n"))
@example(("class C:\n    x = 1\n    def m(self): pass\n", "class C:\n    x = 1\n    def m(self): return 1\n"))
@example(("def f(): a; b\n", "def f(): a; c\n"))
@example(("a; b\nc\n", "a; d\nc\n"))
def test_a_part_gives_the_counts_of_the_whole(texts: tuple[str, str]) -> None:
    before, after = texts
    expected = whole(before, after)
    change = compare(read(before), after)
    assert (change is None) == (expected is None)
    if expected is not None:
        assert units_v1().compare(before.encode(), after.encode(), tokens=True) == expected


@given(TEXTS, TEXTS)
def test_also_where_little_is_shared(before: str, after: str) -> None:
    expected = whole(before, after)
    if expected is not None:
        assert units_v1().compare(before.encode(), after.encode(), tokens=True) == expected


@given(edited())
def test_what_must_hold_of_any_change(texts: tuple[str, str]) -> None:
    before, after = texts
    for track in (units_v1(), units_v2()):
        if read(before).statements is None or read(after).statements is None:
            continue
        there = track.compare(before.encode(), after.encode(), tokens=True)
        back = track.compare(after.encode(), before.encode(), tokens=True)
        assert there.units is not None
        assert back.units is not None
        assert there.blind is not None
        assert (there.units.added, there.units.deleted) == (back.units.deleted, back.units.added)
        assert there.nodes == -(back.nodes or 0)
        assert there.branches == -(back.branches or 0)
        assert there.blind.total <= there.units.total
        assert there.blind.net == there.units.net
        same = track.compare(before.encode(), before.encode(), tokens=True)
        assert same.units is not None
        assert (same.units.total, same.changed) == (0, False)


@given(TEXTS, st.integers(0, 14))
def test_comments_and_blank_lines_cost_nothing(text: str, at: int) -> None:
    if read(text).statements is None or "'''" in text or "\\\n" in text:
        return
    lines = text.splitlines(keepends=True)
    at = min(at, len(lines))
    noisy = "".join([*lines[:at], "# why\n", "\n", *lines[at:]])
    change = units_v1().compare(text.encode(), noisy.encode(), tokens=True)
    assert change.units is not None
    assert (change.units.total, change.changed) == (0, False)


def test_only_what_differs_is_compared() -> None:
    functions = [f"def f{n}(a):\n    b = a\n    return b + {n}\n\n\n" for n in range(50)]
    before = "class C:\n    x = 1\n" + "".join("    " + line for line in "".join(functions).splitlines(keepends=True))
    change = compare(read(before), before.replace("+ 25", "- 25"))
    assert change is not None
    assert len(change.before) == len(change.after) == 1
    assert ast.unparse(change.after[0]) == "return b - 25"


def test_warnings_of_the_parser_are_kept_quiet_and_decide_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read("x = '\\d'\n").statements is not None


@pytest.mark.parametrize("text", ["a\r\nb\rc\n", "\r", "a\n"])
def test_line_ends_are_those_that_the_parser_sees(text: str) -> None:
    assert unify_line_ends(text) == text.replace("\r\n", "\n").replace("\r", "\n")
