"""Numbers of a diagnosis as people write them, the same in a terminal and on a page."""

from __future__ import annotations

from parsimony.diagnosis.comparing import Difference
from parsimony.diagnosis.funnel import Funnel
from parsimony.diagnosis.measures import Mean


def number(value: float, unit: str, digits: int = 0) -> str:
    """`51 %`; a plain number has two digits more."""
    return f"{100 * value:.{digits}f} %" if unit == "%" else f"{value:.{digits + 2}f}"


def mean(one: Mean, unit: str) -> str:
    """A mean; a dash for what is not known."""
    if one.value is None:
        return "–"
    if unit == "$":
        return f"${one.value:,.4f}"
    if unit == "s":
        return f"{one.value:,.2f} s" if one.value < 10 else f"{one.value:,.0f} s"
    return number(one.value, unit, _digits(unit)) if one.value < 1000 else f"{one.value:,.0f}"


def sides(one: Difference) -> tuple[str, str]:
    """A measure before and after."""
    unit = one.measure.unit
    return number(one.baseline, unit, _digits(unit)), number(one.candidate, unit, _digits(unit))


def difference(one: Difference) -> str:
    """A difference with its interval; in points for fractions."""
    scale, digits = (100, 1) if one.measure.unit == "%" else (1, 2)
    text = f"{scale * one.delta:+.{digits}f}"
    if one.low is None or one.high is None:
        return text
    return f"{text} [{scale * one.low:+.{digits}f}, {scale * one.high:+.{digits}f}]"


def bottleneck(one: Funnel) -> str:
    """The bottleneck of a funnel and its loss, with the interval of it."""
    if one.bottleneck is None:
        return "nothing is lost" if one.placed else "no candidate can be placed"
    step = one.step(one.bottleneck)
    low, high = step.interval or (0.0, 1.0)
    share = f"{100 * step.lost / step.came:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"
    sure = "" if one.certainty is None else f", the bottleneck in {100 * one.certainty:.0f} % of draws of repositories"
    return f"most are lost at {step.name}: {share} of what comes there{sure}"


def _digits(unit: str) -> int:
    return 1 if unit == "%" else 0
