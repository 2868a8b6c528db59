"""Pages of stages: the scorecards of a run, and the diagnosis of two arms. The look is that of the report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from parsimony import __version__
from parsimony.diagnosis import ALL, Diagnosis, Mean, funnel, means, sentence, wording
from parsimony.report import scorecard_plots
from parsimony.scorecard import Note


def write_scorecard_page(
    path: Path,
    name: str,
    arms: Mapping[str, Sequence[Note]],
    footprints: Mapping[str, Mapping[str, Mapping[str, Any]]] = MappingProxyType({}),
    quarantined: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write the page of a run's scorecards to `path`, by rename.

    Args:
        arms: the notes of each.
        footprints: by arm and language, as in the summary of a run.
        quarantined: tasks that are not in `arms`, as there.
    """
    found = {arm: means(notes) for arm, notes in arms.items()}
    funnels = {arm: funnel(notes) for arm, notes in arms.items()}
    reasons = Counter(reason for notes in arms.values() for note in notes for reason in note.missing)
    _write(
        path,
        "scorecard.html.j2",
        name=name,
        arms=list(arms),
        rows=_rows(found),
        funnels=[(arm, one, wording.bottleneck(one), scorecard_plots.funnel(one)) for arm, one in funnels.items()],
        candidates=sum(map(len, arms.values())),
        cards=sum(not note.missing for notes in arms.values() for note in notes),
        reasons=reasons.most_common(20),
        footprints=footprints,
        quarantined=quarantined,
        sources={arm: sorted({note.files.source for note in notes if note.files}) for arm, notes in arms.items()},
    )


def write_diagnosis_page(path: Path, found: Diagnosis) -> None:
    """Write the page of a diagnosis to `path`, by rename."""
    every = [*found.stages, *([found.resolved] if found.resolved else [])]
    names = (found.baseline, found.candidate)
    _write(
        path,
        "diagnosis.html.j2",
        found=found,
        sentence=sentence(found),
        rows=[(one, *wording.sides(one), wording.difference(one)) for one in every],
        differences=scorecard_plots.differences(every),
        funnels=[
            (name, one, wording.bottleneck(one), scorecard_plots.funnel(one))
            for name, one in zip(names, found.funnels, strict=True)
        ],
        colours=scorecard_plots.CHANGE_COLOURS,
    )


def _write(path: Path, template: str, **values: Any) -> None:
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    page = environment.get_template(template).render(version=__version__, **values)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    fresh.write_text(page, encoding="utf-8", errors="replace")
    fresh.replace(path)


def _rows(found: Mapping[str, Mapping[str, Mean]]) -> list[tuple[str, str, list[tuple[str, int]]]]:
    """Stage (once), title, and for each arm the mean and how many trials it is of."""
    rows, stage = [], ""
    for measure in ALL:
        cells = [(wording.mean(arm[measure.name], measure.unit), arm[measure.name].trials) for arm in found.values()]
        if any(trials for _, trials in cells):
            rows.append((measure.stage if measure.stage != stage else "", measure.title, cells))
            stage = measure.stage
    return rows
