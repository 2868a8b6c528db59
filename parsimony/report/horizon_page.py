"""The page of time horizons: how long the tasks are that each arm solves half the time."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from parsimony import __version__
from parsimony.horizon import Horizon, Options, wording
from parsimony.report import horizon_plots


def horizon_page(
    name: str, arms: Sequence[tuple[str, Horizon, Sequence[str]]], options: Options, notes: Sequence[str] = ()
) -> str:
    """The page as HTML: one file, without scripts or anything from outside.

    Args:
        name: of the run. arms: name, horizon, and what a reader must know. notes: the same of the run.
    """
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"told": wording.told, "interval": wording.interval}
    pairs = [(arm, one) for arm, one, _ in arms]
    return environment.get_template("horizon.html.j2").render(
        name=name,
        arms=[(arm, one, lines, horizon_plots.curve(one)) for arm, one, lines in arms],
        together=horizon_plots.together(pairs) if len(pairs) > 1 and horizon_plots.has_horizon(pairs) else "",
        options=options,
        notes=notes,
        version=__version__,
    )
