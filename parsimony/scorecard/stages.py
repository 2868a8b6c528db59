"""The measures of one trial that need no patch: planning, testing, robustness, what it cost."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence

from parsimony.execution import TestStatus
from parsimony.runs import Spend, Trial
from parsimony.scorecard.material import Material
from parsimony.scorecard.note import Exercised, Planned, Robust, Spent
from parsimony.scorer import Outcome
from parsimony.tasks import Task, Trace

Price = Callable[[Spend], int | None]
"""What computing costs in millionths of a US dollar; None = no price is at hand."""

UNTOUCHED = frozenset({Outcome.EMPTY_PATCH, Outcome.DOES_NOT_APPLY})
"""Outcomes that leave the tree as it was."""


def obligations(task: Task) -> tuple[frozenset[str], ...]:
    """What the task requires: of each obligation the names that it goes by, normalised.

    Read from the row's field `obligations`: a list of texts, or of objects with `id` or `text` or both.
    """
    stated = task.row.get("obligations")
    names = (_names(one) for one in stated) if isinstance(stated, list) else ()
    return tuple(dict.fromkeys(one for one in names if one))


def _names(stated: object) -> frozenset[str]:
    texts = [stated.get("id"), stated.get("text")] if isinstance(stated, Mapping) else [stated]
    return frozenset(normal(str(text)) for text in texts if isinstance(text, (str, int)) and normal(str(text)))


def normal(text: str) -> str:
    """A text for comparing: one form of each character, lower case, single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def plan(task: Task, trace: Trace | None) -> Planned:
    """The fraction of the required obligations that the trace has, by their id or text."""
    required = obligations(task)
    told = {normal(text) for text in (trace.obligations if trace is not None else ())}
    matched = sum(not told.isdisjoint(names) for names in required)
    return Planned(len(required), matched, matched / len(required) if required and told else None)


def exercise(gate: Sequence[str], trial: Trial, material: Material) -> Exercised:
    """How many tests of a gate were run: reported, and not as skipped. Results that cannot be trusted show nothing."""
    skipped = material.skipped_by_gold
    wanted = [test for test in gate if test not in skipped] if skipped else gate
    if trial.outcome is Outcome.TAMPERED:
        return Exercised(0, len(wanted))
    seen = list(map(material.tests.get, wanted))
    return Exercised(len(wanted) - seen.count(None) - seen.count(TestStatus.SKIPPED), len(wanted))


def regressions(trial: Trial) -> int | None:
    """PASS_TO_PASS tests that are not shown to pass any more. A tree that was left as it was has none."""
    if trial.outcome in UNTOUCHED:
        return 0
    if trial.pass_to_pass is None:
        return trial.regressions
    return trial.pass_to_pass[1] - trial.pass_to_pass[0]


def robustness(variants: Mapping[str, bool], repeats: Iterable[bool]) -> Robust | None:
    """The success rate over the variants of the task; where it has none, over the repeats of the candidate that have a
    verdict. None without any."""
    runs, source = (list(variants.values()), "variants") if variants else (list(repeats), "repeats")
    return Robust(sum(runs) / len(runs), len(runs), source) if runs else None


def spent(trial: Trial, price: Price) -> Spent:
    """What producing and grading a candidate cost together. Grading one that was not executed cost nothing; what
    producing cost is not known where its prediction tells nothing."""
    llm, grading = trial.llm, trial.compute
    if grading is None and trial.execution_key is None:
        grading = Spend(micro_dollars=0)
    if llm is None or grading is None:
        return Spent(None, None, None, None, None)
    computed = grading.micro_dollars if grading.micro_dollars is not None else price(grading)
    dollars = None if llm.micro_dollars is None or computed is None else llm.micro_dollars + computed
    return Spent(
        llm.tokens, llm.calls, llm.cpu_seconds + grading.cpu_seconds, llm.wall_seconds + grading.wall_seconds, dollars
    )
