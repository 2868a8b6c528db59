"""Everything about a bank of tasks: the fit, the mid-range set, what it saves, whether ranks survive, warnings."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from parsimony.difficulty.band import Band, Place, information, pass_rates
from parsimony.difficulty.bank import Bank
from parsimony.difficulty.cautions import WIDE, cautions, stretch_of
from parsimony.difficulty.model import Fitted, fit
from parsimony.difficulty.stability import Stability, stability
from parsimony.errors import InputError

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Options:
    """How to analyse.

    Attributes:
        under_test: agents that are ranked, but are no history: they take no part in pass rates and fit.
        draws: of tasks, for the intervals of rank correlations.
    """

    band: Band = field(default_factory=Band)
    under_test: tuple[str, ...] = ()
    draws: int = 1000
    seed: int = 0

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            InputError: names the option.
        """
        if not 0 <= self.draws <= 100_000:
            raise InputError.wrong("--draws", self.draws, "from 0 to 100000")
        if not 0 <= self.seed < 2**32:
            raise InputError.wrong("--seed", self.seed, "from 0 to 2^32 - 1")


@dataclass(frozen=True, slots=True)
class Item:
    """A task.

    Attributes:
        rate, rate_se: its pass rate over historical respondents; None where none tried it.
        difficulty, discrimination: and their errors; None where they cannot be told.
        information: about the mean ability of the historical respondents; 0 where all or none solve it.
        imprecise: the error of its difficulty is larger than 1, the spread of abilities, or unknown.
    """

    task_id: str
    rate: float | None
    rate_se: float | None
    place: Place
    trials: float
    difficulty: float | None
    difficulty_se: float | None
    discrimination: float | None
    discrimination_se: float | None
    information: float
    imprecise: bool


@dataclass(frozen=True, slots=True)
class Respondent:
    """A respondent. `ability` and its error are None where it is under test: it took no part in the fit."""

    name: str
    agent: str
    tasks: int
    ability: float | None
    ability_se: float | None


@dataclass(frozen=True, slots=True)
class Difficulty:
    """What a bank of tasks is.

    Attributes:
        items: in the order of the bank; respondents likewise.
        agents: how many historical agents there are.
        stretch: the mean of ln a, which at the mode is 0.25 · Σ θ² / tasks: by so much the joint mode draws abilities
            together and discriminations up. Near 0 where tasks are many more than respondents.
        kept_information: the share of all information about the mean ability that the mid-range set holds.
        warnings: why not to lean on it.
    """

    items: tuple[Item, ...]
    respondents: tuple[Respondent, ...]
    agents: int
    band: Band
    converged: bool
    steps: int
    gradient: float
    stretch: float
    kept_information: float | None
    stability: Stability
    warnings: tuple[str, ...]

    @property
    def selected(self) -> tuple[str, ...]:
        """The tasks of the mid-range set."""
        return tuple(item.task_id for item in self.items if item.place is Place.MIDDLE)


def analyse(bank: Bank, options: Options | None = None) -> Difficulty:
    """Analyse a bank. The order of its responses plays no part.

    Raises:
        InputError: an option cannot be, or fewer than two historical respondents are there.
    """
    options = options or Options()
    options.check()
    history = _history(bank, options.under_test)
    past = bank.of(history)
    fitted = fit(past.successes, past.trials)
    told = _information(fitted)
    items = tuple(_items(past, fitted, told, options.band))
    chosen = np.array([item.place is Place.MIDDLE for item in items])
    ranked = stability(bank, chosen, options.draws, options.seed)
    total = float(told.sum())
    agents = len(set(past.agents))
    return Difficulty(
        items,
        tuple(_respondents(bank, history, fitted)),
        agents,
        options.band,
        fitted.converged,
        fitted.steps,
        fitted.gradient,
        stretch_of(fitted),
        float(told[chosen].sum()) / total if total else None,
        ranked,
        tuple(cautions(past, fitted, ranked, chosen_by_ranked=not options.under_test and bool(chosen.any()))),
    )


def _history(bank: Bank, under_test: Collection[str]) -> list[int]:
    """The rows of historical respondents."""
    unknown = [name for name in under_test if name not in bank.agents]
    if unknown:
        mend = f"agents are {', '.join(dict.fromkeys(bank.agents))[:300]}"
        raise InputError(f"names {unknown[0]!r}, which is none", mend=mend, field="--under-test")
    rows = [row for row, agent in enumerate(bank.agents) if agent not in under_test]
    if len(rows) < 2:
        mend = "give more arms, seeds (--respondent arm-seed) or responses of others (--responses)"
        raise InputError(f"{len(rows)} historical respondents tell nothing about tasks", mend=mend)
    return rows


def _information(fitted: Fitted) -> Floats:
    """Of each task about the mean ability, (tasks,); 0 where all or none solve it."""
    told = np.zeros(len(fitted.fitted))
    one = np.array([fitted.ability.mean()])
    told[fitted.fitted] = information(one, fitted.difficulty[fitted.fitted], fitted.discrimination[fitted.fitted])[0]
    return told


def _items(bank: Bank, fitted: Fitted, told: Floats, band: Band) -> Iterator[Item]:
    rates, errors = pass_rates(bank)
    trials = bank.trials.sum(axis=0)
    for column, name in enumerate(bank.tasks):
        error = _number(fitted.difficulty_se[column])
        yield Item(
            name,
            _number(rates[column]),
            _number(errors[column]),
            band.place(float(rates[column])),
            float(trials[column]),
            _number(fitted.difficulty[column]),
            error,
            _number(fitted.discrimination[column]),
            _number(fitted.discrimination_se[column]),
            float(told[column]),
            error is None or error > WIDE,
        )


def _respondents(bank: Bank, history: list[int], fitted: Fitted) -> Iterator[Respondent]:
    rows = {row: place for place, row in enumerate(history)}
    for row, name in enumerate(bank.respondents):
        place = rows.get(row)
        ability, error = (
            (None, None) if place is None else (_number(fitted.ability[place]), _number(fitted.ability_se[place]))
        )
        yield Respondent(name, bank.agents[row], int(bank.known[row].sum()), ability, error)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
