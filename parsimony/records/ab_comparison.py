"""`ABComparison` and its parts: two arms that differ in exactly one thing (build spec, section 5.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from parsimony.errors import InputError
from parsimony.records.kinds import Amount, Count, Difference, Number, Positive, Ratio, Text
from parsimony.records.record import Record


class Side(StrEnum):
    """The two sides of a comparison."""

    BASELINE = "baseline"
    CANDIDATE = "candidate"


class Significance(StrEnum):
    """Whether the difference is more than the variance would give."""

    YES = "yes"
    NO = "no"
    UNDETERMINED = "undetermined"


class Recommendation(StrEnum):
    """What to do with the change."""

    KEEP = "keep"
    REJECT = "reject"
    PARE_BACK = "pare_back"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenConfig(Record):
    """Everything that is held fixed, the same for both arms.

    Attributes:
        temperature: sampling temperature.
        token_budget, tool_budget: tokens, and calls of tools.
        environment_image: digest of the image lock.
        timeout: seconds, more than 0.
        candidate_count: samples per task.
    """

    model: Text
    temperature: Amount
    token_budget: Count
    tool_budget: Count
    task_set: Text
    environment_image: Text
    timeout: Amount
    candidate_count: Positive

    def _check(self) -> None:
        if self.timeout == 0:
            raise InputError("is 0", mend="it must be more than 0 seconds", field="timeout")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(Record):
    """What one arm consumed; fields and units as in `Economics`."""

    tokens: Count
    calls: Count
    cpu: Amount
    wall_time: Amount
    dollars: Amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm(Record):
    """One side of a comparison.

    Attributes:
        name: which side.
        harness_version: the pinned harness.
        resolved: tasks resolved, one count per seed.
        mean: mean of the per-seed resolve rates, 0 to 1.
        variance: of the per-seed resolve rates.
        confidence_interval: (lower, upper) for the mean.
    """

    name: Side
    harness_version: Text
    resolved: tuple[Count, ...]
    mean: Ratio
    variance: Amount
    confidence_interval: tuple[Number, ...]
    cost: Cost

    def _check(self) -> None:
        if not self.resolved:
            raise InputError("is empty", mend="it holds one count per seed", field="resolved")
        if len(self.confidence_interval) != 2:
            raise InputError(
                f"holds {len(self.confidence_interval)} numbers",
                mend="it holds two: lower and upper",
                field="confidence_interval",
            )
        if self.confidence_interval[0] > self.confidence_interval[1]:
            raise InputError("has its bounds the wrong way round", mend="lower first", field="confidence_interval")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonResult(Record):
    """`delta`: the measured difference of the resolve rates, candidate less baseline, -1 to 1."""

    delta: Difference
    significant: Significance
    recommendation: Recommendation


@dataclass(frozen=True, slots=True, kw_only=True)
class ABComparison(Record):
    """A controlled comparison: both arms on the same seeds, everything but the change under test held fixed.

    Attributes:
        change_under_test: exactly one thing.
        arms: the baseline and the candidate, one of each.
        seeds: each once; `Arm.resolved` has their order.
    """

    change_under_test: Text
    frozen: FrozenConfig
    arms: tuple[Arm, ...]
    seeds: tuple[Count, ...]
    result: ComparisonResult

    def _check(self) -> None:
        if sorted(arm.name for arm in self.arms) != [Side.BASELINE, Side.CANDIDATE]:
            names = ", ".join(arm.name for arm in self.arms) or "no arm"
            raise InputError(f"holds {names}", mend="it holds one baseline and one candidate", field="arms")
        if not self.seeds:
            raise InputError("is empty", mend="name the seeds that were run", field="seeds")
        if len(set(self.seeds)) != len(self.seeds):
            raise InputError("holds a seed twice", mend="name each seed once", field="seeds")
        for index, arm in enumerate(self.arms):
            if len(arm.resolved) != len(self.seeds):
                raise InputError(
                    f"holds {len(arm.resolved)} counts for {len(self.seeds)} seeds",
                    mend="it holds one count per seed",
                    field=f"arms.{index}.resolved",
                )
