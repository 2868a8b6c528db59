"""The regression against golden values, against an independent optimiser, and on data that a threshold separates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from parsimony.horizon import Fits, fit

X = np.array([0.0, 1, 2, 3, 4, 5, 6, 7])
SUCCESSES = np.array([2.0, 1, 2, 1, 1, 0.5, 0, 0]) / 16
TOTALS = np.full(8, 2.0) / 16

# Worked out once by scipy.optimize.minimize(method="Nelder-Mead", xatol=1e-12, fatol=1e-16) on the same objective.
GOLDEN = {1e-5: (2.57680802, -0.79803055), 0.1: (2.14302873, -0.66695733)}


def one(successes: np.ndarray, totals: np.ndarray, regularization: float, x: np.ndarray = X) -> tuple[float, float]:
    found = fit(x, successes[None], totals[None], regularization)
    assert found.converged.all()
    return float(found.intercepts[0]), float(found.slopes[0])


def objective(line: np.ndarray, x: np.ndarray, successes: np.ndarray, totals: np.ndarray, penalty: float) -> float:
    """The penalised likelihood term by term, as it is defined."""
    loss = 0.0
    for place, success, total in zip(x, successes, totals, strict=True):
        logit = line[0] + line[1] * place
        loss += success * math.log1p(math.exp(-logit)) + (total - success) * math.log1p(math.exp(logit))
    return loss + penalty / 2 * float(line[1]) ** 2


@pytest.mark.parametrize("penalty", sorted(GOLDEN))
def test_golden_values(penalty: float) -> None:
    assert one(SUCCESSES, TOTALS, penalty) == pytest.approx(GOLDEN[penalty], abs=1e-6)


@pytest.mark.parametrize("penalty", [1e-5, 1e-3, 0.1, 10.0])
def test_an_independent_optimiser_finds_the_same(penalty: float) -> None:
    random = np.random.default_rng(3)
    x = random.uniform(-2, 9, 30)
    totals = random.uniform(0.1, 1, 30) / 30
    successes = totals * (random.random(30) < 1 / (1 + np.exp(0.8 * (x - 3))))
    theirs = minimize(
        objective, [0.0, 0.0], args=(x, successes, totals, penalty), method="BFGS", options={"gtol": 1e-9}
    )
    assert one(successes, totals, penalty, x) == pytest.approx(tuple(theirs.x), abs=1e-5)


def test_the_penalty_shrinks_the_slope_and_leaves_the_intercept_free() -> None:
    slopes = [one(SUCCESSES, TOTALS, penalty)[1] for penalty in (1e-5, 1e-2, 1.0, 1e6)]
    assert slopes == sorted(slopes)
    intercept, slope = one(SUCCESSES, TOTALS, 1e9)
    assert slope == pytest.approx(0, abs=1e-8)
    assert 1 / (1 + math.exp(-intercept)) == pytest.approx(SUCCESSES.sum() / TOTALS.sum())


@pytest.mark.parametrize("penalty", [1e-9, 1e-5, 1e-2])
def test_separated_data_converge_between_the_two_sides(penalty: float) -> None:
    totals = np.full(8, 1 / 8)
    intercept, slope = one(totals * (X < 4), totals, penalty)
    assert slope < 0
    assert -intercept / slope == pytest.approx(3.5, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(-5, 15), st.floats(0, 1), st.floats(0.01, 5)), min_size=3, max_size=12),
    st.sampled_from([1e-6, 1e-5, 1e-2, 1.0]),
)
def test_the_gradient_is_zero_and_sets_do_not_touch_each_other(
    rows: list[tuple[float, float, float]], penalty: float
) -> None:
    x, share, totals = (np.array(column) for column in zip(*rows, strict=True))
    totals = totals / totals.sum()
    successes = totals * (0.05 + 0.9 * share)
    both: Fits = fit(x, np.stack([successes, totals - successes]), np.stack([totals, totals]), penalty)
    assert both.converged.all()
    logits = both.intercepts[0] + both.slopes[0] * x
    excess = totals / (1 + np.exp(-logits)) - successes
    assert excess.sum() == pytest.approx(0, abs=1e-9)
    assert excess @ x + penalty * both.slopes[0] == pytest.approx(0, abs=1e-8)
    # What succeeds fails in the other set: its line is the mirror image.
    assert both.slopes[1] == pytest.approx(-both.slopes[0], rel=1e-6, abs=1e-8)
    assert both.intercepts[1] == pytest.approx(-both.intercepts[0], rel=1e-6, abs=1e-7)
