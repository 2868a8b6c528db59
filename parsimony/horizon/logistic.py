"""Weighted logistic regression on one variable, for many data sets of the same tasks at once.

It minimises what scikit-learn's `LogisticRegression` with an L2 penalty and `C = 1 / regularization` minimises, up to
the factor C: the weighted log loss + regularization / 2 · slope², the intercept not penalised.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

STEPS: Final = 200
"""Newton steps at most; data that a threshold separates take about fifty, others less than ten."""
_TOLERANCE: Final = 1e-10
_ROUNDING: Final = 1e-15
_HALVINGS: Final = 40
_BLOCK: Final = 500_000
"""Cells of data sets fitted at once, at 8 bytes each and some ten arrays."""


@dataclass(frozen=True, slots=True)
class Fits:
    """One line on the logit scale per data set: logit P = intercept + slope · x.

    Attributes:
        intercepts, slopes, converged: (sets,).
    """

    intercepts: Floats
    slopes: Floats
    converged: NDArray[np.bool_]


def fit(x: Floats, successes: Floats, totals: Floats, regularization: float) -> Fits:
    """Fit by Newton's method with halved steps, which the convex objective makes certain.

    Args:
        x: (tasks,).
        successes, totals: (sets, tasks), the weight of successes and of all runs of each task. A set must have both
            successes and failures: without, there is no finite intercept.
        regularization: λ > 0, on the scale of the weights.
    """
    block = max(1, _BLOCK // max(len(x), 1))
    parts = [
        _fit(x, successes[start : start + block], totals[start : start + block], regularization)
        for start in range(0, len(successes), block)
    ]
    join = np.concatenate
    return Fits(
        join([part.intercepts for part in parts]),
        join([part.slopes for part in parts]),
        join([part.converged for part in parts]),
    )


def _fit(x: Floats, successes: Floats, totals: Floats, regularization: float) -> Fits:
    """All sets at once. x is centred meanwhile: the intercept is free, so this changes the conditioning alone."""
    middle = float(x.mean())
    centred = x - middle
    rate = successes.sum(axis=1) / totals.sum(axis=1)
    found = np.stack([np.log(rate / (1 - rate)), np.zeros_like(rate)])
    loss = _loss(found, centred, successes, totals, regularization)
    converged = np.zeros(len(rate), dtype=bool)
    for _ in range(STEPS):
        step, gain = _newton_step(found, centred, successes, totals, regularization)
        # Where the objective is so flat that no step can be told from rounding, the loss says that it is the end.
        converged = np.all(np.abs(step) <= _TOLERANCE * (1 + np.abs(found)), axis=0) | (gain <= _ROUNDING * loss)
        size = np.ones(len(rate))
        for _ in range(_HALVINGS):
            tried = _loss(found + size * step, centred, successes, totals, regularization)
            worse = tried > loss + 1e-14 * np.abs(loss)
            if not worse.any():
                break
            size[worse] /= 2
        found, loss = found + size * step, tried
        if converged.all():
            break
    return Fits(found[0] - found[1] * middle, found[1], converged)


def _loss(found: Floats, x: Floats, successes: Floats, totals: Floats, regularization: float) -> Floats:
    """The objective of each set, (sets,)."""
    logits = found[0][:, None] + found[1][:, None] * x
    # Successes and failures apart: their difference would lose what is left near a perfect fit.
    losses = (successes * np.logaddexp(0.0, -logits) + (totals - successes) * np.logaddexp(0.0, logits)).sum(axis=1)
    penalised: Floats = losses + regularization / 2 * found[1] ** 2
    return penalised


def _newton_step(
    found: Floats, x: Floats, successes: Floats, totals: Floats, regularization: float
) -> tuple[Floats, Floats]:
    """Minus the inverse Hessian times the gradient, (2, sets), and what it gains on a parabola, (sets,)."""
    logits = found[0][:, None] + found[1][:, None] * x
    chance, other = expit(logits), expit(-logits)
    excess = (totals - successes) * chance - successes * other
    curve = totals * chance * other
    down, right = excess.sum(axis=1), excess @ x + regularization * found[1]
    a, b, c = curve.sum(axis=1), curve @ x, curve @ x**2 + regularization
    determinant = np.maximum(a * c - b * b, np.finfo(np.float64).tiny)
    step: Floats = -np.stack([c * down - b * right, a * right - b * down]) / determinant
    return step, -(down * step[0] + right * step[1]) / 2
