"""From a note to the exact record. A record holds no guess: where a measure is not known, there is no record.

Two conventions, both told in the note: what the task has nothing of is complete (an empty set of obligations is
recovered, no symbols to find are found, no tests to run were run), and obligations that no trace tells of are not
recovered (absence is never success).
"""

from __future__ import annotations

from collections.abc import Iterator

from parsimony.records import (
    ComponentMetrics,
    Economics,
    EndToEnd,
    LocalizationMetrics,
    PatchingMetrics,
    PlanningMetrics,
    Resolution,
    Scorecard,
    StructureMetrics,
    TestingMetrics,
)
from parsimony.scorecard.note import Exercised, Note, Planned, Spent


def missing(note: Note) -> Iterator[str]:
    """What the note does not know of what a record must hold."""
    if note.resolved is None:
        yield "the verdict is missing"
    if note.regressions is None:
        yield "no regression tests were read"
    spent = note.economics
    if spent is None or spent.tokens is None:
        yield "what producing or grading it cost is not known: the prediction tells no usage"
    elif spent.micro_dollars is None:
        yield "dollars are not known: the prediction tells none, or computing has no price (--cpu-hour)"


def vacuous(note: Note) -> Iterator[str]:
    """Measures of which the task has nothing to measure."""
    if note.symbols is not None and not note.symbols.targets:
        yield "localization.symbol_recall"
    if note.planning is not None and not note.planning.required:
        yield "planning.obligations_recovered"
    for name, tests in (("bug", note.bug_tests), ("regression", note.regression_tests)):
        if tests is not None and not tests.of:
            yield f"testing.{name}_tests_exercised"


def scorecard(note: Note) -> Scorecard | None:
    """The exact record; None where the note says that something is missing."""
    files, symbols, planning = note.files, note.symbols, note.planning
    patching, structure, robust, spent = note.patching, note.structure, note.robustness, note.economics
    if note.missing or files is None or symbols is None or planning is None or patching is None or structure is None:
        return None
    if note.bug_tests is None or note.regression_tests is None or robust is None or note.regressions is None:
        return None
    if spent is None or patching.parse is None or patching.build is None:
        return None
    return Scorecard(
        run_id=note.run_id,
        task_id=note.task_id,
        component_metrics=ComponentMetrics(
            localization=LocalizationMetrics(
                file_recall=_complete(files.recall),
                symbol_recall=_complete(symbols.recall),
                target_rank=files.rank,
            ),
            planning=PlanningMetrics(obligations_recovered=_recovered(planning)),
            patching=PatchingMetrics(apply=patching.apply, parse=patching.parse, build=patching.build),
            structure=StructureMetrics(
                correct_entities_touched=structure.correct, unnecessary_entities_touched=structure.unnecessary
            ),
            testing=TestingMetrics(
                bug_tests_exercised=_all_ran(note.bug_tests), regression_tests_exercised=_all_ran(note.regression_tests)
            ),
        ),
        end_to_end=EndToEnd(
            resolved=Resolution.RESOLVED if note.resolved else Resolution.NOT_RESOLVED,
            regressions=note.regressions,
            robustness=robust.rate,
        ),
        economics=_economics(spent),
    )


def _complete(recall: float | None) -> float:
    return 1.0 if recall is None else recall


def _recovered(planning: Planned) -> float:
    return planning.matched / planning.required if planning.required else 1.0


def _all_ran(tests: Exercised) -> bool:
    return tests.ran == tests.of


def _economics(spent: Spent) -> Economics:
    assert spent.tokens is not None
    assert spent.calls is not None
    assert spent.cpu is not None
    assert spent.wall_time is not None
    assert spent.micro_dollars is not None
    return Economics(
        tokens=spent.tokens,
        calls=spent.calls,
        cpu=spent.cpu,
        wall_time=spent.wall_time,
        dollars=spent.micro_dollars / 1_000_000,
    )
