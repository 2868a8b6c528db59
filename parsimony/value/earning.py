"""What an arm earned of what there was to earn: a task's payout is earned when the task is resolved, whole or not at
all (SWE-Lancer, arXiv:2502.12115)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from parsimony.statistics import Interval
from parsimony.value.pricelist import Worth

Key = tuple[str, int]
Span = tuple[int, int]
"""Micro-dollars if no missing verdict, and if every missing verdict, were resolved."""


@dataclass(frozen=True, slots=True)
class SeedEarned:
    """One seed of an arm. `missing`: planned candidates without a verdict; `resolved`: of those that have one."""

    seed: int
    earned: Span
    resolved: int
    missing: int


@dataclass(frozen=True, slots=True)
class Earning:
    """What an arm earned on some tasks. Units: micro-dollars.

    Attributes:
        kind: of the tasks; None = all of them.
        available: what resolving every task pays, once.
        seeds: each seed of the arm.
        interval: 95 % interval of the mean; None where the data cannot tell.
    """

    kind: str | None
    tasks: int
    available: int
    seeds: tuple[SeedEarned, ...]
    interval: Interval | None = None

    @property
    def total(self) -> Span:
        """Of all seeds together."""
        return sum(one.earned[0] for one in self.seeds), sum(one.earned[1] for one in self.seeds)

    @property
    def mean(self) -> tuple[Fraction, Fraction]:
        """Of a seed."""
        low, high = self.total
        return Fraction(low, len(self.seeds)), Fraction(high, len(self.seeds))

    @property
    def missing(self) -> int:
        """Planned candidates without a verdict."""
        return sum(one.missing for one in self.seeds)

    @property
    def rate(self) -> tuple[Fraction, Fraction] | None:
        """The dollar-weighted resolve rate, mean over available; None where there is nothing to earn."""
        low, high = self.mean
        return (low / self.available, high / self.available) if self.available else None

    @property
    def resolve_rate(self) -> tuple[float, float]:
        """The plain resolve rate on the same tasks, for the eye: every task counts the same."""
        planned = self.tasks * len(self.seeds)
        resolved = sum(one.resolved for one in self.seeds)
        return resolved / planned, (resolved + self.missing) / planned


def earning(
    tasks: Sequence[str],
    seeds: Sequence[int],
    verdicts: Mapping[Key, bool | None],
    worths: Mapping[str, Worth],
    kind: str | None = None,
) -> Earning:
    """Add up what an arm earned, without an interval.

    Args:
        tasks: one at least, each with a worth. seeds: of the arm, one at least.
        verdicts: by task and seed; one that is not there, or None, is missing.
    """
    return Earning(
        kind,
        len(tasks),
        sum(worths[task].micro_dollars for task in tasks),
        tuple(_seed(tasks, seed, verdicts, worths) for seed in seeds),
    )


def _seed(
    tasks: Sequence[str], seed: int, verdicts: Mapping[Key, bool | None], worths: Mapping[str, Worth]
) -> SeedEarned:
    found = [(verdicts.get((task, seed)), worths[task].micro_dollars) for task in tasks]
    sure = sum(pays for verdict, pays in found if verdict is True)
    open_ = sum(pays for verdict, pays in found if verdict is None)
    resolved = sum(verdict is True for verdict, _ in found)
    return SeedEarned(seed, (sure, sure + open_), resolved, sum(verdict is None for verdict, _ in found))


def by_task(
    tasks: Sequence[str],
    seeds: Sequence[int],
    verdicts: Mapping[Key, bool | None],
    worths: Mapping[str, Worth],
) -> tuple[list[Fraction], list[Fraction]]:
    """Mean micro-dollars over seeds of each task: if no missing verdict, and if every one, were resolved."""
    low, high = [], []
    for task in tasks:
        found = [verdicts.get((task, seed)) for seed in seeds]
        share = Fraction(worths[task].micro_dollars, len(seeds))
        low.append(share * sum(verdict is True for verdict in found))
        high.append(share * sum(verdict is not False for verdict in found))
    return low, high
