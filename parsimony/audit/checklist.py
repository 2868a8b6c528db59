"""The Agentic Benchmark Checklist (Zhu et al. 2025, arXiv:2507.02825), as far as a machine can answer it for tasks that
are graded by tests: each id once, with a verdict and the evidence, taken from the checks of the audit.

O.* is outcome validity, T.* task validity: they hold for a task. R.* is reporting: it holds for the task file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from parsimony.audit.model import Check, Group, TaskAudit, Verdict
from parsimony.tasks import Task

_NOT_MATCHED: Final = "verdicts are read off executed tests; no text of an answer is compared"
_NO_JUDGE: Final = "no model judges anything"
_NO_FUZZ: Final = "the tests of the row are fixed; none are generated"
_NO_STATE: Final = "the state of a system is not compared; tests decide"
_NO_CHOICE: Final = "an answer is a patch, not a choice among answers"

NOT_APPLICABLE: Final = {
    "O.a.1": _NOT_MATCHED,
    "O.a.2": _NOT_MATCHED,
    "O.b.1": _NOT_MATCHED,
    "O.b.2": _NOT_MATCHED,
    "O.b.3": _NOT_MATCHED,
    "O.c.1": _NO_JUDGE,
    "O.c.2": _NO_JUDGE,
    "O.e.1": _NO_FUZZ,
    "O.e.2": _NO_FUZZ,
    "O.e.3": _NO_FUZZ,
    "O.g.1": _NO_STATE,
    "O.g.2": _NO_STATE,
    "O.h.1": _NO_CHOICE,
    "O.h.2": _NO_CHOICE,
}
"""Items on outcomes that are of another kind than an executed test."""

_WORST: Final = (Verdict.FAIL, Verdict.FINDING, Verdict.NOT_MEASURED, Verdict.PASS, Verdict.NOT_APPLICABLE)
NO_OPS: Final = ("canary.empty", "canary.whitespace", "canary.trivial", "base")
LEAKS: Final = ("image.objects", "image.copies", "canary.history", "statement")


def checklist(task: Task, environment_digest: str, checks: Sequence[Check]) -> tuple[Check, ...]:
    """The items O.* and T.* for one task, in the order of their ids.

    Args:
        checks: of `judging.judge`.
    """
    exploits = tuple(check.id for check in checks if check.group is Group.CANARIES)
    items = [
        *(_item(name, Verdict.NOT_APPLICABLE, evidence) for name, evidence in NOT_APPLICABLE.items()),
        _from("O.d.1", checks, ("gold", "base")),
        _from("O.d.2", checks, ("coverage", "mutants")),
        _from("O.f.2", checks, ("coverage",)),
        _from("O.f.3", checks, ("flaky",)),
        _from("O.g.3", checks, NO_OPS),
        _from("O.I.1", checks, exploits),
        _pinned(task, environment_digest),
        *_network(task, checks),
        _from("T.4", checks, ("image.state",)),
        _from("T.5", checks, LEAKS),
        _from("T.7", checks, ("gold",)),
        _from("T.8", checks, ("gold",)),
        _from("T.9", checks, ("gold",)),
        _from("T.10", checks, exploits),
    ]
    return tuple(sorted(items, key=lambda check: _order(check.id)))


def _order(name: str) -> tuple[str, str, int]:
    kind, *rest = name.split(".")
    letter = rest[0] if len(rest) > 1 or not rest[0].isdecimal() else ""
    return kind, letter.lower(), int(rest[-1]) if rest[-1].isdecimal() else 0


def _item(name: str, verdict: Verdict, evidence: str) -> Check:
    return Check(name, Group.CHECKLIST, verdict, evidence)


def _from(name: str, checks: Iterable[Check], ids: Sequence[str]) -> Check:
    """The worst of other checks, with the evidence of that one."""
    found = [check for check in checks if check.id in ids]
    if not found:
        return _item(name, Verdict.NOT_MEASURED, "there is no check of it")
    worst = min(found, key=lambda check: _WORST.index(check.verdict))
    if worst.verdict is Verdict.PASS and len(found) > 1:
        passed = [check.id for check in found if check.verdict is Verdict.PASS]
        return _item(name, Verdict.PASS, f"{len(passed)} of {len(found)} checks pass, none fails: {', '.join(passed)}")
    return _item(name, worst.verdict, f"{worst.id}: {worst.evidence}")


def _pinned(task: Task, environment_digest: str) -> Check:
    known = f"its digest is {environment_digest}, and verdicts are kept by it"
    if task.image is None:
        return _item("T.1", Verdict.PASS, f"no image; the tree is in the row, and of the machine {known}")
    if "@sha256:" in task.image:
        return _item("T.1", Verdict.PASS, f"the row names the image by digest; {known}")
    return _item("T.1", Verdict.FINDING, f"the row names the image by a tag, which can move; today {known}")


def _network(task: Task, checks: Sequence[Check]) -> Iterator[Check]:
    state = next((check for check in checks if check.id == "image.state"), None)
    if task.limits.network:
        yield _item("T.2", Verdict.NOT_MEASURED, "the row asks for the network; what it reaches there is not known")
        yield _item("T.3", Verdict.NOT_MEASURED, "the row asks for the network; its loss was not tried")
        yield _item("T.6", Verdict.FINDING, "the row asks for the network, which may be another one tomorrow")
        return
    yield _item("T.2", Verdict.NOT_APPLICABLE, "the network is cut off")
    yield _item("T.3", Verdict.NOT_APPLICABLE, "the network is cut off, also for the fix, which is resolved without it")
    if state is not None and state.verdict is Verdict.PASS:
        yield _item("T.6", Verdict.PASS, f"the network is cut off, and {state.evidence}")
    else:
        yield _item("T.6", Verdict.NOT_MEASURED, state.evidence if state else "the tree was not looked at")


# ---- reporting


def reporting(tasks: Sequence[TaskAudit]) -> tuple[Check, ...]:
    """The items R.* that an audit can answer for a task file; the others are said to be for people."""
    flawed = [task for task in tasks if task.reasons]
    baselines = [check for task in tasks for check in task.checks if check.id in NO_OPS]
    wrong = [check for check in baselines if check.verdict is Verdict.FAIL]
    statements = [check for task in tasks for check in task.checks if check.id == "statement"]
    leaking = [check for check in statements if check.verdict is Verdict.FINDING]
    answered: dict[str, Callable[[], Check]] = {
        "R.3": lambda: _item(
            "R.3",
            Verdict.PASS if statements else Verdict.NOT_MEASURED,
            f"{len(leaking)} of {len(tasks)} statements tell half of the fix or more (parsimony contamination)",
        ),
        "R.7": lambda: _item("R.7", Verdict.PASS, f"{len(flawed)} of {len(tasks)} tasks are quarantined, with reasons"),
        "R.9": lambda: _item(
            "R.9",
            Verdict.PASS if tasks else Verdict.NOT_MEASURED,
            f"quarantined tasks would be {len(flawed)} of {len(tasks)} of a denominator; they are taken out of it",
        ),
        "R.10": lambda: _item(
            "R.10", Verdict.NOT_APPLICABLE, "asked of a comparison; parsimony compare tests and gives intervals"
        ),
        "R.13": lambda: _item(
            "R.13",
            Verdict.FAIL if wrong else Verdict.PASS if baselines else Verdict.NOT_MEASURED,
            f"agents that do nothing resolve {len({c.id for c in wrong})} of {len(NO_OPS)} ways on {len(tasks)} tasks",
        ),
    }
    people = "for the authors of the benchmark to say"
    return tuple(
        answered[name]() if (name := f"R.{n}") in answered else _item(name, Verdict.NOT_APPLICABLE, people)
        for n in range(1, 14)
    )
