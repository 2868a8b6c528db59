"""Time horizons: how long the tasks are that a system solves half the time, measured by what they take a person."""

from parsimony.horizon.estimate import (
    Bin,
    Curve,
    Horizon,
    Interval,
    Options,
    State,
    Weighting,
    estimate,
    run_weights,
)
from parsimony.horizon.logistic import Fits, fit
from parsimony.horizon.observations import Minutes, Observations, TimedTask, observe, read_minutes

__all__ = [
    "Bin",
    "Curve",
    "Fits",
    "Horizon",
    "Interval",
    "Minutes",
    "Observations",
    "Options",
    "State",
    "TimedTask",
    "Weighting",
    "estimate",
    "fit",
    "observe",
    "read_minutes",
    "run_weights",
]
