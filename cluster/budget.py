"""Budgets: what a run has spent, held against caps, so that nothing more is started when one is reached."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Any, Final

from cluster.costrows import check_prices, cost_rows
from cluster.ledger import LedgerReader
from cluster.plan import Work
from cluster.pricefile import read_prices
from cluster.rows import epoch
from cluster.sweep import Budget, Sweep
from cluster.teams import TeamAccount, Totals, read_team
from parsimony.cost_ledger import Kind, PriceTable
from parsimony.cost_ledger.entries import priced
from parsimony.cost_ledger.rows import RowKind
from parsimony.errors import InputError
from parsimony.execution import Execution
from parsimony.runs import Spend
from parsimony.tasks import Candidate

TEAM_EVERY_S: Final = 10.0
"""Seconds between two looks at what other runs of a team have spent."""


def check_budget(sweep: Sweep, candidates: Iterable[Candidate], prices: PriceTable) -> None:
    """Refuse a cap on what will not be known: a budget that counts the unknown as nothing is none.

    Raises:
        InputError: dollars or tokens are capped, and computing or a candidate has none; or the team's folder is wrong.
    """
    budget = sweep.budget
    if budget is None:
        return
    caps = [budget]
    if budget.team is not None:
        caps.append(read_team(budget.team).over(budget))
    today = datetime.now(UTC).date()
    rows = list(candidates) if budget.counts == "all" else []
    if any(one.dollars is not None for one in caps):
        if prices.processor(today) is None:
            mend = "name a price file with `compute:` in `prices:` (configs/prices/example.yaml is one)"
            raise InputError("caps dollars, but computing has no price", mend=mend, field="budget.dollars")
        check_prices(rows, prices, today)
        _refuse_untold(rows, "dollars", lambda one: one.usage is not None)
    if any(one.tokens is not None for one in caps):
        _refuse_untold(rows, "tokens", lambda one: one.usage is not None and one.usage.tokens is not None)


def _refuse_untold(candidates: Iterable[Candidate], what: str, told: Callable[[Candidate], bool]) -> None:
    for one in candidates:
        if not told(one):
            name = f"{one.instance_id}, arm {one.arm}, seed {one.seed} ({one.source})"
            grading = ", or cap grading alone with `counts: grading`" if what == "dollars" else ""
            mend = f"tell them in `usage` of every prediction, or take the cap away{grading}"
            raise InputError(f"caps {what}, but {name} does not tell its own", mend=mend, field=f"budget.{what}")


@dataclass(slots=True)
class Meter:
    """What a run has spent so far, and which cap it has reached.

    Attributes:
        spent: of earlier commands and this one, without the seconds of this one.
        since: when this command began.
        team: the shared account; None = no team.
    """

    budget: Budget
    prices: PriceTable
    work: Mapping[str, Work]
    spent: Totals = field(default_factory=Totals)
    since: float = 0.0
    team: TeamAccount | None = None
    clock: Callable[[], float] = time.time
    reason: str | None = None
    _team_at: float = float("-inf")

    @classmethod
    def open(
        cls,
        sweep: Sweep,
        run_id: str,
        reader: LedgerReader,
        work: Mapping[str, Work],
        since: float,
        *,
        shared: bool = True,
    ) -> Meter | None:
        """The meter of a run, with what its ledger says was spent before; None where the sweep has no budget.

        Args:
            since: epoch seconds at which this command began.
            shared: the account of the team is opened, too.
        """
        budget = sweep.budget
        if budget is None:
            return None
        prices = read_prices(sweep.prices)
        peaks = {x["execution_key"]: x["peak_memory_bytes"] for x in reader.rows("execution", list(_PEAKS))}
        meter = cls(budget, prices, work, since=since)
        for row in cost_rows(reader, peaks):
            meter._count(row.kind, row.spend, row.execution_key)
        meter.spent = replace(meter.spent, wall_seconds=wall_seconds(reader))
        if budget.team is not None and shared:
            meter.team = TeamAccount.open(budget.team, run_id)
        return meter

    def count(self, row: Mapping[str, Any], execution: Execution | None) -> None:
        """Take note of a new cost row."""
        spend = Spend(
            input_tokens=row.get("input_tokens") or 0,
            cached_tokens=row.get("cached_tokens") or 0,
            output_tokens=row.get("output_tokens") or 0,
            cpu_seconds=row["cpu_seconds"] or 0.0,
            wall_seconds=row["wall_seconds"] or 0.0,
            micro_dollars=row.get("micro_dollars"),
            model=row.get("model"),
            peak_memory_bytes=execution.usage.peak_memory_bytes if execution is not None else None,
            day=date.fromisoformat(row["day"]) if row.get("day") else None,
        )
        if execution is not None and execution.usage.cpu_seconds is None:
            spend = replace(spend, cpu_seconds=self._most(row["execution_key"], spend).cpu_seconds)
        self._count(RowKind(row["kind"]), spend, row["execution_key"])

    def _count(self, kind: RowKind, spend: Spend, key: str | None) -> None:
        if kind is RowKind.ATTRIBUTED or (kind is RowKind.LLM and self.budget.counts == "grading"):
            return
        self.spent = replace(
            self.spent,
            micro_dollars=self.spent.micro_dollars + self._dollars(kind, spend, key),
            tokens=self.spent.tokens + spend.tokens,
        )

    def _dollars(self, kind: RowKind, spend: Spend, key: str | None) -> int:
        day = spend.day or datetime.now(UTC).date()
        paid_for = Kind.LLM if kind is RowKind.LLM else Kind.COMPUTE
        if self.prices.empty:
            return spend.micro_dollars or 0
        micro = priced(paid_for, spend, self.prices, day, name=key or "a candidate")[1]
        if micro is None and paid_for is Kind.COMPUTE and self.prices.compute:
            # Memory has a price and nobody saw the peak: what was reserved counts.
            micro = priced(paid_for, self._most(key, spend), self.prices, day, name=key or "a grading")[1]
        return micro or 0

    def _most(self, key: str | None, spend: Spend) -> Spend:
        """What an execution may have used at most, in the time that it took."""
        if key is None or key not in self.work:
            return replace(spend, peak_memory_bytes=spend.peak_memory_bytes or 0)
        limits = self.work[key].limits
        peak = spend.peak_memory_bytes if spend.peak_memory_bytes is not None else limits.memory_bytes
        return replace(spend, cpu_seconds=spend.wall_seconds * (limits.cpus or 1.0), peak_memory_bytes=peak)

    def now(self) -> Totals:
        """What the run has spent until now."""
        seconds = self.spent.wall_seconds + max(0.0, self.clock() - self.since)
        return replace(self.spent, wall_seconds=seconds)

    def exhausted(self) -> str | None:
        """Which cap is reached, in words; None while none is. Once reached it stays so."""
        if self.reason is None:
            self.reason = next(self._reached(), None)
        return self.reason

    def _reached(self) -> Iterator[str]:
        spent = self.now()
        yield from _caps_reached(self.budget, spent, "budget", "")
        if self.team is not None:
            if self.clock() - self._team_at >= TEAM_EVERY_S:
                self.settle()
            account = self.team
            others = account.others
            yield from _caps_reached(
                account.file, spent.plus(others), f"{account.file_name}:", f" of the team {account.label}"
            )

    def settle(self) -> None:
        """Tell the team what this run has spent, and learn what others have."""
        if self.team is not None:
            self._team_at = self.clock()
            self.team.post(self.now())

    def as_json(self) -> dict[str, Any]:
        """Caps and what was spent, for the summary."""
        caps = {name: getattr(self.budget, name) for name in ("dollars", "tokens", "wall_time")}
        return {
            "caps": caps,
            "counts": self.budget.counts,
            "team": self.budget.team.label if self.budget.team is not None else None,
            "spent": self.now().as_json(),
            "exhausted": self.reason,
        }


_PEAKS: Final = ("execution_key", "peak_memory_bytes")


def _caps_reached(caps: Any, spent: Totals, place: str, whose: str) -> Iterator[str]:
    """A sentence for each cap that is reached, with the mend."""
    if caps.dollars is not None and spent.micro_dollars >= caps.dollars * 1_000_000:
        yield _sentence("dollars", f"${caps.dollars:,.2f}", f"${spent.micro_dollars / 1e6:,.4f}", place, whose)
    if caps.tokens is not None and spent.tokens >= caps.tokens:
        yield _sentence("tokens", f"{caps.tokens:,}", f"{spent.tokens:,}", place, whose)
    if caps.wall_time is not None and spent.wall_seconds >= caps.wall_time:
        yield _sentence("wall_time", f"{caps.wall_time:,.0f} s", f"{spent.wall_seconds:,.0f} s", place, whose)


def _sentence(name: str, cap: str, spent: str, place: str, whose: str) -> str:
    joint = "" if place.endswith(":") else "."
    where = f"{place}{joint}{' ' if not joint else ''}{name}"
    return f"the budget{whose} is exhausted: {name} {spent} of {cap}; raise `{where}` and give the same command again"


def wall_seconds(reader: LedgerReader) -> float:
    """Seconds of all commands that worked on a run. One that was killed counts to its last attempt."""
    begun: list[float] = []
    told: dict[int, float] = {}
    for row in reader.rows("event", ["at", "name", "data"]):
        if row["name"] in {"run.started", "run.resumed"}:
            begun.append(epoch(row["at"]))
        elif row["name"] == "run.ended" and begun:
            told[len(begun) - 1] = float(json.loads(row["data"])["wall_seconds"])
    ends = sorted(epoch(x["ended_at"]) for x in reader.rows("attempt", ["ended_at"]) if x["ended_at"] is not None)
    return elapsed(begun, told, ends)


def elapsed(begun: Sequence[float], told: Mapping[int, float], ends: Iterable[float]) -> float:
    """Seconds of several commands together.

    Args:
        begun: when each began. told: number of a command -> its seconds. ends: of attempts, in order.
    """
    total = 0.0
    for number, start in enumerate(begun):
        if number in told:
            total += told[number]
            continue
        until = begun[number + 1] if number + 1 < len(begun) else float("inf")
        total += max((end - start for end in ends if start <= end < until), default=0.0)
    return total
