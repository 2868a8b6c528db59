"""A night as Markdown, for the summary of a CI job: the verdict first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from parsimony.nightly.account import Account
from parsimony.nightly.book import State
from parsimony.nightly.flips import Flip, History

LISTED: Final = 50
"""Rows of a list: summaries have a limit of size."""

_WORDS: Final = {
    State.PASSED: "✅ passed",
    State.REGRESSION: "❌ regression",
    State.VOID: "⚠️ void: no verdict of this night counts",
    State.INCOMPLETE: "⏳ incomplete: verdicts are missing",
    State.REFUSED: "⛔ not comparable with the baseline",
}


def markdown(account: Account) -> str:
    """The text."""
    conclusion = account.conclusion
    baseline = conclusion.data["baseline"]
    against = f"against the accepted night {baseline}" if baseline else "no accepted night to compare with yet"
    parts = [f"## {_safe(account.name)} {account.day}: {_WORDS[conclusion.state]}", f"Compared: {against}."]
    parts += [_list(conclusion.reasons)]
    if conclusion.state is State.REGRESSION:
        parts.append(_suspects(account))
    parts += [_arms(account), _broken(account), _flaky(account), _quarantined(account), _list(account.notes)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _suspects(account: Account) -> str:
    nights = ", ".join(f"{p.day} ({p.state})" for p in account.suspects)
    since = f"since the last good night {account.last_good}" if account.last_good else "no good night before"
    return f"**Range of suspects** ({since}): {nights}."


def _arms(account: Account) -> str:
    compared = {one["arm"]: one for one in account.conclusion.data["comparisons"]}
    rows = []
    for name, arm in account.conclusion.data["arms"].items():
        low, high = arm["interval"]
        delta = compared.get(name)
        rows.append(
            (
                name,
                f"{100 * arm['rate']:.1f} % [{100 * low:.1f}, {100 * high:.1f}]",
                difference(delta),
                "" if delta is None else f"{delta['p_value']:.2g}",
                cost(arm["cost"]),
            )
        )
    return _table(("arm", "resolved", "against the baseline", "p (Holm)", "cost"), rows)


def difference(one: dict[str, Any] | None) -> str:
    """`-3.2 points [-6.0, -0.4]`; a dash where nothing was compared."""
    if one is None:
        return "–"
    ends = "" if one["interval"] is None else " [{:+.1f}, {:+.1f}]".format(*(100 * end for end in one["interval"]))
    return f"{100 * one['delta']:+.1f} points{ends}"


def cost(one: dict[str, Any]) -> str:
    """In dollars where they are known, else in tokens, else in seconds of CPU."""
    if one["dollars"] is not None:
        return f"${one['dollars']:,.2f}"
    if one["tokens"] is not None:
        return f"{one['tokens']:,} tokens"
    return f"{one['cpu_seconds']:,.0f} CPU s"


def _broken(account: Account) -> str:
    rows = [
        (f"`{_code(one.task_id)}`", one.arm, account.owner(one.task_id, one.repo), one.changed, cause(one), one.marks)
        for one in account.broken
    ]
    return _section("Newly broken", ("task", "arm", "owner", "first failed", "graded", "nights"), rows)


def cause(one: History) -> str:
    """Whether what was graded changed when the task broke."""
    return "the same patches" if one.same_patches else "other patches"


def _flaky(account: Account) -> str:
    rows = [
        (f"`{_code(one.task_id)}`", one.arm, account.owner(one.task_id, one.repo), one.marks)
        for one in account.of_kind(Flip.FLAKY)
    ]
    return _section("Flaky", ("task", "arm", "owner", "nights"), rows)


def _quarantined(account: Account) -> str:
    rows = [(f"`{_code(task)}`", owner, "; ".join(reasons)) for task, owner, reasons in account.quarantined]
    return _section("Quarantined, in no rate", ("task", "owner", "reasons"), rows)


def _section(title: str, heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    if not rows:
        return ""
    more = f"\n\n… and {len(rows) - LISTED} more in junit.xml." if len(rows) > LISTED else ""
    return f"### {title}: {len(rows)}\n\n{_table(heads, rows[:LISTED])}{more}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    if len(lines) == 2:
        return ""
    return "\n".join("| " + " | ".join(_safe(str(cell)) for cell in line) + " |" for line in lines)


def _list(texts: Sequence[str]) -> str:
    return "\n".join(f"- {_safe(text)}" for text in texts)


def _code(text: str) -> str:
    return text.replace("`", "'")


def _safe(text: str) -> str:
    """A text in one line that neither ends a cell nor is taken for HTML."""
    plain = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)
    if not plain.startswith("`"):  # in code, entities stand as they are
        plain = plain.replace("&", "&amp;").replace("<", "&lt;")
    return plain.replace("|", "\\|")
