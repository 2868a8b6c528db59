"""The two-parameter logistic model of item response theory, fitted to its posterior mode.

P(i solves j) = 1 / (1 + exp(-a_j (θ_i - b_j))): θ the ability of a respondent, b the difficulty of a task (the ability
at which it is solved half the time), a > 0 its discrimination. What is maximised is Σ y ln P + (1 - y) ln(1 - P) over
all trials, with θ ~ N(0, 1) and ln a ~ N(0, 0.5²); b has no prior. Sources: Birnbaum 1968; Mislevy 1986 for priors.

A task that all or none solve has no finite b: with b at infinity it says nothing about anybody, so leaving it out is
the maximum, and it is left out. The scale is fixed by the priors: flipping all outcomes flips the signs of θ and b.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import expit

Floats = NDArray[np.float64]

SPREAD: Final = 0.5
"""Standard deviation of ln a in its prior: 95 % of discriminations from 0.38 to 2.7 (the default of BILOG)."""
STEPS: Final = 2000
GRADIENT: Final = 1e-6
"""The fit has converged when no derivative of the log posterior is larger."""
_NEWTON_STEPS: Final = 50


@dataclass(frozen=True, slots=True)
class Fitted:
    """The mode and its uncertainty. NaN where a task cannot be fitted.

    Attributes:
        ability, ability_se: (respondents,).
        difficulty, difficulty_se, discrimination, discrimination_se: (tasks,). Errors are from the observed information
            of everything together, so that of a task holds the uncertainty of the abilities; NaN for all where that
            information is not positive definite.
        fitted: (tasks,) whether a task is solved by some and not by all.
        converged, steps, gradient: of the optimiser; the gradient is the largest derivative at the end. A saddle,
            where the information is not positive definite, is not converged either.
        log_posterior: at the mode, up to a constant.
    """

    ability: Floats
    ability_se: Floats
    difficulty: Floats
    difficulty_se: Floats
    discrimination: Floats
    discrimination_se: Floats
    fitted: NDArray[np.bool_]
    converged: bool
    steps: int
    gradient: float
    log_posterior: float


def fit(successes: Floats, trials: Floats) -> Fitted:
    """Fit by L-BFGS and then Newton steps. The order of respondents and tasks plays no part, up to rounding.

    Args:
        successes, trials: (respondents, tasks); cells without trials are missing.
    """
    solved, tried = successes.sum(axis=0), trials.sum(axis=0)
    fitted = (solved > 0) & (solved < tried)
    posterior = _Posterior(successes[:, fitted], trials[:, fitted])
    found, steps = posterior.maximise()
    variances = posterior.variances(found)
    ability, log_a, shift = posterior.split(found)
    gradient = float(np.abs(posterior.slope(found)).max(initial=0.0))
    a = np.exp(log_a)
    whole = np.full((4, len(fitted)), np.nan)
    whole[0, fitted], whole[1, fitted] = -shift / a, a
    # b = -shift / a. At the mode the gradient is 0, so the information changes with the variables like a tensor.
    whole[2, fitted] = np.sqrt(_difficulty_variance(variances.items, a, shift))
    whole[3, fitted] = a * np.sqrt(variances.items[:, 0, 0])
    return Fitted(
        ability,
        np.sqrt(variances.abilities),
        whole[0],
        whole[2],
        whole[1],
        whole[3],
        fitted,
        gradient <= GRADIENT and bool(np.isfinite(variances.abilities).all()),
        steps,
        gradient,
        -posterior.value(found),
    )


def _difficulty_variance(items: Floats, a: Floats, shift: Floats) -> Floats:
    """The variance of b from the covariance of (ln a, shift), (tasks, 2, 2): db = (shift dln a - dshift) / a."""
    variance: Floats = (shift**2 * items[:, 0, 0] - 2 * shift * items[:, 0, 1] + items[:, 1, 1]) / a**2
    return variance


@dataclass(frozen=True, slots=True)
class _Variances:
    """Of abilities, (respondents,), and the covariance of (ln a, shift) of each task, (tasks, 2, 2)."""

    abilities: Floats
    items: Floats


@dataclass(frozen=True, slots=True)
class _Information:
    """Minus the second derivatives: the diagonal of abilities (respondents,), a block per task (tasks, 2, 2), and what
    tasks and abilities have in common (tasks, 2, respondents)."""

    abilities: Floats
    items: Floats
    across: Floats


@dataclass(frozen=True, slots=True)
class _Posterior:
    """Minus the log posterior in θ, ln a and shift = -a b, in which the logit is a θ + shift."""

    successes: Floats = field(repr=False)
    trials: Floats = field(repr=False)

    def split(self, at: Floats) -> tuple[Floats, Floats, Floats]:
        """θ, ln a, shift."""
        respondents, tasks = self.trials.shape
        return at[:respondents], at[respondents : respondents + tasks], at[respondents + tasks :]

    def start(self) -> Floats:
        """Where to begin: logits of smoothed rates."""
        rows = _logit(self.successes.sum(axis=1), self.trials.sum(axis=1))
        spread = float(rows.std()) if len(rows) else 0.0
        ability = (rows - rows.mean()) / spread if spread > 1e-9 else np.zeros(len(rows))
        tasks = self.trials.shape[1]
        return np.concatenate([ability, np.zeros(tasks), _logit(self.successes.sum(axis=0), self.trials.sum(axis=0))])

    def logits(self, at: Floats) -> Floats:
        """(respondents, tasks)."""
        ability, log_a, shift = self.split(at)
        logits: Floats = ability[:, None] * np.exp(log_a) + shift
        return logits

    def value(self, at: Floats) -> float:
        """Minus the log posterior, without constants."""
        ability, log_a, _ = self.split(at)
        logits = self.logits(at)
        loss = self.successes * np.logaddexp(0.0, -logits) + (self.trials - self.successes) * np.logaddexp(0.0, logits)
        return float(loss.sum() + (ability @ ability) / 2 + (log_a @ log_a) / (2 * SPREAD**2))

    def slope(self, at: Floats) -> Floats:
        """Its gradient."""
        ability, log_a, _ = self.split(at)
        a = np.exp(log_a)
        excess = self.trials * expit(self.logits(at)) - self.successes
        return np.concatenate([excess @ a + ability, a * (ability @ excess) + log_a / SPREAD**2, excess.sum(axis=0)])

    def information(self, at: Floats) -> _Information:
        """Its second derivatives."""
        ability, log_a, _ = self.split(at)
        a, logits = np.exp(log_a), self.logits(at)
        excess = self.trials * expit(logits) - self.successes
        curve = self.trials * expit(logits) * expit(-logits)
        tilt = a * (ability[:, None] * curve)
        items = np.empty((len(a), 2, 2))
        items[:, 0, 0] = (ability[:, None] * (a * tilt + a * excess)).sum(axis=0) + 1 / SPREAD**2
        items[:, 0, 1] = items[:, 1, 0] = tilt.sum(axis=0)
        items[:, 1, 1] = curve.sum(axis=0)
        across = np.stack([(a * tilt + a * excess).T, (a * curve).T], axis=1)
        return _Information(curve @ a**2 + 1, items, across)

    def maximise(self) -> tuple[Floats, int]:
        """The mode, and how many steps it took."""
        if not self.trials.shape[1]:
            return np.zeros(self.trials.shape[0]), 0
        options = {"maxiter": STEPS, "maxfun": 2 * STEPS, "ftol": 1e-14, "gtol": 1e-5, "maxcor": 20}
        rough = minimize(self.value, self.start(), jac=self.slope, method="L-BFGS-B", options=options)
        at, steps = np.asarray(rough.x, dtype=float), int(rough.nit)
        for _ in range(_NEWTON_STEPS):
            slope = self.slope(at)
            if np.abs(slope).max() <= 1e-10:
                break
            step = self._newton_step(at, slope)
            if step is None:
                break
            at, steps = at + step, steps + 1
        return at, steps

    def _newton_step(self, at: Floats, slope: Floats) -> Floats | None:
        """A step that lowers the value, halved where it must be; None where there is none (rounding, or no bowl)."""
        solved = _solve(self.information(at), slope)
        if solved is None:
            return None
        before, size = self.value(at), 1.0
        flat = np.abs(slope).max() <= GRADIENT  # here the value's own rounding hides the gain: the gradient decides
        while size > 1e-6:
            step = -size * solved
            if self.value(at + step) < before:
                return step
            if flat and np.abs(self.slope(at + step)).max() < np.abs(slope).max():
                return step
            size /= 2
        return None

    def variances(self, at: Floats) -> _Variances:
        """The inverse of the observed information, by abilities and by tasks."""
        respondents, tasks = self.trials.shape
        one = self.information(at)
        parts = _eliminate(one)
        if parts is None:
            return _Variances(np.full(respondents, np.nan), np.full((tasks, 2, 2), np.nan))
        inverse, pulled, factor = parts
        covariance = cho_solve(factor, np.eye(respondents))
        items = inverse + pulled @ covariance @ np.swapaxes(pulled, 1, 2)
        return _Variances(np.diag(covariance).copy(), items)


def _logit(successes: Floats, trials: Floats) -> Floats:
    logits: Floats = np.log((successes + 0.5) / (trials - successes + 0.5))
    return logits


def _eliminate(one: _Information) -> tuple[Floats, Floats, tuple[Floats, bool]] | None:
    """Blocks of tasks inverted, times what they share with abilities, and the Cholesky factor of what is left for the
    abilities (the Schur complement); None where the information is not positive definite."""
    determinant = one.items[:, 0, 0] * one.items[:, 1, 1] - one.items[:, 0, 1] ** 2
    if not (np.all(determinant > 0) and np.all(one.items[:, 1, 1] > 0)):
        return None
    inverse = np.empty_like(one.items)
    inverse[:, 0, 0], inverse[:, 1, 1] = one.items[:, 1, 1], one.items[:, 0, 0]
    inverse[:, 0, 1] = inverse[:, 1, 0] = -one.items[:, 0, 1]
    inverse /= determinant[:, None, None]
    pulled = inverse @ one.across
    respondents = len(one.abilities)
    left = np.diag(one.abilities) - one.across.reshape(-1, respondents).T @ pulled.reshape(-1, respondents)
    try:
        return inverse, pulled, cho_factor(left)
    except LinAlgError:
        return None


def _solve(one: _Information, slope: Floats) -> Floats | None:
    """The information's inverse times a gradient."""
    parts = _eliminate(one)
    if parts is None:
        return None
    inverse, pulled, factor = parts
    respondents, tasks = len(one.abilities), len(one.items)
    of_tasks = slope[respondents:].reshape(2, tasks).T
    ability = cho_solve(factor, slope[:respondents] - np.einsum("jai,ja->i", pulled, of_tasks))
    items = np.einsum("jab,jb->ja", inverse, of_tasks) - pulled @ ability
    return np.concatenate([ability, items.T.ravel()])
