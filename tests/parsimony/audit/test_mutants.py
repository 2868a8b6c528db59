"""Mutation: what is changed, that it stays a program, and that the same mutants are chosen every time."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from parsimony.audit import Layout, mutants
from parsimony.audit.diffs import diff
from parsimony.audit.mutants import added_lines, fixed_sources
from parsimony.audit.mutation import MOST_BYTES
from parsimony.audit.python_mutation import mutations
from parsimony.errors import InputError


def changed(source: str, operator: str) -> list[str]:
    """The mutated sources of one operator, where all lines count."""
    data = source.encode()
    found = mutations(data, range(1, data.count(b"\n") + 2))
    return [one.source.decode() for one in found if one.operator == operator]


@pytest.mark.parametrize(
    ("operator", "source", "wanted"),
    [
        ("comparison", "x = a == b\n", ["x = (a != b)\n"]),
        ("comparison", "x = a < b\n", ["x = (a >= b)\n"]),
        ("boundary", "x = a < b\n", ["x = (a <= b)\n"]),
        ("boundary", "x = a >= b\n", ["x = (a > b)\n"]),
        ("comparison", "x = a not in b\n", ["x = (a in b)\n"]),
        ("comparison", "x = a is None\n", ["x = (a is not None)\n"]),
        ("connective", "x = a and b or c\n", ["x = ((a and b) and c)\n", "x = (a or b) or c\n"]),
        ("drop-operand", "x = a and b\n", ["x = (b)\n", "x = (a)\n"]),
        ("drop-not", "x = not a\n", ["x = (a)\n"]),
        ("negate-condition", "if f(a):\n    pass\n", ["if (not f(a)):\n    pass\n"]),
        ("negate-condition", "while a:\n    pass\n", ["while (not a):\n    pass\n"]),
        ("negate-condition", "if a == b:\n    pass\n", []),  # the comparison is turned around by its own operator
        ("arithmetic", "x = a + b\n", ["x = (a - b)\n"]),
        ("constant", "x = 41\n", ["x = (42)\n"]),
        ("constant", "x = True\n", ["x = (False)\n"]),
        ("constant", "x = ''\n", ["x = ('mutant')\n"]),
        ("constant", "x = 'ab'\n", ["x = ('a')\n"]),
        ("return-none", "def f():\n    return 1\n", ["def f():\n    return (None)\n"]),
        ("return-none", "def f():\n    return None\n", []),
        ("drop-statement", "def f():\n    x.y()\n", ["def f():\n    pass\n"]),
        ("drop-statement", "x = 1\n", ["pass\n"]),
        ("drop-call", "x = f(a, b)\n", ["x = (a)\n"]),
    ],
)
def test_operators(operator: str, source: str, wanted: list[str]) -> None:
    assert sorted(changed(source, operator)) == sorted(wanted)


def test_only_nodes_that_stand_whole_on_the_lines_are_changed() -> None:
    source = b"x = 1\ny = (2 +\n     3)\nz = 4\n"
    assert {one.line for one in mutations(source, {2})} == {2}
    assert {one.was for one in mutations(source, {2})} == {"2"}
    assert mutations(source, ()) == []


def test_texts_for_people_annotations_and_formatted_texts_are_left_alone() -> None:
    source = b'def f(a: "int" = None) -> "str":\n    """Doc."""\n    return f"{a + 1} b"\n'
    assert {one.operator for one in mutations(source, range(1, 4))} == {"return-none"}


def test_columns_are_bytes() -> None:
    assert changed("x = 'ä→', a == b\n", "comparison") == ["x = 'ä→', (a != b)\n"]


def test_what_is_no_program_any_more_is_left_out() -> None:
    assert all(ast.parse(one.source) for one in mutations(b"def f():\n    for x in y:\n        break\n", range(1, 4)))


@pytest.mark.parametrize("source", [b"def f(:\n", b"\0", b"#" * (MOST_BYTES + 1), b"(" * 5000])
def test_what_is_no_source_is_an_input_error(source: bytes) -> None:
    with pytest.raises(InputError):
        mutations(source, {1})


def test_mutants_are_patches_against_the_base(
    layout: Layout, apply: Callable[[Mapping[str, bytes], bytes], dict[str, bytes]]
) -> None:
    found = mutants(layout, 5)
    assert found.problem == ""
    assert len(found.chosen) == 5 < found.possible
    before, after = fixed_sources(layout)
    assert before == {"pkg/core.py": layout.files["pkg/core.py"]}
    results = [apply(layout.files, one.patch)["pkg/core.py"] for one in found.chosen]
    assert len(set(results)) == 5
    assert after["pkg/core.py"] not in results
    assert [one.name for one in found.chosen] == [f"mutant-{n}" for n in range(1, 6)]
    assert len({one.operator for one in found.chosen}) == 5, "by turns of operators"


def test_the_same_mutants_every_time_and_others_for_another_task(layout: Layout) -> None:
    assert mutants(layout, 4) == mutants(layout, 4)
    other = replace(layout, task=replace(layout.task, instance_id="demo-2"))
    assert [one.words for one in mutants(other, 4).chosen] != [one.words for one in mutants(layout, 4).chosen]
    assert len(mutants(layout, 1000).chosen) == mutants(layout, 1000).possible


def test_lines_of_the_fix_are_numbered_in_the_fixed_tree(layout: Layout) -> None:
    assert added_lines(layout) == {"pkg/core.py": frozenset({2, 3, 4})}


def test_why_there_are_none(layout: Layout, script_layout: Layout) -> None:
    go = replace(script_layout, task=replace(script_layout.task, language="go"))
    assert mutants(go, 3).problem == "mutants are made of Python, JavaScript and TypeScript, and the fix is in go"
    assert "base files" in mutants(replace(layout, files={}), 3).problem
    source = layout.files["pkg/core.py"]
    comment = diff({"pkg/core.py": source}, {"pkg/core.py": b"# note\n" + source})
    only = replace(layout, task=replace(layout.task, patch=comment))
    assert mutants(only, 3).problem == "no line that the fix adds can be mutated"
