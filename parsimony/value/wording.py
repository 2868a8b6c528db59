"""Values in words, the same in a terminal and on a page."""

from __future__ import annotations

from fractions import Fraction

from parsimony.statistics import Interval
from parsimony.value.amounts import told
from parsimony.value.appraisal import FEW, Appraisal, ArmValue, Contrast
from parsimony.value.earning import Earning


def span(ends: tuple[Fraction | int, Fraction | int], *, sign: bool = False) -> str:
    """A sum, or `$1 to $2` where verdicts are missing."""
    low, high = (told(end, sign=sign) for end in ends)
    return low if ends[0] == ends[1] else f"{low} to {high}"


def interval(ends: Interval | None, *, sign: bool = False) -> str:
    """`[$1, $2]`, or a dash."""
    return "–" if ends is None else f"[{told(ends[0], sign=sign)}, {told(ends[1], sign=sign)}]"


def share(ends: tuple[Fraction, Fraction] | tuple[float, float] | None) -> str:
    """A rate in percent, or its bounds."""
    if ends is None:
        return "–"
    low, high = (f"{100 * float(end):.1f}" for end in ends)
    return f"{low} %" if ends[0] == ends[1] else f"{low} to {high} %"


def per_dollar(arm: ArmValue) -> str:
    """Dollars earned per dollar spent."""
    if arm.per_dollar is None:
        return "–"
    low, high = (f"{float(end):,.3g}" if end < 1000 else f"{float(end):,.0f}" for end in arm.per_dollar)
    return low if low == high else f"{low} to {high}"


def spent_per_seed(arm: ArmValue) -> Fraction | None:
    """Micro-dollars that one pass over the tasks took."""
    return None if arm.spent is None else arm.spent / len(arm.whole.seeds)


def contrast(one: Contrast) -> str:
    """What a change is worth, in one sentence."""
    least, most = one.delta
    if least != most:
        return (
            f"{one.candidate} against {one.baseline}: between {told(least, sign=True)} and {told(most, sign=True)} a"
            " seed, because verdicts are missing"
        )
    verb = "as much as" if least == 0 else f"{told(abs(least))} {'more' if least > 0 else 'less'} a seed than"
    text = f"{one.candidate} earns {verb} {one.baseline}"
    if one.interval is not None:
        text += f" {interval(one.interval, sign=True)}"
    if one.p_value is not None:
        text += f", p = {one.p_value:.3g}" if one.p_value >= 0.001 else ", p < 0.001"
    return f"{text}; {told(one.gained)} won, {told(one.lost)} lost"


def notes(found: Appraisal) -> list[str]:
    """What a reader must know before believing the numbers."""
    lines = []
    for arm in found.arms:
        if arm.whole.missing:
            planned = arm.whole.tasks * len(arm.whole.seeds)
            lines.append(f"{arm.arm}: {arm.whole.missing} of {planned} verdicts are missing: bounds, no point")
        if arm.unknown:
            lines.append(f"{arm.arm}: what {arm.unknown} candidates cost is not known, so neither is the return")
    if found.unvalued:
        lines.append(f"{len(found.unvalued)} tasks have no value and are in no number: {_some(found.unvalued)}")
    if found.quarantined:
        lines.append(f"{len(found.quarantined)} tasks are quarantined and in no number: {_some(found.quarantined)}")
    if found.unused:
        lines.append(f"{found.unused} values are of tasks that the run does not have")
    number, name = found.clusters.number, _plural(found.clusters.name, found.clusters.number)
    if found.draws and all(arm.whole.interval is None for arm in found.arms):
        lines.append(f"{number} {name} cannot tell an interval: too few that pay, or all alike")
    elif found.draws and found.effective < FEW:
        lines.append(
            f"the payouts of {number} {name} tell as much as {found.effective:.1f} equal ones would: with fewer than"
            f" {FEW}, intervals are too narrow"
        )
    return lines


def _plural(name: str, number: int) -> str:
    if number == 1:
        return name
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")


def headline(found: Appraisal) -> str:
    """The arm that earns most, in one sentence."""
    available = found.arms[0].whole.available
    best = max(found.arms, key=lambda arm: arm.whole.mean[0])
    if any(arm.whole.missing for arm in found.arms):
        return f"Verdicts are missing: what follows are bounds of what was earned of {told(available)}."
    text = f"{best.arm} earns {told(best.whole.mean[0])} of {told(available)}, {share(best.whole.rate)}"
    if best.per_dollar is not None:
        text += f": ${per_dollar(best)} for each dollar that it costs"
    return text + "."


def kind_row(one: Earning) -> tuple[str, str, str, str, str]:
    """Tasks, available, earned, share of it, and the plain resolve rate."""
    return str(one.tasks), told(one.available), span(one.mean), share(one.rate), share(one.resolve_rate)
