"""The time horizon of an arm: the human time of tasks that it solves with a chance of one half, after METR.

P(success | t) = 1 / (1 + exp(-(intercept + slope · log2 t))), t in minutes; the horizon for p is
2 ^ ((ln(p / (1 - p)) - intercept) / slope). Source: Kwa et al. 2025, arXiv 2503.14499.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from parsimony.errors import InputError
from parsimony.horizon.logistic import Fits, fit
from parsimony.horizon.observations import TimedTask
from parsimony.horizon.resampling import draw

Floats = NDArray[np.float64]
Interval = tuple[float, float | None]
"""Minutes; None = no upper bound can be told."""

FALLING: Final = -1e-9
"""A slope above this is none: of data without a trend it is 0 up to rounding."""
_CURVE: Final = 81


class Weighting(StrEnum):
    """What a run of a task weighs: 1 / runs of the task, or that / the square root of the tasks of its family."""

    EQUAL_TASK = "equal-task"
    INVSQRT = "invsqrt"


class State(StrEnum):
    """Whether there is a horizon."""

    ESTIMATED = "estimated"
    ALL_FAIL = "all fail"
    ALL_SUCCEED = "all succeed"
    NOT_FALLING = "not falling"


@dataclass(frozen=True, slots=True)
class Options:
    """How to estimate.

    Attributes:
        regularization: λ of the penalty on the slope. The weights sum to 1, so it must be tiny, else the slope shrinks.
        draws: of the bootstrap; 0 = no intervals. level: of the intervals.
    """

    weighting: Weighting = Weighting.INVSQRT
    regularization: float = 1e-5
    draws: int = 1000
    seed: int = 0
    level: float = 0.95

    def check(self) -> None:
        """Refuse what cannot be.

        Raises:
            InputError: names the option.
        """
        if not 0 < self.regularization < math.inf:
            raise InputError.wrong("--regularization", self.regularization, "more than 0 and finite")
        if not 0 <= self.draws <= 100_000:
            raise InputError.wrong("--bootstrap", self.draws, "from 0 to 100000")
        if not 0 <= self.seed < 2**63:
            raise InputError.wrong("--seed", self.seed, "from 0 to 2^63 - 1")
        if not 0.8 <= self.level < 1:
            raise InputError.wrong("level", self.level, "at least 0.8 and less than 1")


@dataclass(frozen=True, slots=True)
class Bin:
    """Tasks of about the same time: their weighted mean score. Minutes: from `low` up to `high`."""

    low: float
    high: float
    tasks: int
    rate: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The fitted chance of success over minutes, with a pointwise band of the draws (None without draws)."""

    minutes: tuple[float, ...]
    chance: tuple[float, ...]
    band: tuple[tuple[float, ...], tuple[float, ...]] | None


@dataclass(frozen=True, slots=True)
class Horizon:
    """What was estimated.

    Attributes:
        reason: in words, why there is no horizon; "" where there is one.
        intercept, slope: on log2 minutes; None unless they were fitted.
        h50, h80: minutes; None where there is none.
        interval50, interval80: of the bootstrap's percentiles; None without draws or horizon.
        undefined: share of draws whose slope is not negative. They count as 0 at the lower end and as unbounded at the
            upper one: an interval may not be narrow because they were dropped.
        separated: every task that has a success takes less time than every one that has a failure: where between the
            two the horizon lies is then a matter of the penalty.
        notes: what a reader must know.
    """

    state: State
    reason: str
    tasks: int
    families: int
    runs: int
    rate: float
    shortest: float
    longest: float
    intercept: float | None = None
    slope: float | None = None
    h50: float | None = None
    h80: float | None = None
    interval50: Interval | None = None
    interval80: Interval | None = None
    undefined: float | None = None
    separated: bool = False
    bins: tuple[Bin, ...] = ()
    curve: Curve | None = None
    notes: tuple[str, ...] = ()


def estimate(tasks: Sequence[TimedTask], options: Options | None = None) -> Horizon:
    """The horizon of one arm. The order of tasks and scores plays no part.

    Raises:
        InputError: no tasks, a task twice, or an option that cannot be.
    """
    options = options or Options()
    options.check()
    tasks = sorted(tasks, key=lambda task: (task.family, task.task_id))
    if not tasks:
        raise InputError("there is no task with a time and a verdict", mend="tell minutes of tasks that were graded")
    if len({task.task_id for task in tasks}) < len(tasks):
        raise InputError("a task is there twice", mend="put all runs of a task together", field="task_id")
    return _Estimation(tasks, options).result()


def run_weights(tasks: Sequence[TimedTask], weighting: Weighting) -> Floats:
    """What one run of each task weighs, (tasks,); over all runs they sum to 1."""
    runs = np.array([len(task.scores) for task in tasks], dtype=float)
    weights = 1 / runs
    if weighting is Weighting.INVSQRT:
        sizes = Counter(task.family for task in tasks)
        weights /= np.sqrt([sizes[task.family] for task in tasks])
    normalised: Floats = weights / float(weights @ runs)
    return normalised


class _Estimation:
    def __init__(self, tasks: Sequence[TimedTask], options: Options) -> None:
        self.tasks, self.options = tasks, options
        self.log_minutes = np.log2([task.minutes for task in tasks])
        self.weights = run_weights(tasks, options.weighting)
        self.totals = self.weights * [len(task.scores) for task in tasks]
        self.successes = self.weights * [math.fsum(task.scores) for task in tasks]

    def result(self) -> Horizon:
        """See `estimate`."""
        scores = {score for task in self.tasks for score in task.scores}
        if scores == {0.0}:
            return self._none(State.ALL_FAIL, "nothing succeeds: the horizon is below every task (METR counts it as 0)")
        if scores == {1.0}:
            return self._none(State.ALL_SUCCEED, "everything succeeds: the horizon is beyond every task")
        if np.ptp(self.log_minutes) == 0:
            return self._none(State.NOT_FALLING, "all tasks take the same time: nothing can be told about others")
        one = fit(self.log_minutes, self.successes[None], self.totals[None], self.options.regularization)
        intercept, slope = float(one.intercepts[0]), float(one.slopes[0])
        h50, h80 = (float(horizons(one, chance)[0]) for chance in (0.5, 0.8))
        if not slope < FALLING or not math.isfinite(h50):
            reason = f"success does not fall with time (slope {slope:+.3g} per doubling of it)"
            return self._none(State.NOT_FALLING, reason, intercept, slope)
        return self._with_draws(one, h50, h80)

    def _with_draws(self, one: Fits, h50: float, h80: float) -> Horizon:
        drawn = self._draws() if self.options.draws else None
        level = self.options.level
        ends = [_interval(horizons(drawn, chance), level) if drawn else None for chance in (0.5, 0.8)]
        undefined = float(np.mean(np.isnan(horizons(drawn, 0.5)))) if drawn else None
        separated = self._separated()
        return self._horizon(
            State.ESTIMATED,
            "",
            intercept=float(one.intercepts[0]),
            slope=float(one.slopes[0]),
            h50=h50,
            h80=h80,
            interval50=ends[0],
            interval80=ends[1],
            undefined=undefined,
            separated=separated,
            curve=self._curve(one, drawn),
            notes=tuple(self._notes(h50, separated, undefined, converged=bool(one.converged[0]))),
        )

    def _none(self, state: State, reason: str, intercept: float | None = None, slope: float | None = None) -> Horizon:
        return self._horizon(state, reason, intercept=intercept, slope=slope)

    def _horizon(self, state: State, reason: str, **more: object) -> Horizon:
        return Horizon(
            state,
            reason,
            tasks=len(self.tasks),
            families=len({task.family for task in self.tasks}),
            runs=sum(len(task.scores) for task in self.tasks),
            rate=float(self.successes.sum() / self.totals.sum()),
            shortest=min(task.minutes for task in self.tasks),
            longest=max(task.minutes for task in self.tasks),
            bins=self._bins(),
            **more,  # type: ignore[arg-type]
        )

    def _draws(self) -> Fits:
        """The fit of each draw; intercepts of -inf and +inf where nothing or everything of a draw succeeds."""
        successes, totals = draw(self.tasks, self.weights, self.options.draws, self.options.seed)
        share = successes.sum(axis=1) / totals.sum(axis=1)
        mixed = (share > 1e-12) & (share < 1 - 1e-12)
        intercepts = np.where(share < 0.5, -np.inf, np.inf)
        slopes = np.full(len(share), -1.0)
        converged = np.ones(len(share), dtype=bool)
        if mixed.any():
            fits = fit(self.log_minutes, successes[mixed], totals[mixed], self.options.regularization)
            intercepts[mixed], slopes[mixed], converged[mixed] = fits.intercepts, fits.slopes, fits.converged
        return Fits(intercepts, slopes, converged)

    def _separated(self) -> bool:
        succeeded = [task.minutes for task in self.tasks if max(task.scores) > 0]
        failed = [task.minutes for task in self.tasks if min(task.scores) < 1]
        return max(succeeded) < min(failed)

    def _bins(self) -> tuple[Bin, ...]:
        """Bins of one, two, ... doublings, so that there are at most ten."""
        low, high = math.floor(self.log_minutes.min()), math.floor(self.log_minutes.max()) + 1
        width = max(1, math.ceil((high - low) / 10))
        places = ((self.log_minutes - low) // width).astype(int)
        found = []
        for place in np.unique(places):
            inside = places == place
            rate = float(self.successes[inside].sum() / self.totals[inside].sum())
            start = low + int(place) * width
            found.append(Bin(2.0**start, 2.0 ** (start + width), int(inside.sum()), rate))
        return tuple(found)

    def _curve(self, one: Fits, drawn: Fits | None) -> Curve:
        grid = np.linspace(self.log_minutes.min() - 1, self.log_minutes.max() + 1, _CURVE)
        band = None
        if drawn is not None:
            tail = (1 - self.options.level) / 2
            low, high = np.quantile(_chances(drawn, grid), [tail, 1 - tail], axis=0)
            band = tuple(low.tolist()), tuple(high.tolist())
        return Curve(tuple(np.exp2(grid).tolist()), tuple(_chances(one, grid)[0].tolist()), band)

    def _notes(self, h50: float, separated: bool, undefined: float | None, *, converged: bool) -> list[str]:
        notes = []
        minutes = [task.minutes for task in self.tasks]
        if not min(minutes) <= h50 <= max(minutes):
            side = "shorter" if h50 < min(minutes) else "longer"
            notes.append(f"the horizon is {side} than every task: it is extrapolated")
        if separated:
            notes.append(
                "a time separates successes from failures: where between the two the horizon lies is not known"
            )
        if undefined:
            notes.append(
                f"{100 * undefined:.1f} % of draws do not fall with time; they widen the interval on both sides"
            )
        if not converged:
            notes.append("the fit did not converge")
        families = len({task.family for task in self.tasks})
        if 1 < families < 6 < len(minutes):
            notes.append(f"only {families} families: the interval is too narrow for tasks of other families")
        return notes


def horizons(fits: Fits, chance: float) -> Floats:
    """Minutes at which each line has a chance of success; NaN where it does not fall."""
    logit = math.log(chance / (1 - chance))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        minutes = np.exp2((logit - fits.intercepts) / fits.slopes)
    return np.where(fits.slopes < FALLING, minutes, np.nan)


def _chances(fits: Fits, log_minutes: Floats) -> Floats:
    logits = fits.intercepts[:, None] + fits.slopes[:, None] * log_minutes
    chances: Floats = expit(logits)
    return chances


def _interval(minutes: Floats, level: float) -> Interval:
    """Percentiles as order statistics: they are the same on every monotone scale, and bear infinities."""
    last, tail = len(minutes) - 1, (1 - level) / 2
    low = np.sort(np.where(np.isnan(minutes), 0.0, minutes))[math.floor(tail * last)]
    high = np.sort(np.where(np.isnan(minutes), np.inf, minutes))[math.ceil((1 - tail) * last)]
    return float(low), float(high) if math.isfinite(high) else None
