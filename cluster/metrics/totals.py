"""Sums over the rows of a ledger, row by row: the same whether it is read at once or bit by bit.

Rows of a kind come in their order; between kinds only this order is kept: executions before costs, because a price may
need the memory that an execution took.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final

from cluster.budget import elapsed
from cluster.costrows import spend_of
from cluster.metrics.history import History
from cluster.metrics.values import Bounded, Histogram, Values
from cluster.rows import epoch
from parsimony.cost_ledger import Kind, PriceTable
from parsimony.cost_ledger.entries import priced
from parsimony.errors import InputError

Row = Mapping[str, Any]

COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "execution": ("execution_key", "outcome", "phases", "peak_memory_bytes", "recorded_at"),
    "attempt": ("job_key", "attempt", "ending", "fault", "ended_at"),
    "score": ("task_id", "arm", "seed", "repeat", "outcome"),
    "cost": (
        "arm", "execution_key", "kind", "model", "input_tokens", "cached_tokens", "output_tokens", "calls",
        "cpu_seconds", "wall_seconds", "micro_dollars", "recorded_at", "day",
    ),
    "event": ("at", "name", "data"),
}  # fmt: skip
"""What is read of each kind, in the order in which kinds are read."""

ENDED_BY_FAULT: Final = frozenset({"temporary", "permanent", "lost"})
PULL: Final = "pull"
"""The phase in which an image is brought."""


class Totals:
    """What a ledger holds, added up.

    Args:
        sweep: the value of the label.
        prices: what costs that tell no dollars cost.
    """

    def __init__(self, sweep: str, prices: PriceTable) -> None:
        self._sweep = sweep
        self._prices = prices
        self._jobs: Counter[str] = Counter()
        self._attempts: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._retries: Counter[str] = Counter()
        self._phases: defaultdict[str, Histogram] = defaultdict(Histogram)
        self._pulls = 0
        self._tokens: Counter[tuple[str, str]] = Counter()
        self._calls: Counter[str] = Counter()
        self._cpu: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._wall: defaultdict[str, float] = defaultdict(float)
        self.micro_dollars: Counter[tuple[str, str]] = Counter()
        self._attributed: Counter[str] = Counter()
        self._unpriced: Counter[tuple[str, str]] = Counter()
        self._verdicts: dict[int, int] = {}
        self._verdict_kinds: dict[tuple[str, str], int] = {}
        self._history = History()
        self._ends = array("d")  # of attempts
        self._bounds: defaultdict[str, Bounded] = defaultdict(Bounded)
        self._troubled: dict[int, tuple[int, str]] = {}  # job -> its last attempt that a fault ended, and the fault
        self._executed: dict[int, tuple[int | None, date | None]] = {}  # execution -> peak bytes, day of payment
        self._take: dict[str, Callable[[Row], None]] = {
            "execution": self._execution,
            "attempt": self._attempt,
            "score": self._score,
            "cost": self._cost,
            "event": self._history.event,
        }

    def take(self, kind: str, row: Row) -> None:
        """One more row, with the `COLUMNS` of its kind."""
        self._take[kind](row)

    # ---- rows

    def _execution(self, row: Row) -> None:
        self._jobs[row["outcome"]] += 1
        for phase, seconds in json.loads(row["phases"] or "{}").items():
            self._phases[self._bounds["phase"](phase)].add(float(seconds))
            self._pulls += phase == PULL
        if self._prices.compute:
            self._executed[hash(row["execution_key"])] = (row["peak_memory_bytes"], None)
        self._history.progress(row["recorded_at"])

    def _attempt(self, row: Row) -> None:
        ending, job = row["ending"] or "unknown", hash(row["job_key"])
        self._attempts[ending] += 1
        if row["ended_at"] is not None:
            self._ends.append(epoch(row["ended_at"]))
        number, fault = self._troubled.get(job, (row["attempt"], ""))
        if row["attempt"] > number:
            self._retries[fault] += 1
        if row["fault"]:
            name = self._bounds["fault"](row["fault"])
            self._troubled[job] = (max(number, row["attempt"]), name)
            if ending in ENDED_BY_FAULT:
                self._faults[name] += 1
        elif job in self._troubled:
            self._troubled[job] = (max(number, row["attempt"]), fault)

    def _score(self, row: Row) -> None:
        pair = (self._bounds["arm"](row["arm"]), row["outcome"])
        found = self._verdict_kinds.setdefault(pair, len(self._verdict_kinds))
        self._verdicts[hash((row["task_id"], row["arm"], row["seed"], row["repeat"]))] = found

    def _cost(self, row: Row) -> None:
        arm, llm = self._bounds["cost"](row["arm"]), row["kind"] == "llm"
        kind = Kind.LLM if llm else Kind.COMPUTE
        micro = self._price(row, kind)
        if row["kind"] == "compute_attributed":
            if micro is not None:
                self._attributed[arm] += micro
            return
        if micro is None:
            self._unpriced[arm, kind.value] += 1
        else:
            self.micro_dollars[arm, kind.value] += micro
        for name in ("input", "cached", "output"):
            if row[f"{name}_tokens"] is not None:
                self._tokens[arm, name] += row[f"{name}_tokens"]
        if row["calls"] is not None:
            self._calls[arm] += row["calls"]
        if row["cpu_seconds"] is not None:
            self._cpu[arm, kind.value] += row["cpu_seconds"]
        if row["wall_seconds"] is not None and not llm:
            self._wall[arm] += row["wall_seconds"]

    def _price(self, row: Row, kind: Kind) -> int | None:
        """Micro-dollars as `results.summarise` has them; None where nobody knows them."""
        key = hash(row["execution_key"])
        peak, day = self._executed.get(key, (None, None))
        recorded = _day(row["recorded_at"])
        if kind is Kind.LLM:
            peak, day = None, date.fromisoformat(row["day"]) if row["day"] else recorded
        elif day is None:
            day = recorded
            if self._prices.compute and row["kind"] == "compute_spent":
                self._executed[key] = (peak, day)
        spend = spend_of(row, peak, day)
        try:
            return priced(kind, spend, self._prices, None, name="a cost")[1]
        except InputError:  # a price that went after the run: unknown, and the exporter goes on
            return None

    # ---- what came of them

    def spent(self, *, grading_alone: bool) -> tuple[int, int]:
        """Micro-dollars and tokens that count against a budget."""
        kinds = {Kind.COMPUTE.value} if grading_alone else {Kind.LLM.value, Kind.COMPUTE.value}
        micro = sum(value for (_, kind), value in self.micro_dollars.items() if kind in kinds)
        return micro, 0 if grading_alone else sum(self._tokens.values())

    def values(self, running: int | None = None) -> Values:
        """Everything that the ledger alone tells.

        Args:
            running: jobs under way, where the driver tells.
        """
        sweep = self._sweep
        candidates: Counter[int] = Counter(self._verdicts.values())
        found: dict[str, dict[tuple[str, ...], float | Histogram]] = {
            "parsimony_jobs_total": {(sweep, k): v for k, v in (self._jobs + self._history.missing).items()},
            "parsimony_candidates": {(sweep, *pair): candidates[n] for pair, n in self._verdict_kinds.items()},
            "parsimony_attempts_total": {(sweep, k): v for k, v in self._attempts.items()},
            "parsimony_faults_total": {(sweep, k): v for k, v in self._faults.items()},
            "parsimony_retries_total": {(sweep, k): v for k, v in self._retries.items()},
            "parsimony_tokens_total": {(sweep, *k): v for k, v in self._tokens.items()},
            "parsimony_calls_total": {(sweep, k): v for k, v in self._calls.items()},
            "parsimony_cpu_seconds_total": {(sweep, *k): v for k, v in self._cpu.items()},
            "parsimony_container_seconds_total": {(sweep, k): v for k, v in self._wall.items()},
            "parsimony_cost_dollars_total": {(sweep, *k): v / 1e6 for k, v in self.micro_dollars.items()},
            "parsimony_attributed_cost_dollars_total": {(sweep, k): v / 1e6 for k, v in self._attributed.items()},
            "parsimony_unpriced_costs_total": {(sweep, *k): v for k, v in self._unpriced.items()},
            "parsimony_job_phase_seconds": {(sweep, k): v for k, v in self._phases.items()},
            "parsimony_image_pulls_total": {(sweep,): self._pulls},
        }
        return {**found, **self._history.values(sweep, running)}

    @property
    def elapsed(self) -> float:
        """Wall seconds of all commands that worked on the run; one that has not ended counts to its last attempt."""
        return elapsed(self._history.begun, self._history.told, sorted(self._ends))


def _day(at: Any) -> date | None:
    return None if at is None else datetime.fromtimestamp(epoch(at), UTC).date()
