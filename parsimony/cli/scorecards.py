"""Commands about stages: scorecard, diagnose."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from cluster.rundir import RunFolder, write_jsonl
from parsimony.cli import DONE, PARTIAL, screen
from parsimony.cli.collecting import no_collections
from parsimony.cli.materials import open_run
from parsimony.cli.reading import read_summary
from parsimony.diagnosis import ALL, Diagnosis, Difference, Funnel, Mean, diagnose, funnel, means, sentence, wording
from parsimony.errors import InputError
from parsimony.runs import Run
from parsimony.scorecard import BaseFiles, Materials, Measured, Measurer, Note, Price, no_price

ARMS_A_TABLE = 3
CARDS, NOTES, PAGE = "scorecards.jsonl", "scorecard-notes.jsonl", "scorecard.html"


@dataclass(frozen=True, slots=True)
class Pricing:
    """What things cost.

    Attributes:
        files: price files; none = those of the sweep. at: the day whose prices hold; None = the day of each cost.
        cpu_hour: dollars of an hour of a processor, where no file has a price of computing.
    """

    files: tuple[Path, ...] = ()
    at: date | None = None
    cpu_hour: float | None = None


def scorecard(root: Path, pricing: Pricing, *, page: bool, as_json: bool) -> int:
    """Measure every candidate of a run, write the records beside its results, and show the means of each arm.

    Quarantined tasks have records, and are in no mean.
    """
    folder = RunFolder.existing(root)
    with no_collections():
        run, measured = _measure(root, pricing)
        run.counted()  # nothing is measured where nothing would count
        every = list(measured)
    write_jsonl(root / CARDS, (card.to_json() for _, card in every if card is not None))
    write_jsonl(root / NOTES, (note.to_json() for note, _ in every))
    counted = [(note, card) for note, card in every if note.task_id not in run.quarantined]
    notes, cards = [note for note, _ in counted], sum(card is not None for _, card in counted)
    arms, left_out = _by_arm(notes), run.left_out()
    footprints = read_summary(folder).get("footprint", {})
    if page:
        from parsimony.report.scorecard_page import write_scorecard_page

        write_scorecard_page(root / PAGE, folder.root.name, arms, footprints, left_out)
    if as_json:
        screen.print_json({**_summary(arms, cards, notes), "quarantined": left_out, "footprint": footprints})
    else:
        _print_scorecard(arms, cards, notes, root, page=page)
        for line in (*screen.quarantine_lines({"quarantined": left_out}), *_footprint_lines(footprints)):
            screen.console().print(Text(line))
    return DONE if cards == len(notes) else PARTIAL


def _footprint_lines(footprints: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[str]:
    """The code that resolved candidates leave behind, which has no place in the exact record."""
    for arm, languages in footprints.items():
        for language, one in languages.items():
            if one["mean_net_units"] is not None:
                of = f"{one['measured']} of {one['solved']} resolved candidates in {language}"
                yield f"footprint, {arm}: {one['mean_net_units']:+.1f} net units, {one['mean_churn']:.1f} churn ({of})"


def _measure(root: Path, pricing: Pricing) -> tuple[Run, Iterable[Measured]]:
    """A run, and every trial of it measured."""
    run, materials, base = open_run(root, pricing.files, pricing.at)
    return run, Measurer(base, _price(pricing.cpu_hour)).measure(run, materials)


def _price(cpu_hour: float | None) -> Price:
    """What computing costs, by the dollars of an hour of a processor."""
    if cpu_hour is None:
        return no_price
    if not math.isfinite(cpu_hour):
        raise InputError.wrong("--cpu-hour", cpu_hour, "a number of dollars")
    return lambda spend: round(spend.cpu_seconds / 3600 * cpu_hour * 1_000_000)


def _by_arm(notes: Iterable[Note]) -> dict[str, list[Note]]:
    arms: dict[str, list[Note]] = {}
    for note in notes:
        arms.setdefault(note.arm, []).append(note)
    return arms


def _summary(arms: Mapping[str, Sequence[Note]], cards: int, notes: Sequence[Note]) -> dict[str, Any]:
    return {
        "candidates": len(notes),
        "scorecards": cards,
        "missing": dict(Counter(reason for note in notes for reason in note.missing).most_common()),
        "arms": {
            arm: {
                "means": {name: asdict(mean) for name, mean in means(mine).items()},
                "funnel": _funnel_json(funnel(mine)),
            }
            for arm, mine in arms.items()
        },
    }


def _funnel_json(one: Funnel) -> dict[str, Any]:
    steps = [{**asdict(step), "loss": step.loss} for step in one.steps]
    return {**asdict(one), "steps": steps}


def _print_scorecard(
    arms: Mapping[str, Sequence[Note]], cards: int, notes: Sequence[Note], root: Path, *, page: bool
) -> None:
    out = screen.console()
    names = list(arms)
    for start in range(0, len(names), ARMS_A_TABLE):
        out.print()
        out.print(_means_table({name: means(arms[name]) for name in names[start : start + ARMS_A_TABLE]}))
    out.print()
    for name, mine in arms.items():
        out.print(Text(f"{name}: {_funnel_line(funnel(mine))}"))
    out.print()
    out.print(Text(f"{cards} scorecards of {len(notes)} candidates: {root / CARDS}"))
    for reason, count in Counter(reason for note in notes for reason in note.missing).most_common(6):
        out.print(Text(f"  without one: {count} × {reason}"))
    if page:
        out.print(Text(f"page: {root / PAGE}"))


def _means_table(arms: Mapping[str, Mapping[str, Mean]]) -> Table:
    table = Table(title="mean of each stage, by arm", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("stage", no_wrap=True)
    table.add_column("measure", no_wrap=True)
    for name in arms:
        table.add_column(Text(name, overflow="ellipsis"), justify="right", no_wrap=True, max_width=16)
    stage = ""
    for measure in ALL:
        cells = [wording.mean(found[measure.name], measure.unit) for found in arms.values()]
        if any(found[measure.name].trials for found in arms.values()):
            table.add_row(measure.stage if measure.stage != stage else "", measure.title, *cells)
            stage = measure.stage
    return table


def _funnel_line(one: Funnel) -> str:
    steps = [step for step in one.steps if step.measured and one.placed]
    shares = (f"{step.passed} {100 * (step.came - step.lost) / one.placed:.0f} %" for step in steps)
    return "; ".join(filter(None, (" → ".join(shares), wording.bottleneck(one))))


@dataclass(frozen=True, slots=True)
class Sides:
    """What to compare: one run or two, and arms where a run has several."""

    first: Path
    second: Path | None
    baseline: str | None
    candidate: str | None


def diagnose_runs(sides: Sides, out: Path | None, *, as_json: bool) -> int:
    """Say which stage moved from the baseline to the candidate, and where the gap is now. Quarantined tasks take no
    part."""
    with no_collections():
        roots = [root for root in (sides.first, sides.second) if root is not None]
        opened = [open_run(root) for root in roots]
        names = _names(sides, opened[0][0].arms, opened[-1][0].arms)
        pairs = ((opened[0], names[0]), (opened[-1], names[1]))
        before, after = (_notes_of(arm, *one) for one, arm in pairs)
    titles = names if sides.second is None else (_title(sides.first, names[0]), _title(sides.second, names[1]))
    left_out = [one for run, _, _ in opened for one in run.left_out()]
    lines = dict.fromkeys(screen.quarantine_lines({"quarantined": left_out}))
    found = diagnose(before, after, names=titles)
    found = replace(found, warnings=(*found.warnings, *lines))
    if out is not None:
        from parsimony.report.scorecard_page import write_diagnosis_page

        write_diagnosis_page(out, found)
    if as_json:
        screen.print_json({**diagnosis_json(found), "quarantined": left_out})
    else:
        _print_diagnosis(found, out)
    return PARTIAL if any(one.unplaced for one in found.funnels) else DONE


def _notes_of(arm: str, run: Run, materials: Materials, base: BaseFiles) -> list[Note]:
    """One arm, measured: the others are not needed."""
    counted = run.counted()
    alone = replace(counted, trials=tuple(counted.of(arm)))
    return [note for note, _ in Measurer(base).measure(alone, materials)]


def _title(root: Path, arm: str) -> str:
    return f"{root.resolve().name}/{arm}"


def _names(sides: Sides, first: Collection[str], second: Collection[str]) -> tuple[str, str]:
    """The arms to compare. Of a run with two, the first is the baseline."""
    if sides.second is None and sides.baseline is None and sides.candidate is None and len(first) == 2:
        before, after = first
        return before, after
    return (
        _name(sides.baseline, first, "--baseline", sides.first),
        _name(sides.candidate, second, "--candidate", sides.second or sides.first),
    )


def _name(told: str | None, arms: Collection[str], option: str, root: Path) -> str:
    known = ", ".join(arms)
    if told is not None:
        if told not in arms:
            raise InputError(f"has no arm {told!r}", mend=f"it has: {known}", file=str(root), field=option)
        return told
    if len(arms) != 1:
        raise InputError(f"has {len(arms)} arms", mend=f"say which: {option} with one of {known}", file=str(root))
    return next(iter(arms))


def diagnosis_json(found: Diagnosis) -> dict[str, Any]:
    """A diagnosis for machines."""
    return {
        "sentence": sentence(found),
        "baseline": found.baseline,
        "candidate": found.candidate,
        "stages": [_difference_json(one) for one in found.stages],
        "resolved": None if found.resolved is None else _difference_json(found.resolved),
        "funnels": {
            "baseline": _funnel_json(found.funnels[0]),
            "candidate": _funnel_json(found.funnels[1]),
        },
        "warnings": list(found.warnings),
    }


def _difference_json(one: Difference) -> dict[str, Any]:
    return {
        "stage": one.measure.stage,
        "measure": one.measure.name,
        "baseline": one.baseline,
        "candidate": one.candidate,
        "delta": one.delta,
        "interval": None if one.low is None else [one.low, one.high],
        "p_value": one.p_value,
        "change": one.change.value,
        "tasks": one.tasks,
        "clusters": one.clusters,
    }


def _print_diagnosis(found: Diagnosis, page: Path | None) -> None:
    out = screen.console()
    out.print()
    out.print(Text(sentence(found), style="bold"))
    out.print()
    out.print(_differences_table(found))
    out.print()
    for name, one in zip((found.baseline, found.candidate), found.funnels, strict=True):
        out.print(Text(f"{name}: {_funnel_line(one)}"))
    for warning in found.warnings:
        out.print(Text(f"note: {warning}", style="yellow"))
    if page is not None:
        out.print(Text(f"page: {page}"))


_STYLES = {"gain": "green", "loss": "red", "flat": "dim", "unknown": "yellow"}


def _differences_table(found: Diagnosis) -> Table:
    table = Table(
        title=Text(f"{found.baseline} → {found.candidate}", overflow="ellipsis"),
        title_justify="left", show_edge=False, pad_edge=False,
        caption=_caption(found), caption_justify="left",
    )  # fmt: skip
    for heading in ("stage", "measure"):
        table.add_column(heading, no_wrap=True)
    for heading in ("before", "after", "difference", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    stage = ""
    for one in (*found.stages, *([found.resolved] if found.resolved else [])):
        told = one.measure.stage
        table.add_row(
            told if told != stage else "",
            one.measure.title,
            *wording.sides(one),
            wording.difference(one),
            f"{one.p_value:.3f}",
            Text(one.change.value, style=_STYLES[one.change.value]),
        )
        stage = told
    return table


def _caption(found: Diagnosis) -> str:
    """What the numbers are."""
    every = [*found.stages, *([found.resolved] if found.resolved else [])]
    if not every:
        return ""
    largest = max(every, key=lambda one: one.tasks)
    return (
        f"paired over {largest.tasks} tasks in {largest.clusters} repositories: 95 % intervals of the jackknife,"
        " p of the permutation test over repositories, by Holm's method over the stages"
    )
