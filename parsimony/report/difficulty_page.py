"""The page of a bank of tasks: how hard they are, what the mid-range set saves, whether ranks survive it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from parsimony import __version__
from parsimony.difficulty import Difficulty, Item, Place, wording
from parsimony.report import difficulty_plots as plots

LISTED: Final = 1000
"""How many tasks the page lists; all of them are in --json."""
DRAWN: Final = 6
"""How many characteristic curves it draws."""


def difficulty_page(found: Difficulty, notes: Sequence[str]) -> str:
    """The page as HTML: one file, without scripts or anything from outside.

    Args:
        notes: what a reader must know.
    """
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "rank": wording.rank,
        "ability": wording.ability,
        "percent": lambda value: "–" if value is None else f"{100 * value:.1f} %",
        "error": _with_error,
    }
    drawn = _some(found)
    items = sorted(found.items, key=lambda item: (-(item.rate if item.rate is not None else -1), item.task_id))
    return environment.get_template("difficulty.html.j2").render(
        found=found,
        lines=[wording.census(found), wording.saving(found), wording.ranks(found), wording.fit(found)],
        notes=notes,
        ranked=wording.ranked(found),
        items=items[:LISTED],
        more=max(0, len(items) - LISTED),
        places=Counter(item.place for item in found.items),
        colours=plots.COLOURS,
        kendall=found.stability.kendall,
        curves=plots.curves(drawn) if drawn else "",
        scatter=plots.scatter(found) if drawn else "",
        told=plots.told(found) if drawn else "",
        ranks=plots.ranks(found) if found.stability.compared > 1 else "",
        version=__version__,
    )


def _some(found: Difficulty) -> list[Item]:
    """Fitted tasks from the easiest to the hardest, evenly spaced; precise and mid-range ones where there are."""
    known = [item for item in found.items if item.difficulty is not None]
    precise = [item for item in known if not item.imprecise] or known
    middle = [item for item in precise if item.place is Place.MIDDLE]
    chosen = sorted(
        middle if len(middle) >= DRAWN else precise, key=lambda item: (item.difficulty or 0.0, item.task_id)
    )
    if len(chosen) <= DRAWN:
        return chosen
    return [chosen[round(place * (len(chosen) - 1) / (DRAWN - 1))] for place in range(DRAWN)]


def _with_error(value: float | None, error: float | None) -> str:
    """A number with its error: `+0.31 ± 0.12`; whole digits alone where the error is large."""
    if value is None:
        return "–"
    if error is None:
        return f"{value:z.0f} ± ?"
    digits = 2 if error < 0.5 else 1 if error < 2 else 0
    return f"{value:z.{digits}f} ± {error:.{digits}f}"
