"""Looking at a comparison before it is complete, without paying for it with false positives: alpha spending.

Lan and DeMets (1983): a function says how much of alpha may be spent by which share of the information. The boundaries
follow from it by integrating the density of the score recursively over the looks (Armitage, McPherson, Rowe 1969).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    State = tuple[NDArray[np.float64], NDArray[np.float64]] | None
    # Points of the score within the last boundary, and the density there times the weight of each point (Simpson).

_NORMAL = NormalDist()
_POINTS: Final = 1201
_WIDEST: Final = 9.0


def obrien_fleming(share: float, alpha: float = 0.05) -> float:
    """Alpha spent by a share of the information, after O'Brien and Fleming: hardly any of it early.

    Half of it is spent on each side, as the usual tables have it.
    """
    return 4 - 4 * _NORMAL.cdf(_NORMAL.inv_cdf(1 - alpha / 4) / math.sqrt(share)) if share > 0 else 0.0


def pocock(share: float, alpha: float = 0.05) -> float:
    """Alpha spent by a share of the information, after Pocock: evenly."""
    return alpha * math.log1p((math.e - 1) * share)


SPENDING: Final[Mapping[str, Callable[[float, float], float]]] = {"obrien-fleming": obrien_fleming, "pocock": pocock}


def boundaries(
    shares: Sequence[float], alpha: float = 0.05, spending: Callable[[float, float], float] = obrien_fleming
) -> list[float]:
    """Two-sided boundaries of |z| at looks with these shares of the information.

    Args:
        shares: increasing, in (0, 1]. Only those up to now are needed: later looks do not change earlier boundaries.
    """
    if any(not 0 < share <= 1 for share in shares) or any(later <= earlier for earlier, later in pairwise(shares)):
        raise ValueError(f"shares {list(shares)} must increase within (0, 1]")
    from scipy.optimize import brentq  # noqa: PLC0415 - slow to load

    found: list[float] = []
    spent = 0.0
    state: State = None
    for number, share in enumerate(shares):
        allowed = max(0.0, spending(share, alpha) - spent)
        previous = shares[number - 1] if number else 0.0

        excess = partial(_excess, state, share, share - previous, allowed)
        bound = _WIDEST if excess(_WIDEST) >= 0 else float(brentq(excess, 0.0, _WIDEST, xtol=1e-10))
        spent += allowed
        found.append(bound)
        state = _continue(state, bound * math.sqrt(share), share - previous)
    return found


def nominal_alphas(
    shares: Sequence[float], alpha: float = 0.05, spending: Callable[[float, float], float] = obrien_fleming
) -> list[float]:
    """The p-value that a look must reach, two-sided: what `boundaries` means for a test that gives p-values."""
    return [2 * _NORMAL.cdf(-bound) for bound in boundaries(shares, alpha, spending)]


def _excess(state: State, share: float, step: float, allowed: float, bound: float) -> float:
    return _crossing(state, bound * math.sqrt(share), step) - allowed


def _crossing(state: State, edge: float, step: float) -> float:
    """P(no boundary was crossed before, and |score| > edge now); the score grew by a normal with variance `step`."""
    import numpy as np  # noqa: PLC0415 - slow to load
    from scipy.special import ndtr  # noqa: PLC0415 - slow to load

    if state is None:
        return float(2 * ndtr(-edge / math.sqrt(step)))
    points, mass = state
    spread = math.sqrt(step)
    return float(np.sum(mass * (ndtr((points - edge) / spread) + ndtr((-edge - points) / spread))))


def _continue(state: State, edge: float, step: float) -> State:
    """The density of the score within the boundary, after this look."""
    import numpy as np  # noqa: PLC0415 - slow to load

    points = np.linspace(-edge, edge, _POINTS)
    weights = np.ones(_POINTS)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    weights *= (points[1] - points[0]) / 3
    scale = 1 / math.sqrt(2 * math.pi * step)
    if state is None:
        density = scale * np.exp(-(points**2) / (2 * step))
    else:
        before, mass = state
        density = scale * np.exp(-((points[:, None] - before[None, :]) ** 2) / (2 * step)) @ mass
    return points, density * weights
