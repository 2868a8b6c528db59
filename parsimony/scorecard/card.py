"""From a note to the exact record. A record holds no guess: where a measure is not known, there is no record.

Two conventions, both told in the note: what the task has nothing of is complete (an empty set of obligations is
recovered, no symbols to find are found, no tests to run were run), and obligations that no trace tells of are not
recovered (absence is never success).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

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
from parsimony.scorecard.note import Exercised, Found, Note, Planned, Spent


def missing(resolved: bool | None, regressions: int | None, spent: Spent) -> Iterator[str]:
    """What is not known of what a record must hold besides the stages."""
    if resolved is None:
        yield "the verdict is missing"
    if regressions is None:
        yield "no regression tests were read"
    if spent.tokens is None:
        yield "what producing or grading it cost is not known: the prediction tells no usage"
    elif spent.micro_dollars is None:
        yield "dollars are not known: the prediction tells none, and there is no price (--prices, or --cpu-hour)"


def vacuous(
    symbols: Found | None, planning: Planned | None, bug_tests: Exercised | None, regression_tests: Exercised | None
) -> Iterator[str]:
    """Measures of which the task has nothing to measure."""
    if symbols is not None and not symbols.targets:
        yield "localization.symbol_recall"
    if planning is not None and not planning.required:
        yield "planning.obligations_recovered"
    for name, tests in (("bug", bug_tests), ("regression", regression_tests)):
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
        component_metrics=_components(
            (_complete(files.recall), _complete(symbols.recall), files.rank),
            planning.matched / planning.required if planning.required else 1.0,
            (patching.apply, patching.parse, patching.build),
            (structure.correct, structure.unnecessary),
            (note.bug_tests.ran == note.bug_tests.of, note.regression_tests.ran == note.regression_tests.of),
        ),
        end_to_end=EndToEnd(
            resolved=Resolution.RESOLVED if note.resolved else Resolution.NOT_RESOLVED,
            regressions=note.regressions,
            robustness=robust.rate,
        ),
        economics=_economics(spent),
    )


@lru_cache(maxsize=1 << 12)
def _components(
    localization: tuple[float, float, int],
    obligations: float,
    patching: tuple[bool, bool, bool],
    structure: tuple[int, int],
    tests: tuple[bool, bool],
) -> ComponentMetrics:
    """The components. Kept, because records do not change and many candidates have the same."""
    file_recall, symbol_recall, target_rank = localization
    apply, parse, build = patching
    return ComponentMetrics(
        localization=LocalizationMetrics(file_recall=file_recall, symbol_recall=symbol_recall, target_rank=target_rank),
        planning=PlanningMetrics(obligations_recovered=obligations),
        patching=PatchingMetrics(apply=apply, parse=parse, build=build),
        structure=StructureMetrics(correct_entities_touched=structure[0], unnecessary_entities_touched=structure[1]),
        testing=TestingMetrics(bug_tests_exercised=tests[0], regression_tests_exercised=tests[1]),
    )


def _complete(recall: float | None) -> float:
    return 1.0 if recall is None else recall


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
