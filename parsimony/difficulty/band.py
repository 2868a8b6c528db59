"""The mid-range filter: tasks that historical agents neither nearly always nor nearly never solve.

Information of a task about an ability is a² P (1 - P): largest at P = 0.5, and at P = 0.3 or 0.7 still 84 % of that.
Source: arXiv 2603.23749.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from parsimony.difficulty.bank import Bank
from parsimony.errors import InputError

Floats = NDArray[np.float64]
_ROUNDING = 1e-12


class Place(StrEnum):
    """Where the pass rate of a task is."""

    NONE = "none solve it"
    HARD = "hard"
    MIDDLE = "mid-range"
    EASY = "easy"
    ALL = "all solve it"
    UNTRIED = "untried"


@dataclass(frozen=True, slots=True)
class Band:
    """From `low` to `high`, ends included."""

    low: float = 0.3
    high: float = 0.7

    @classmethod
    def parse(cls, text: str) -> Band:
        """`0.3:0.7`.

        Raises:
            InputError: it is something else.
        """
        low, _, high = text.partition(":")
        try:
            band = cls(float(low), float(high))
        except ValueError:
            band = cls(math.nan, math.nan)
        if not 0 <= band.low < band.high <= 1:
            raise InputError(f"is {text[:40]!r}", mend="write two rates from 0 to 1, like 0.3:0.7", field="--band")
        return band

    def place(self, rate: float) -> Place:
        """Where a pass rate is; NaN = nobody tried."""
        if math.isnan(rate):
            return Place.UNTRIED
        if rate <= _ROUNDING or rate >= 1 - _ROUNDING:
            return Place.NONE if rate < 0.5 else Place.ALL
        if rate < self.low - _ROUNDING:
            return Place.HARD
        return Place.EASY if rate > self.high + _ROUNDING else Place.MIDDLE


def pass_rates(bank: Bank) -> tuple[Floats, Floats]:
    """The mean share over respondents who tried, and its standard error √(p (1 - p) / agents), both (tasks,).

    The error counts agents, not respondents: seeds of one arm are no further agents. NaN where nobody tried.
    """
    tried = bank.known.sum(axis=0)
    agents = np.zeros(len(tried))
    for agent in dict.fromkeys(bank.agents):
        rows = [row for row, name in enumerate(bank.agents) if name == agent]
        agents += bank.known[rows].any(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates: Floats = bank.shares.sum(axis=0) / tried
        errors: Floats = np.sqrt(rates * (1 - rates) / agents)
    return rates, errors


def information(ability: Floats, difficulty: Floats, discrimination: Floats) -> Floats:
    """What each task tells about each ability, a² P (1 - P): (abilities, tasks). Abilities have an error of
    1 / √(1 + the sum over tasks)."""
    logits = discrimination * (ability[:, None] - difficulty)
    found: Floats = discrimination**2 * expit(logits) * expit(-logits)
    return found
