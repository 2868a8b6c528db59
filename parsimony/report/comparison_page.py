"""The page of a comparison: the verdict in words, then everything that it rests on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from parsimony import __version__
from parsimony.ab import Comparison, wording
from parsimony.records import Recommendation, Significance
from parsimony.report import comparison_plots as plots
from parsimony.sets import NO_LEDGER, Decision, refused

LISTED: Final = 300
"""How many changed tasks and flaky candidates the page shows."""

VERDICT_COLOURS: Final = {
    Recommendation.KEEP: "#2e8b57",
    Recommendation.REJECT: "#c0504d",
    Recommendation.PARE_BACK: "#b58b2a",
}


def comparison_page(
    found: Sequence[Comparison], *, beside: Path, standings: Sequence[tuple[Decision, str]] | None = None
) -> str:
    """The page as HTML: one file, without scripts or anything from outside.

    Args:
        beside: the folder that the page will be in; links to logs are relative to it.
        standings: for each, whether it may be called generalization, and where it is written down; without them the
            page refuses the word.
    """
    if standings is None:
        standings = [(refused(NO_LEDGER), "in no ledger")] * len(found)
    environment = Environment(
        loader=PackageLoader("parsimony", "report"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "points": wording.points,
        "rate": wording.rate,
        "p_text": wording.p_text,
        "number": wording.number,
        "plain": lambda text: str(text).replace("_", " "),
    }
    return environment.get_template("comparison.html.j2").render(
        found=[_part(one, beside, *standing) for one, standing in zip(found, standings, strict=True)],
        family=plots.differences(found) if len(found) > 1 else "",
        version=__version__,
    )


def _part(one: Comparison, beside: Path, claim: Decision, note: str) -> dict[str, Any]:
    result = one.record.result
    return {
        "claim": claim,
        "note": note,
        "it": one,
        "change": one.record.change_under_test,
        "colour": VERDICT_COLOURS[result.recommendation],
        "recommendation": result.recommendation.value.replace("_", " "),
        "significant": result.significant,
        "yes": result.significant is Significance.YES,
        "headline": wording.headline(one),
        "lines": [line for line in (wording.significance(one), wording.these_tasks(one)) if line],
        "finding": wording.finding(one),
        "cost": wording.cost(one),
        "outlook": wording.outlook(one),
        "basis": wording.basis(one),
        "arms": list(zip(one.arms, one.costs.arms, plots.ARM_COLOURS, one.record.arms, strict=True)),
        "plots": {
            "rates": plots.rates(one),
            "difference": plots.differences([one]),
            "variance": plots.variance(one) if all(arm.components for arm in one.arms) else "",
            "costs": plots.costs(one) if one.costs.unit else "",
        },
        "parts": plots.PART_COLOURS,
        "repeats": any(arm.components is not None and arm.components.repeats for arm in one.arms),
        "seeds": list(one.record.seeds),
        "ks": _some(len(one.record.seeds)),
        "changes": [(change, [_link(log, beside) for log in change.logs]) for change in one.changes[:LISTED]],
        "won": sum(change.side == "won" for change in one.changes),
        "lost": sum(change.side == "lost" for change in one.changes),
        "more": max(0, len(one.changes) - LISTED),
        "flakes": one.flakes[:LISTED],
        "frozen": list(one.record.frozen.to_json().items()),
    }


def _some(seeds: int) -> list[int]:
    """The k of pass@k that a table has room for."""
    return list(range(1, seeds + 1)) if seeds <= 10 else sorted({1, 2, 3, 5, 10, seeds // 2, seeds})


def _link(log: str | None, beside: Path) -> str | None:
    return None if log is None else quote(os.path.relpath(log, beside))
