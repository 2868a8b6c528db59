"""What an analysis says, in sentences that the terminal and the page share."""

from __future__ import annotations

from collections import Counter

from parsimony.difficulty.analysis import Difficulty, Respondent
from parsimony.difficulty.band import Place
from parsimony.difficulty.stability import Correlation


def census(found: Difficulty) -> str:
    """How many tasks are where."""
    places = Counter(item.place for item in found.items)
    parts = [f"{places[place]} {place.value}" for place in Place if places[place]]
    return f"{len(found.items)} tasks: {', '.join(parts)} (mid-range: {found.band.low:g} to {found.band.high:g})"


def saving(found: Difficulty) -> str:
    """What the mid-range set saves, and what it keeps."""
    chosen, all_tasks = len(found.selected), len(found.items)
    if not chosen:
        return "no task is mid-range: there is nothing to select"
    kept = (
        "" if found.kept_information is None else f" and keeps {100 * found.kept_information:.0f} % of the information"
    )
    share = 100 * (all_tasks - chosen) / all_tasks
    return f"the mid-range set has {chosen} tasks: it saves {all_tasks - chosen} of {all_tasks} ({share:.0f} %){kept}"


def ranks(found: Difficulty) -> str:
    """Whether ranks survive."""
    one = found.stability
    if one.kendall.value is None:
        return "ranks cannot be compared: too few respondents, or all equal on one of the sets"
    text = f"ranks of {one.compared} on the mid-range set against all tasks: Kendall's tau-b {correlation(one.kendall)}"
    text += f", Spearman's rho {correlation(one.spearman)}"
    return text if one.by_chance is None else f"{text}; a random set of as many tasks: tau-b {one.by_chance:.2f}"


def fit(found: Difficulty) -> str:
    """How the fit went."""
    fitted = sum(item.difficulty is not None for item in found.items)
    imprecise = sum(item.difficulty is not None and item.imprecise for item in found.items)
    how = "converged" if found.converged else "did not converge"
    return (
        f"fit: {fitted} of {len(found.items)} tasks, {imprecise} of them imprecise; {how} in {found.steps} steps "
        f"(largest derivative {found.gradient:.1e})"
    )


def correlation(one: Correlation) -> str:
    """`0.94 [0.89, 0.95]`."""
    if one.value is None:
        return "–"
    return f"{one.value:.2f}" + ("" if one.interval is None else f" [{one.interval[0]:.2f}, {one.interval[1]:.2f}]")


def ability(one: Respondent) -> str:
    """`+0.31 ± 0.12`, `+0.31` without an error, or a dash."""
    if one.ability is None:
        return "–"
    return f"{one.ability:+z.2f}" + ("" if one.ability_se is None else f" ± {one.ability_se:.2f}")


def rank(value: float | None) -> str:
    """`3`, `3.5`, or a dash."""
    return "–" if value is None else f"{value:g}"


def ranked(found: Difficulty) -> list[tuple[Respondent, float | None, float | None, float | None]]:
    """Respondents with their mean on all tasks, their rank there and on the mid-range set, the best first."""
    one = found.stability
    rows = list(zip(found.respondents, one.full, one.full_ranks, one.middle_ranks, strict=True))
    return sorted(rows, key=lambda row: (row[2] is None, row[2] or 0.0, row[0].name))
