"""The page of values: what the arms of a run earned, and what that took."""

from __future__ import annotations

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined

from parsimony import __version__
from parsimony.report import value_plots as plots
from parsimony.value import Appraisal, wording
from parsimony.value.amounts import told

MOST_SEEDS = 12
"""How many seeds the page shows side by side."""


def value_page(found: Appraisal, rejected: Sequence[str] = ()) -> str:
    """The page as HTML: one file, without scripts or anything from outside.

    Args:
        rejected: rows of values that were not taken, with the reason.
    """
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "told": told,
        "span": wording.span,
        "interval": wording.interval,
        "share": wording.share,
        "per_dollar": wording.per_dollar,
        "spent": wording.spent_per_seed,
    }
    seeds = sorted({one.seed for arm in found.arms for one in arm.whole.seeds})
    return environment.get_template("value.html.j2").render(
        it=found,
        whole=found.arms[0].whole,
        headline=wording.headline(found),
        sentences=[wording.contrast(one) for one in found.contrasts],
        notes=wording.notes(found),
        rejected=rejected,
        seeds=seeds[:MOST_SEEDS],
        hidden=len(seeds[MOST_SEEDS:]),
        by_seed=[(arm.arm, {one.seed: one.earned for one in arm.whole.seeds}) for arm in found.arms],
        kinds=[(arm.arm, one.kind, wording.kind_row(one)) for arm in found.arms for one in arm.kinds],
        earned=plots.earned(found),
        differences=plots.differences(found) if found.contrasts else "",
        version=__version__,
    )
