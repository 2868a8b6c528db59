"""Coding units of Python: what an edit costs in each track."""

import base64
import sys
from collections.abc import Callable
from typing import Any

import pytest

from parsimony.errors import InputError
from parsimony.footprint import measure
from parsimony.footprint.labels import Labels
from parsimony.footprint.python_source import read
from parsimony.footprint.python_track import units_v1, units_v2
from parsimony.footprint.python_units import walk

PATH = "pkg/core.py"


def count(source: str, track: Any = None) -> int:
    return len(walk(read(source).body, Labels(), (track or units_v1()).handlers).labels)


def cost(before: str, after: str, track: str = "units-v1") -> tuple[int | None, int | None]:
    footprint = measure({PATH: (before.encode(), after.encode())}, track=track)
    return footprint.units_added, footprint.units_deleted


def test_the_example_of_the_method() -> None:
    assert count("if x.count(y) > 0: foo(a, b)") == 12


@pytest.mark.parametrize(
    ("source", "units"),
    [
        ("", 0),
        ("x = 1", 3),
        ("x", 1),
        ("f(a, b=c)", 4 + 1),
        ("def f(a):\n    return a", 5),
        ("class C:\n    pass", 3),
        ("a < b <= c", 5),
        ("a and b and c", 5),
        ("a + -b", 4),
        ("a += 1", 3),
        ("global a, b", 2),
        ("with a() as b, c():\n    pass", 1 + 2 + 1 + 2 + 2),
        ('f"{a!r:>{b}}c"', 6),
        ("x[1:2]", 5),
        ("[a for a in b if c]", 6),
        ("try:\n    a\nexcept B:\n    c\nelse:\n    d\nfinally:\n    e", 11),
        ("from . import a as b", 2),
        ('def f():\n    "doc"', 1),
        ('def f():\n    "doc"\n    "text"', 3),
    ],
)
def test_how_many_units(source: str, units: int) -> None:
    assert count(source) == units


FREE = [
    ("x = 255", "x = 0xff"),
    ("x = 'a'", 'x = u"a"'),
    ("x = ('a' 'b')", "x = 'ab'"),
    ("f(a, b)", "f(\n    a,\n    b,  # why\n)\n"),
    ("def f():\n    return 1", 'def f():\n    """Doc."""\n\n    return 1\n'),
    ("x = a + b * c", "x = (a + (b * c))"),
    ('x = f"{ a }"', "x = f'{a}'"),
    ("if a:\n    b\n", "if a:\n\tb\n"),
    ("x = 1\r\ny = 2\r\n", "x = 1\ny = 2\n"),
]


@pytest.mark.parametrize(("before", "after"), FREE)
@pytest.mark.parametrize("track", ["units-v1", "units-v2"])
def test_edits_without_a_cost(before: str, after: str, track: str) -> None:
    assert cost(before, after, track) == (0, 0)


SEEN_BY_V2 = [
    ("x[a:]", "x[:a]", 1, 1),
    ("x[a:b]", "x[a::b]", 1, 0),
    ("def f(*a): pass", "def f(**a): pass", 1, 1),
    ("def f(a, b): pass", "def f(a, *, b): pass", 1, 0),
    ("def f(a, b): pass", "def f(a, /, b): pass", 1, 0),
    ("def f(a=1, b=2): pass", "def f(a, b=2): pass", 0, 2),
    ("def f(*, a=1, b): pass", "def f(*, a, b=1): pass", 1, 1),
    ("def f(a: b): pass", "def f(a=b): pass", 1, 0),
    ("from . import a", "from .. import a", 1, 1),
    ('f"{a}"', 'f"{a!r}"', 1, 0),
    ('f"{a!s}"', 'f"{a!r}"', 1, 1),
    ("try:\n  a\nexcept B:\n  c\nelse:\n  d", "try:\n  a\nexcept B:\n  c\nfinally:\n  d", 1, 1),
    ("match a:\n  case True: b", "match a:\n  case None: b", 1, 1),
    ("[a for a in b]", "[a async for a in b]", 1, 1),
    ("x: int = 1", "(x): int = 1", 1, 1),
]


@pytest.mark.parametrize(("before", "after", "added", "deleted"), SEEN_BY_V2)
def test_edits_that_only_v2_sees(before: str, after: str, added: int, deleted: int) -> None:
    assert cost(before, after, "units-v2") == (added, deleted)
    if "=1" not in before:  # a default that moves away from other tokens costs something in v1 too
        assert cost(before, after) == (0, 0)


def test_v2_counts_like_v1_where_none_of_its_rules_matters() -> None:
    source = "def f(a, b):\n    for x in a[1]:\n        if x is None: return f'{b}'\n    return [y for y in b]\n"
    assert count(source) == count(source, units_v2())


@pytest.mark.parametrize(
    ("before", "after", "nodes", "branches"),
    [
        ("x = 1", "x = 1\n\n\ndef double(value):\n    return value * 2\n", 9, 1),
        ("ok = a", "ok = a and (b or not c) or d", 14, 3),
        ("out = [x for x in xs]", "out = [x for x in xs if x if x > 1]", 7, 2),
        ("def f():\n    a()", "def f():\n    global b, c\n    a()", 1, 0),
        ("match a:\n  case b: c", "match a:\n  case [b]: c\n  case _ if d: e\n  case _: f", 13, 2),
        ("with a: b", "with a as c: b", 2, 0),
        ("x = [1]", "x = lambda: f'{a}'", 3, 1),
    ],
)
def test_nodes_and_branches(before: str, after: str, nodes: int, branches: int) -> None:
    footprint = measure({PATH: (before.encode(), after.encode())})
    assert (footprint.ast_delta, footprint.complexity_delta) == (nodes, branches)


FIELDS = (
    "units_added", "units_deleted", "net_units", "churn", "structural_churn", "tokens_added", "tokens_deleted",
    "ast_delta", "complexity_delta", "files_changed", "lexical_files",
)  # fmt: skip
FORMATTING = ("parentheses", "spelling", "prefix", "concatenation", "escape", "nested class")


def bytes_of(row: dict[str, Any]) -> tuple[bytes, bytes]:
    before = base64.b64decode(row["before_base64"]) if "before_base64" in row else row["before"].encode()
    return before, row["after"].encode("utf-8", "surrogatepass")


@pytest.mark.shared
def test_the_shared_vectors(rows: Callable[[str], Any]) -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    wrong = []
    for row in rows("units-given.jsonl"):
        other = (row.get("other_python") or {}).get(version, {})
        expected = {**row["expected"], **(row["exact"] or {}), **other}
        try:
            metrics = measure({PATH: bytes_of(row)}).metrics()
        except InputError:
            # NUL bytes and bytes that are not UTF-8 are errors under every Python.
            if expected["status"] != "error" and row["expected"]["status"] != "error":
                wrong.append((row["id"], "error", expected))
            continue
        found = {name: metrics[name] for name in FIELDS}
        wanted = {name: expected.get(name) for name in FIELDS}
        if found != wanted:
            wrong.append((row["id"], row["kind"], {name: (found[name], wanted[name]) for name in FIELDS}))
    assert wrong == []


@pytest.mark.shared
def test_lengths_of_the_shared_vectors(rows: Callable[[str], Any]) -> None:
    wrong = []
    for row in rows("units-given.jsonl"):
        if row["units_before"] is None or row.get("other_python"):
            continue
        before, after = (side.decode().removeprefix("\ufeff") for side in bytes_of(row))
        if (count(before), count(after)) != (row["units_before"], row["units_after"]):
            wrong.append((row["id"], count(before), count(after)))
    assert wrong == []


@pytest.mark.shared
def test_v2_sees_what_is_free_in_v1_and_nothing_in_formatting(rows: Callable[[str], Any]) -> None:
    seen = 0
    for row in rows("units-given.jsonl"):
        kind = row["kind"]
        if not kind.endswith("(free)") or any(word in kind for word in FORMATTING):
            continue
        footprint = measure({PATH: bytes_of(row)}, track="units-v2")
        assert footprint.churn, kind
        seen += 1
    assert seen > 5
