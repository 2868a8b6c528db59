"""What an ablation takes and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from parsimony.runs import Run, Trial


class Verdict(StrEnum):
    """A mechanism is deleted if taking it away does not make the honest measures worse."""

    KEEP = "keep"
    DELETE = "delete"


Key = tuple[str, str, int, int]


def key_of(trial: Trial) -> Key:
    """Task, arm, seed, repeat."""
    return trial.task_id, trial.arm, trial.seed, trial.repeat


@dataclass(frozen=True, slots=True)
class Evidence:
    """A finished run, and what lies beside its outcomes.

    Attributes:
        read_from_log: by trial, whether a reader of its printed output would call it resolved; only executed trials.
        patches: by trial, the patch as submitted.
        stages: by the name of a stage's measure, by trial, its value from 0 to 1; only where it is known.
    """

    run: Run
    read_from_log: Mapping[Key, bool] = field(default_factory=dict, repr=False)
    patches: Mapping[Key, bytes] = field(default_factory=dict, repr=False)
    stages: Mapping[str, Mapping[Key, float]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Ablation:
    """One mechanism taken away.

    Attributes:
        number: 0 for the whole plane, else as in the build spec, §8.3.
        measure: what is counted, in words; more of it is worse.
        with_it, without: the measure with and without the mechanism; None where the run holds nothing to show it on.
        tells: one sentence with the numbers.
    """

    number: int
    mechanism: str
    measure: str
    with_it: float | None
    without: float | None
    tells: str

    @property
    def verdict(self) -> Verdict | None:
        """Keep or delete; None where nothing could be shown."""
        if self.with_it is None or self.without is None:
            return None
        return Verdict.KEEP if self.without > self.with_it else Verdict.DELETE
