"""The page of a night: the trend up to it, what broke, who owns it, and what it cost."""

from __future__ import annotations

from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from parsimony import __version__
from parsimony.nightly import Account, Flip, State
from parsimony.nightly.markdown import cause, cost, difference
from parsimony.report import nightly_plots as plots

NIGHTS: Final = 90
"""The newest dates that the page shows."""
LISTED: Final = 300
"""Tasks of a list that the page shows."""


def nightly_page(account: Account) -> str:
    """The page as HTML: one file, without scripts or anything from outside."""
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    trend = account.trend[-NIGHTS:]
    spent = plots.costs(trend)
    return environment.get_template("nightly.html.j2").render(
        it=account,
        data=account.conclusion.data,
        state=account.conclusion.state.value,
        compared={one["arm"]: one for one in account.conclusion.data["comparisons"]},
        suspects=account.suspects if account.conclusion.state is State.REGRESSION else (),
        trend=trend[::-1],
        earlier=len(account.trend) - len(trend),
        rates=plots.rates(trend) if any(point.arms for point in trend) else "",
        costs=spent[0] if spent else "",
        unit=spent[1] if spent else "",
        broken=account.broken[:LISTED],
        flaky=account.of_kind(Flip.FLAKY)[:LISTED],
        mended=account.of_kind(Flip.MENDED)[:LISTED],
        numbers={kind.value: len(account.of_kind(kind)) for kind in Flip},
        listed=LISTED,
        colours=plots.STATE_COLOURS,
        cause=cause,
        cost=cost,
        difference=difference,
        version=__version__,
    )
