"""Which lines of the gold patch a statement tells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.contamination import leaks
from parsimony.contamination.leaks import added_lines, is_trivial, leak_of, occurs
from parsimony.tasks import Task

PATCH = b"""diff --git a/m.py b/m.py
--- a/m.py
+++ b/m.py
@@ -1,3 +1,6 @@
 import os
-def size(path): return 0
+def size(path):
+    total = sum(part.size for part in walk(path))
+    return  max(total, FLOOR_OF_SIZES)
+
 x = 1
"""


def task(statement: str, patch: bytes = PATCH, hints: str | None = None) -> Task:
    return Task(
        "t", "r", None, ("t",), (), "pytest", patch=patch, problem_statement=statement, row={"hints_text": hints}
    )


def test_lines_are_those_that_the_patch_adds_and_that_say_something() -> None:
    assert added_lines(PATCH) == [
        "def size(path):",
        "total = sum(part.size for part in walk(path))",
        "return max(total, FLOOR_OF_SIZES)",
    ]


@pytest.mark.parametrize(
    "line", ["", "else:", "return x", "}", "x = 1", "################", "longidentifierwithoutblank"]
)
def test_trivial_lines_tell_nothing(line: str) -> None:
    assert is_trivial(line)


def test_white_space_does_not_hide_a_leak() -> None:
    found = leak_of(
        task("Mend it:\n\n\ttotal  =  sum(part.size for part\n in walk(path))\n+    return max(total, FLOOR_OF_SIZES)")
    )
    assert found.told == ("total = sum(part.size for part in walk(path))", "return max(total, FLOOR_OF_SIZES)")
    assert found.ratio == pytest.approx(2 / 3)


def test_hints_are_counted_apart() -> None:
    found = leak_of(task("It is wrong.", hints="def size(path): ..."))
    assert found.ratio == 0.0
    assert found.hint_ratio == pytest.approx(1 / 3)


def test_words_are_whole() -> None:
    assert occurs("max(total, floor)", "call max(total, floor) now")
    assert not occurs("max(total, floor", "call max(total, floors)")
    assert not occurs("max(total, floor)", "argmax(total, floor)")
    assert occurs("max(total, floor)", "argmax(total, floor) is no max(total, floor)")


def test_what_cannot_be_said_has_its_reason() -> None:
    none, trivial, silent = leaks([task("x", b""), task("x", PATCH.replace(b"+def", b"-def")[:60]), task("")])
    assert (none.ratio, none.problem) == (None, "there is no gold patch")
    assert trivial.problem == "the gold patch adds no line that is not trivial"
    assert silent.problem == "there is no problem statement"


@given(st.binary(), st.text())
def test_no_patch_is_a_traceback(patch: bytes, statement: str) -> None:
    found = leak_of(task(statement, patch))
    assert found.ratio is None or 0 <= found.ratio <= 1


@given(st.lists(st.text("abcdef (=", min_size=20, max_size=30), min_size=1, max_size=5))
def test_a_statement_that_holds_the_patch_leaks_it_all(lines: list[str]) -> None:
    body = "".join(f"+{line}\n" for line in lines)
    patch = f"--- a/m.py\n+++ b/m.py\n@@ -0,0 +1,{len(lines)} @@\n{body}".encode()
    found = leak_of(task(" ".join(lines), patch))
    assert found.ratio in (None, 1.0)
