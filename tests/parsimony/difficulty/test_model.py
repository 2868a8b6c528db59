"""The fit: its optimum, its errors, what is left out, and what must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from parsimony.difficulty import Fitted, fit
from parsimony.difficulty.model import SPREAD

Floats = NDArray[np.float64]


def drawn(respondents: int, tasks: int, seed: int, trials: int = 1) -> tuple[Floats, Floats, tuple[Floats, ...]]:
    """Successes and trials from the model, and its ability, difficulty, discrimination."""
    random = np.random.default_rng(seed)
    ability, b, a = random.normal(size=respondents), random.normal(size=tasks), np.exp(random.normal(0, 0.5, tasks))
    chance = 1 / (1 + np.exp(-a * (ability[:, None] - b)))
    return random.binomial(trials, chance).astype(float), np.full(chance.shape, float(trials)), (ability, b, a)


def log_posterior(ability: Floats, b: Floats, a: Floats, successes: Floats, trials: Floats) -> float:
    """Term by term, as the reference states it."""
    total = -float((ability**2).sum()) / 2 - float((np.log(a) ** 2).sum()) / (2 * SPREAD**2)
    for i in range(len(ability)):
        for j in range(len(b)):
            chance = 1 / (1 + np.exp(-a[j] * (ability[i] - b[j])))
            total += successes[i, j] * np.log(chance) + (trials[i, j] - successes[i, j]) * np.log(1 - chance)
    return total


def numbers(found: Fitted) -> Floats:
    """Everything that a fit tells, in one row."""
    kept = found.fitted
    parts = (found.difficulty, found.difficulty_se, found.discrimination, found.discrimination_se)
    return np.concatenate([found.ability, found.ability_se, *(part[kept] for part in parts)])


def test_an_independent_optimiser_finds_the_same_mode() -> None:
    successes, trials, _ = drawn(6, 5, seed=2, trials=4)
    found = fit(successes, trials)
    assert found.fitted.all()
    assert found.converged

    def loss(at: Floats) -> float:
        return -log_posterior(at[:6], at[6:11], np.exp(at[11:]), successes, trials)

    theirs = minimize(loss, np.zeros(16), method="BFGS", options={"gtol": 1e-7})
    assert found.log_posterior == pytest.approx(-theirs.fun, abs=1e-8)
    ours = np.concatenate([found.ability, found.difficulty, np.log(found.discrimination)])
    assert ours == pytest.approx(theirs.x, abs=1e-4)


def test_errors_are_those_of_the_whole_observed_information() -> None:
    successes, trials, _ = drawn(5, 4, seed=7, trials=6)
    found = fit(successes, trials)
    at = np.concatenate([found.ability, found.difficulty, found.discrimination])

    def value(x: Floats) -> float:
        # With a itself as variable the prior of ln a is as it was: a mode in one is a mode in the other.
        return -log_posterior(x[:5], x[5:9], x[9:], successes, trials)

    step, size = 1e-4, len(at)
    hessian = np.empty((size, size))
    for one in range(size):
        for other in range(size):
            first, second = step * np.eye(size)[one], step * np.eye(size)[other]
            corners = value(at + first + second) - value(at + first - second)
            corners -= value(at - first + second) - value(at - first - second)
            hessian[one, other] = corners / (4 * step**2)
    errors = np.sqrt(np.diag(np.linalg.inv(hessian)))
    ours = np.concatenate([found.ability_se, found.difficulty_se, found.discrimination_se])
    assert ours == pytest.approx(errors, rel=1e-4)


@pytest.mark.parametrize(
    ("respondents", "tasks", "least"), [(30, 200, (0.97, 0.85, 0.5)), (200, 60, (0.93, 0.95, 0.75))]
)
def test_parameters_are_found_again(respondents: int, tasks: int, least: tuple[float, float, float]) -> None:
    successes, trials, (ability, b, a) = drawn(respondents, tasks, seed=11)
    found = fit(successes, trials)
    kept = found.fitted
    assert found.converged
    assert np.corrcoef(ability, found.ability)[0, 1] > least[0]
    assert np.corrcoef(b[kept], found.difficulty[kept])[0, 1] > least[1]
    assert np.corrcoef(np.log(a[kept]), np.log(found.discrimination[kept]))[0, 1] > least[2]


def test_tasks_that_all_or_none_solve_have_no_parameters_and_move_nothing() -> None:
    successes, trials, _ = drawn(8, 12, seed=3, trials=2)
    more = np.hstack([successes, np.zeros((8, 1)), trials[:, :1], np.zeros((8, 1))])
    tried = np.hstack([trials, trials[:, :1], trials[:, :1], np.zeros((8, 1))])
    first, second = fit(successes, trials), fit(more, tried)
    assert not second.fitted[-3:].any()
    assert np.isnan(second.difficulty[-3:]).all()
    assert np.isnan(second.discrimination_se[-3:]).all()
    assert second.ability == pytest.approx(first.ability, abs=1e-8)


def test_nothing_to_fit_leaves_the_prior() -> None:
    found = fit(np.zeros((3, 4)), np.ones((3, 4)))
    assert found.converged
    assert not found.fitted.any()
    assert list(found.ability) == [0, 0, 0]
    assert list(found.ability_se) == [1, 1, 1]


def test_who_tried_nothing_has_the_prior() -> None:
    successes, trials, _ = drawn(6, 20, seed=4)
    successes[2] = trials[2] = 0
    found = fit(successes, trials)
    assert found.ability[2] == pytest.approx(0, abs=1e-8)
    assert found.ability_se[2] == pytest.approx(1)
    assert found.ability_se[[0, 1, 3, 4, 5]].max() < 1


def test_a_cell_of_three_trials_is_three_cells_of_one() -> None:
    """As far as the likelihood goes: with fractions of the same trials nothing else changes."""
    successes, trials, _ = drawn(7, 9, seed=6, trials=3)
    shares = successes / trials
    whole, parts = fit(successes, trials), fit(3 * shares, np.full(trials.shape, 3.0))
    assert numbers(whole) == pytest.approx(numbers(parts), abs=1e-9)
    # More trials that say the same make abilities surer.
    assert (fit(4 * successes, 4 * trials).ability_se < whole.ability_se).all()


matrices = st.tuples(st.integers(2, 9), st.integers(1, 14), st.integers(0, 10_000), st.integers(1, 3))


@settings(max_examples=40, deadline=None)
@given(matrices)
def test_flipping_every_outcome_flips_abilities_and_difficulties(shape: tuple[int, int, int, int]) -> None:
    respondents, tasks, seed, number = shape
    successes, trials, _ = drawn(respondents, tasks, seed, number)
    first, second = fit(successes, trials), fit(trials - successes, trials)
    assert second.ability == pytest.approx(-first.ability, abs=1e-6)
    assert second.difficulty == pytest.approx(-first.difficulty, abs=1e-5, nan_ok=True)
    assert second.discrimination == pytest.approx(first.discrimination, abs=1e-6, nan_ok=True)
    assert second.ability_se == pytest.approx(first.ability_se, abs=1e-6, nan_ok=True)


@settings(max_examples=40, deadline=None)
@given(matrices, st.randoms(use_true_random=False))
def test_order_plays_no_part(shape: tuple[int, int, int, int], shuffled: object) -> None:
    respondents, tasks, seed, number = shape
    successes, trials, _ = drawn(respondents, tasks, seed, number)
    random = np.random.default_rng(seed)
    rows, columns = random.permutation(respondents), random.permutation(tasks)
    first, second = fit(successes, trials), fit(successes[rows][:, columns], trials[rows][:, columns])
    assert second.ability == pytest.approx(first.ability[rows], abs=1e-6)
    assert second.difficulty == pytest.approx(first.difficulty[columns], abs=1e-5, nan_ok=True)
    assert second.difficulty_se == pytest.approx(first.difficulty_se[columns], rel=1e-4, nan_ok=True)


def test_two_kinds_of_respondents_that_are_equal_and_opposite_have_no_scale() -> None:
    """Each kind solves what the other does not: the point half way between is a saddle, and told as no fit."""
    half = np.repeat([[1.0, 0.0]], 10, axis=0).ravel(order="F")
    successes = np.tile([half, 1 - half], (3, 1))
    found = fit(successes, np.ones(successes.shape))
    assert not found.converged
    assert np.isnan(found.ability_se).all()


@settings(max_examples=40, deadline=None)
@given(matrices)
def test_at_the_mode_abilities_are_centred_and_the_stretch_is_as_told(shape: tuple[int, int, int, int]) -> None:
    """Shifting θ and b together changes the prior of θ alone, scaling θ against a the two priors alone."""
    respondents, tasks, seed, number = shape
    successes, trials, _ = drawn(respondents, tasks, seed, number)
    found = fit(successes, trials)
    if not found.converged:  # a saddle of symmetric data
        return
    assert found.ability.sum() == pytest.approx(0, abs=1e-5)
    log_a = np.log(found.discrimination[found.fitted])
    assert log_a.sum() == pytest.approx(SPREAD**2 * float((found.ability**2).sum()), abs=1e-5)


@settings(max_examples=30, deadline=None)
@given(matrices, st.data())
def test_who_solves_more_is_abler(shape: tuple[int, int, int, int], data: st.DataObject) -> None:
    """Of two respondents who differ in one task, the one who solves it has the larger ability."""
    respondents, tasks, seed, number = shape
    successes, trials, _ = drawn(respondents, tasks, seed, number)
    task = data.draw(st.integers(0, tasks - 1))
    successes[1] = successes[0]
    successes[0, task], successes[1, task] = number, 0
    found = fit(successes, trials)
    assert found.ability[0] > found.ability[1]
