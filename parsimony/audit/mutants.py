"""Weak-test probes: the task's own fix with one small mistake in it. One that is still resolved is a mistake that the
tests do not see, unless the changed program does the same as before (an equivalent mutant: no machine can tell)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final

from parsimony import patches
from parsimony.audit import python_mutation, script_mutation
from parsimony.audit.diffs import diff
from parsimony.audit.layout import Layout
from parsimony.audit.mutation import Mutation, Mutator
from parsimony.audit.script_source import is_script
from parsimony.errors import InputError
from parsimony.patches import FilePatch, Hunk
from parsimony.runner.sources import as_text, sources

SURVIVAL_THRESHOLD: Final = 0.25
"""Share of surviving mutants above which the tests of a task are called weak."""

_LANGUAGES: Final = frozenset({"python", "javascript", "typescript"})


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mutated fix.

    Attributes:
        name: also the arm under which it is graded.
        path, line: where the mistake is, in the tree with the fix.
    """

    name: str
    path: str
    line: int
    operator: str
    was: str
    now: str
    patch: bytes

    @property
    def words(self) -> str:
        """What was changed, in one line."""
        return f"{self.path}:{self.line} {self.operator}: {self.was} → {self.now}"


@dataclass(frozen=True, slots=True)
class Mutants:
    """The mutants of a task.

    Attributes:
        chosen: those that are run. possible: how many there are.
        problem: why there are none; empty otherwise.
    """

    chosen: tuple[Mutant, ...] = ()
    possible: int = 0
    problem: str = ""


def mutants(layout: Layout, count: int) -> Mutants:
    """At most `count` mutants of the task's own fix: the same ones every time, of as many operators as can be."""
    if layout.language not in _LANGUAGES:
        made_of = "Python, JavaScript and TypeScript"
        return Mutants(problem=f"mutants are made of {made_of}, and the fix is in {layout.language}")
    try:
        before, after = fixed_sources(layout)
    except InputError as error:
        return Mutants(problem=f"the fix cannot be applied to the base files that are known: {error}")
    added = added_lines(layout)
    found: list[tuple[str, Mutation]] = []
    unread: list[str] = []
    for path, content in after.items():
        mutations = _mutator(layout.language, path)
        if mutations is None or path not in added:
            continue
        try:
            found += [(path, one) for one in mutations(content, added[path])]
        except InputError as error:
            unread.append(f"{path} {error.problem}")
    if not found:
        return Mutants(problem="; ".join(unread) or "no line that the fix adds can be mutated")
    chosen = _sample(layout.task.instance_id, found, count)
    made = tuple(
        Mutant(
            f"mutant-{number}", path, one.line, one.operator, one.was, one.now,
            diff(before, {**after, path: one.source}),
        )
        for number, (path, one) in enumerate(chosen, 1)
    )  # fmt: skip
    return Mutants(made, len(found))


def _mutator(language: str, path: str) -> Mutator | None:
    """What mutates a file of a task in a language; None where nothing does."""
    if language == "python":
        return python_mutation.mutations if path.endswith(".py") else None
    return script_mutation.mutator(PurePosixPath(path).suffix) if is_script(path) else None


def _sample(seed: str, found: list[tuple[str, Mutation]], count: int) -> list[tuple[str, Mutation]]:
    """By the hash of what each mutant is, and by turns of operators: deterministic, and varied."""

    def rank(entry: tuple[str, Mutation]) -> str:
        path, one = entry
        return sha256(repr((seed, path, one.operator, one.line, one.was, one.now)).encode()).hexdigest()

    by_operator: dict[str, list[tuple[str, Mutation]]] = {}
    for entry in sorted(found, key=rank):
        by_operator.setdefault(entry[1].operator, []).append(entry)
    chosen: list[tuple[str, Mutation]] = []
    while len(chosen) < min(count, len(found)):
        for entries in by_operator.values():
            if entries and len(chosen) < count:
                chosen.append(entries.pop(0))
    return sorted(chosen, key=lambda entry: (entry[0], entry[1].line, entry[1].operator, entry[1].now))


def fixed_sources(layout: Layout) -> tuple[dict[str, bytes | None], dict[str, bytes]]:
    """The implementation files of the task's own fix, before and after it.

    Raises:
        InputError: a section does not fit the base files that are known.
    """
    wanted = frozenset(sources(layout.task, ()))
    result = patches.apply_strict(
        layout.task.patch,
        lambda path: layout.files.get(as_text(path)),
        counts=lambda file: bool({as_text(p) for p in (file.old_path, file.new_path) if p} & wanted),
    )
    contents = {as_text(path): content for path, content in result.contents.items()}
    before = {path: layout.files.get(path) for path in contents}
    return before, {path: content for path, content in contents.items() if content is not None}


def added_lines(layout: Layout) -> dict[str, frozenset[int]]:
    """Numbers of the lines that the fix adds, by implementation file, in the tree with the fix."""
    wanted = frozenset(sources(layout.task, ()))
    found: dict[str, set[int]] = {}
    for file in patches.parse(layout.task.patch).files:
        path = as_text(file.new_path) if file.new_path else None
        if path in wanted:
            found.setdefault(path, set()).update(_added(file))
    return {path: frozenset(lines) for path, lines in found.items() if lines}


def _added(file: FilePatch) -> Iterable[int]:
    for hunk in file.hunks:
        yield from _added_by(hunk)


def _added_by(hunk: Hunk) -> Iterable[int]:
    line = hunk.new_start + (hunk.new_count == 0)
    for each in hunk.body:
        if each.startswith(b"+"):
            yield line
        if not each.startswith((b"-", b"\\")):
            line += 1
