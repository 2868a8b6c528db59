"""The four contracts of the build spec: `Score`, `Scorecard`, `BenchmarkSet`, `ABComparison`, and their parts.

They have exactly the fields of the spec, in its order, and never get one more: what else is known of a grading lives
in records beside them, joined by `instance_id` and `patch_ref`.
"""

from parsimony.records.ab_comparison import (
    ABComparison,
    Arm,
    ComparisonResult,
    Cost,
    FrozenConfig,
    Recommendation,
    Side,
    Significance,
)
from parsimony.records.benchmark_set import BenchmarkSet, ContaminationStatus, Role
from parsimony.records.record import Record
from parsimony.records.score import GateVerdict, Resolution, Score, TestGate
from parsimony.records.scorecard import (
    ComponentMetrics,
    Economics,
    EndToEnd,
    LocalizationMetrics,
    PatchingMetrics,
    PlanningMetrics,
    Scorecard,
    StructureMetrics,
    TestingMetrics,
)

__all__ = [
    "ABComparison",
    "Arm",
    "BenchmarkSet",
    "ComparisonResult",
    "ComponentMetrics",
    "ContaminationStatus",
    "Cost",
    "Economics",
    "EndToEnd",
    "FrozenConfig",
    "GateVerdict",
    "LocalizationMetrics",
    "PatchingMetrics",
    "PlanningMetrics",
    "Recommendation",
    "Record",
    "Resolution",
    "Role",
    "Score",
    "Scorecard",
    "Side",
    "Significance",
    "StructureMetrics",
    "TestGate",
    "TestingMetrics",
]
