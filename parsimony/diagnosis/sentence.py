"""A diagnosis in one sentence, built from its numbers: what gained, what `resolved` did, where the gap is now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from parsimony.diagnosis.comparing import Change, Diagnosis, Difference
from parsimony.diagnosis.wording import number

SURE = 0.95
"""From this share of draws on, a bottleneck is named without a word on how sure it is."""


def sentence(diagnosis: Diagnosis) -> str:
    """Such as "file recall 51 % → 62 %, resolved flat, residual gap now at patching"."""
    return ", ".join(_parts(diagnosis))


def _parts(diagnosis: Diagnosis) -> Iterator[str]:
    """Of each stage that moved, its first measure that did; the others are in the table."""
    moved = [one for one in diagnosis.stages if one.change in {Change.GAIN, Change.LOSS}]
    unknown = any(one.change is Change.UNKNOWN for one in diagnosis.stages)
    if moved:
        yield from map(change, _first_of_each_stage(moved))
    elif not diagnosis.stages:
        yield "no stage is known on both sides"
    else:
        yield "too few repositories to tell any stage from noise" if unknown else "no stage moved beyond noise"
    if diagnosis.resolved is None:
        yield "resolved not known on both sides"
    elif diagnosis.resolved.change is Change.FLAT:
        yield "resolved flat"
    elif diagnosis.resolved.change is Change.UNKNOWN:
        yield f"{change(diagnosis.resolved)} (too few repositories to tell it from noise)"
    else:
        yield change(diagnosis.resolved)
    yield _gap(diagnosis)


def _first_of_each_stage(moved: Iterable[Difference]) -> Iterable[Difference]:
    found: dict[str, Difference] = {}
    for one in moved:
        found.setdefault(one.measure.stage, one)
    return found.values()


def change(one: Difference) -> str:
    """A measure before and after."""
    before, after = number(one.baseline, one.measure.unit), number(one.candidate, one.measure.unit)
    if before == after:
        before, after = number(one.baseline, one.measure.unit, 2), number(one.candidate, one.measure.unit, 2)
    return f"{one.measure.title} {before} → {after}"


def _gap(diagnosis: Diagnosis) -> str:
    before, after = (funnel.bottleneck for funnel in diagnosis.funnels)
    if after is None:
        return "no residual gap" if diagnosis.funnels[1].placed else "residual gap not known"
    certainty = diagnosis.funnels[1].certainty
    sure = "" if certainty is None or certainty >= SURE else f" (in {100 * certainty:.0f} % of draws)"
    return f"residual gap {'still' if before == after else 'now'} at {after}{sure}"
