"""`Scorecard` and its parts: where in the coding loop a task was won or lost, and at what cost (build spec, 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

from parsimony.records.kinds import Amount, Count, Flag, Ratio, Text
from parsimony.records.record import Record
from parsimony.records.score import Resolution


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalizationMetrics(Record):
    """How well the right places were found.

    Attributes:
        file_recall, symbol_recall: fraction of the gold patch's files and symbols that were retrieved, 0 to 1.
        target_rank: rank of the right target in the order of retrieval, 1 = first, 0 = never.
    """

    file_recall: Ratio
    symbol_recall: Ratio
    target_rank: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningMetrics(Record):
    """`obligations_recovered`: fraction of the required obligations that the plan recovered, 0 to 1."""

    obligations_recovered: Ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchingMetrics(Record):
    """Whether the patch applies, what it leaves parses, and the project builds."""

    apply: Flag
    parse: Flag
    build: Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class StructureMetrics(Record):
    """How many entities the patch touched that it should have, and how many it need not have."""

    correct_entities_touched: Count
    unnecessary_entities_touched: Count


@dataclass(frozen=True, slots=True, kw_only=True)
class TestingMetrics(Record):
    """Whether the tests of the bug and the regression tests were run."""

    __test__ = False  # a name that pytest would take for a test class

    bug_tests_exercised: Flag
    regression_tests_exercised: Flag


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentMetrics(Record):
    """One part for each stage of the coding loop."""

    localization: LocalizationMetrics
    planning: PlanningMetrics
    patching: PatchingMetrics
    structure: StructureMetrics
    testing: TestingMetrics


@dataclass(frozen=True, slots=True, kw_only=True)
class EndToEnd(Record):
    """The executed verdict.

    Attributes:
        resolved: the verdict of the task's `Score`.
        regressions: regressions that the patch brought in.
        robustness: success under perturbation and held-out variants, 0 to 1.
    """

    resolved: Resolution
    regressions: Count
    robustness: Ratio


@dataclass(frozen=True, slots=True, kw_only=True)
class Economics(Record):
    """What the run consumed.

    Attributes:
        tokens, calls: of language models.
        cpu, wall_time: seconds.
        dollars: language models and computing together.
    """

    tokens: Count
    calls: Count
    cpu: Amount
    wall_time: Amount
    dollars: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorecard(Record):
    """The hierarchical score of one task in one run."""

    run_id: Text
    task_id: Text
    component_metrics: ComponentMetrics
    end_to_end: EndToEnd
    economics: Economics
