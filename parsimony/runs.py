"""A finished run as plain data: what comparisons, scorecards, cost and difficulty are computed from.

`cluster.finished.read_run` makes one from the folder of a run; tests and whoever embeds this make one by hand. Nothing
here knows where a run is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from parsimony.errors import InputError
from parsimony.scorer import Outcome
from parsimony.tasks import Task, Trace


@dataclass(frozen=True, slots=True)
class Spend:
    """What one thing cost. Units: tokens, calls, seconds, millionths of a US dollar.

    Attributes:
        micro_dollars: None = nobody told and no price was at hand: unknown, never zero.
        peak_memory_bytes: of an execution; None where it was not measured.
        day: when it was spent, in UTC; None where nobody told.
    """

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    micro_dollars: int | None = None
    model: str | None = None
    peak_memory_bytes: int | None = None
    day: date | None = None

    @property
    def tokens(self) -> int:
        """All tokens together."""
        return self.input_tokens + self.cached_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Trial:
    """One planned candidate as graded: a task, an arm, a seed and a repeat of the execution.

    Attributes:
        outcome: its terminal record; `MISSING` is no failure.
        regressions: PASS_TO_PASS tests that do not succeed any more; None when no tests were read.
        fail_to_pass, pass_to_pass: (passed, total) of the gates; None when there is no score.
        llm: what producing the candidate cost, None when its prediction told nothing (the same for all its repeats).
        compute: what grading it cost, as if it had been graded alone.
        log: path of its log, relative to the folder of the run; None when nothing was executed.
    """

    task_id: str
    arm: str
    seed: int
    repeat: int
    outcome: Outcome
    patch_ref: str | None = None
    execution_key: str | None = None
    regressions: int | None = None
    fail_to_pass: tuple[int, int] | None = None
    pass_to_pass: tuple[int, int] | None = None
    llm: Spend | None = None
    compute: Spend | None = None
    trace: Trace | None = field(default=None, repr=False)
    log: str | None = None

    @property
    def resolved(self) -> bool | None:
        """The verdict; None when it is missing."""
        return None if self.outcome is Outcome.MISSING else self.outcome is Outcome.RESOLVED


@dataclass(frozen=True, slots=True)
class Settings:
    """What an arm was produced and graded under; the fields of `FrozenConfig`, None where nobody told.

    Attributes:
        harness_version: what produced the candidates; this is what differs between the arms of a comparison.
        task_set, environment_image: digests of the task rows and of the lock of images.
        timeout: seconds per test command, the longest of the tasks.
    """

    harness_version: str | None = None
    model: str | None = None
    temperature: float | None = None
    token_budget: int | None = None
    tool_budget: int | None = None
    task_set: str | None = None
    environment_image: str | None = None
    timeout: float | None = None
    candidate_count: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run.

    Attributes:
        run_id: its identity in the ledger.
        source: where it came from, for messages.
        tasks: by id, those that the run planned.
        settings: by arm.
        trials: one per planned candidate and repeat, in the order of the plan.
        quarantined: tasks that fail their audit today, with the reasons (docs/audit.md).
    """

    run_id: str
    name: str
    source: str
    tasks: Mapping[str, Task] = field(repr=False)
    settings: Mapping[str, Settings]
    trials: tuple[Trial, ...] = field(repr=False)
    quarantined: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)

    @property
    def arms(self) -> tuple[str, ...]:
        """Names of the arms, in the order of the plan."""
        return tuple(dict.fromkeys(trial.arm for trial in self.trials))

    def without(self, tasks: Collection[str]) -> Run:
        """The same run as if it had not planned some tasks."""
        left = {name: task for name, task in self.tasks.items() if name not in tasks}
        return replace(self, tasks=left, trials=tuple(trial for trial in self.trials if trial.task_id not in tasks))

    def counted(self) -> Run:
        """The run without its quarantined tasks: what rates, means and sums are made of.

        Raises:
            InputError: nothing is left.
        """
        if self.tasks and self.quarantined.keys() >= self.tasks.keys():
            mend = "mend the tasks and audit them again (docs/audit.md)"
            raise InputError("has nothing that counts: every task is quarantined", mend=mend, file=self.source)
        return self.without(self.quarantined) if self.quarantined else self

    def left_out(self) -> list[dict[str, Any]]:
        """The tasks that do not count, as a summary has them: `task_id`, how many trials were `planned`, `reasons`."""
        planned = Counter(trial.task_id for trial in self.trials)
        return [
            {"task_id": task, "planned": planned[task], "reasons": list(reasons)}
            for task, reasons in self.quarantined.items()
        ]

    def of(self, arm: str) -> Iterator[Trial]:
        """The trials of an arm."""
        return (trial for trial in self.trials if trial.arm == arm)


def majority(verdicts: Sequence[bool | None]) -> bool | None:
    """One verdict of a candidate from its repeats: resolved when more than half of them are; a tie is not.

    None where what is missing could turn it. Exact: it asks what the missing ones can still do, not how likely it is.
    """
    resolved = sum(verdict is True for verdict in verdicts)
    missing = sum(verdict is None for verdict in verdicts)
    if not verdicts or 2 * resolved <= len(verdicts) < 2 * (resolved + missing):
        return None
    return 2 * resolved > len(verdicts)
