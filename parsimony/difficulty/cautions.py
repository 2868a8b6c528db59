"""When a bank is too small to lean on: each rule with its number and where that comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np

from parsimony.difficulty.bank import Bank
from parsimony.difficulty.model import GRADIENT, Fitted
from parsimony.difficulty.stability import Stability

ENOUGH_AGENTS: Final = 10
"""For a band: with fewer, the error of a pass rate swamps the band (arXiv 2603.23749)."""
ENOUGH_RESPONDENTS: Final = 200
"""For the parameters of single tasks: from here on the two-parameter model recovers them well (Drasgow 1989)."""
ENOUGH_TO_RANK: Final = 5
"""n respondents come in the same or the opposite order by chance in 2 of n! cases: with five, 1.7 %; with four, 8 %."""
WIDE: Final = 1.0
"""A difficulty whose error is larger than the spread of abilities is imprecise."""
STRETCHED: Final = 0.15
"""A mean of ln a: discriminations are 16 % too large from the joint mode alone."""


def stretch_of(fitted: Fitted) -> float:
    """The mean of ln a over tasks; 0 where none is fitted."""
    return float(np.log(fitted.discrimination[fitted.fitted]).mean()) if fitted.fitted.any() else 0.0


def cautions(bank: Bank, fitted: Fitted, ranked: Stability, *, chosen_by_ranked: bool) -> Iterator[str]:
    """What to be careful about, in sentences.

    Args:
        bank: of the historical respondents. chosen_by_ranked: they chose the set on which they are ranked.
    """
    yield from _about_fit(fitted)
    agents, respondents = len(set(bank.agents)), len(bank.respondents)
    if agents < ENOUGH_AGENTS:
        error = 100 * math.sqrt(0.25 / agents)
        yield (
            f"{agents} historical agents; a band takes {ENOUGH_AGENTS} or more: with {agents}, a pass rate of 50 % has "
            f"an error of {error:.0f} points (arXiv 2603.23749)"
        )
    if respondents < ENOUGH_RESPONDENTS:
        errors = fitted.difficulty_se[fitted.fitted]
        wide = int((~(errors <= WIDE)).sum())
        yield (
            f"{respondents} respondents; parameters of single tasks take {ENOUGH_RESPONDENTS} (Drasgow 1989): {wide} "
            f"of {len(errors)} difficulties have an error above {WIDE:g}, and discriminations lean on their prior"
        )
    if ranked.compared < ENOUGH_TO_RANK:
        yield (
            f"{ranked.compared} respondents are ranked: fewer than {ENOUGH_TO_RANK} agree by chance in more than 5 % "
            f"of cases (2 of {ranked.compared}! orders)"
        )
    if chosen_by_ranked:
        yield "the ranked agents also chose the set; name those that are to be compared on it with --under-test"
    if not bank.known.all():
        missing = 100 * (1 - float(bank.known.mean()))
        yield f"{missing:.1f} % of cells are missing: means over unlike tasks are compared"


def _about_fit(fitted: Fitted) -> Iterator[str]:
    if fitted.gradient > GRADIENT:
        yield f"the fit did not converge: a derivative of {fitted.gradient:.2g} is left after {fitted.steps} steps"
    elif not fitted.converged:
        yield "the fit ended where there is no maximum, without standard errors: no one scale fits these data"
    stretch = stretch_of(fitted)
    if stretch > STRETCHED:
        yield (
            f"few tasks for so many respondents: the joint mode makes discriminations {math.exp(stretch):.2f} times as "
            f"large, draws abilities together, and makes their errors too small"
        )
