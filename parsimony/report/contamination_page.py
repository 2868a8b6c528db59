"""Pages of contamination: the decay curve of a run, and the lists of the date gate and of leaked statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from parsimony import __version__
from parsimony.contamination import Decay
from parsimony.report import contamination_plots as plots


def decay_page(found: Decay, name: str, cutoff: str, sentences: Mapping[str, str]) -> str:
    """The page of a run's decay curves: one file, without scripts or anything from outside.

    Args:
        name: of the run.
        cutoff: what it is called in sentences.
        sentences: by arm, the difference in words.
    """
    arms = [
        {"it": arm, "sentence": sentences[arm.arm], "curve": plots.curve(arm, found.cutoff) if arm.months else ""}
        for arm in found.arms
    ]
    return _render(
        kind="decay",
        title=f"{name}: decay at the cutoff",
        summary=f"Pass rates by the month in which tasks were made, around {cutoff}; source: {found.cutoff.source}.",
        arms=arms,
        difference=plots.differences(found.arms),
        cutoff=cutoff,
        undated=found.undated,
        before_colour=plots.BEFORE,
        after_colour=plots.AFTER,
    )


def list_page(
    title: str,
    summary: str,
    cards: Sequence[tuple[str, str]],
    table: tuple[Sequence[str], Sequence[Sequence[str]]],
    numeric: Sequence[str] = (),
) -> str:
    """A page that lists tasks.

    Args:
        cards: numbers, each with what it counts.
        table: headings, and rows of as many cells.
        numeric: the headings whose cells are numbers.
    """
    headings, rows = table
    return _render(
        kind="list", title=title, summary=summary, cards=cards, headings=headings, rows=rows, numeric=numeric
    )


def _render(**values: Any) -> str:
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template("contamination.html.j2").render(version=__version__, **values)
