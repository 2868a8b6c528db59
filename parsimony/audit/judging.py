"""What was seen of a task becomes checks: rules, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from parsimony.audit.canaries import Canary
from parsimony.audit.coverage import Coverage
from parsimony.audit.model import Check, Group, Verdict
from parsimony.audit.mutants import SURVIVAL_THRESHOLD, Mutant, Mutants
from parsimony.audit.probe import Facts
from parsimony.contamination import LEAKED_FROM
from parsimony.contamination.leaks import leak_of
from parsimony.reference import TaskReference
from parsimony.scorer import Outcome
from parsimony.tasks import Task

SHOWN: Final = 5
"""How many names a text gives; all are in the data."""


@dataclass(frozen=True, slots=True)
class Graded:
    """What came of a canary or a mutant."""

    outcome: Outcome
    reasons: tuple[str, ...] = ()
    execution_key: str | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that an audit saw of one task.

    Attributes:
        reference: of gold × n and base × n.
        gold, base: what each of their runs came to, as a grading would say.
        facts: of the probes, one per run of it.
        canaries, mutants: those that were made. graded: by the name of a canary or mutant.
        coverage: in words where it could not be measured: why.
    """

    task: Task
    reference: TaskReference
    gold: tuple[Graded, ...]
    base: tuple[Graded, ...]
    facts: tuple[Facts, ...]
    canaries: tuple[Canary, ...]
    mutants: Mutants
    graded: Mapping[str, Graded] = field(default_factory=dict)
    coverage: Coverage | str = ""


def judge(seen: Seen) -> tuple[Check, ...]:
    """The checks of one task, those of the checklist apart."""
    return (
        *(_canary(one, seen.graded.get(one.name)) for one in seen.canaries),
        _gold(seen),
        _base(seen),
        _flaky(seen.reference),
        *_image(seen.facts),
        _mutants(seen.mutants, seen.graded),
        _coverage(seen),
        _statement(seen.task),
    )


# ---- canaries


def _canary(canary: Canary, graded: Graded | None) -> Check:
    def check(verdict: Verdict, evidence: str, **data: Any) -> Check:
        return Check(f"canary.{canary.name}", Group.CANARIES, verdict, evidence, {"does": canary.does, **data})

    if canary.patch is None:
        return check(Verdict.NOT_APPLICABLE, canary.why_not)
    if graded is None or graded.outcome is Outcome.MISSING:
        return check(Verdict.NOT_MEASURED, _why("there is no verdict", graded))
    facts = {"outcome": graded.outcome.value, "reasons": list(graded.reasons), "execution_key": graded.execution_key}
    if graded.outcome is Outcome.RESOLVED:
        return check(Verdict.FAIL, f"a patch that {canary.does} is resolved", **facts)
    if graded.outcome is Outcome.DOES_NOT_APPLY:
        return check(Verdict.NOT_MEASURED, _why("it does not apply, so it shows nothing", graded), **facts)
    return check(Verdict.PASS, _why(graded.outcome.value, graded), **facts)


def _why(what: str, graded: Graded | None) -> str:
    return f"{what} ({graded.reasons[0]})" if graded is not None and graded.reasons else what


# ---- gold, base, flakes


def _gold(seen: Seen) -> Check:
    resolved = sum(one.outcome is Outcome.RESOLVED for one in seen.gold)
    data = {"resolved": resolved, "runs": len(seen.gold), "outcomes": [one.outcome.value for one in seen.gold]}
    if resolved == len(seen.gold):
        evidence = f"the task's own fix is resolved {resolved} of {resolved} times"
        return Check("gold", Group.GOLD, Verdict.PASS, evidence, data)
    bad = next(one for one in seen.gold if one.outcome is not Outcome.RESOLVED)
    evidence = f"the task's own fix is resolved {resolved} of {len(seen.gold)} times; {_why(bad.outcome.value, bad)}"
    return Check("gold", Group.GOLD, Verdict.FAIL, evidence, {**data, "problems": list(seen.reference.problems)})


def _base(seen: Seen) -> Check:
    task, runs = seen.task, len(seen.base)
    passing = [
        test
        for test in task.fail_to_pass
        if any(s is not None and s.value in {"passed", "xpass", "xfail"} for s in seen.reference.base.get(test, ()))
    ]
    data = {
        "runs": runs,
        "resolved": sum(one.outcome is Outcome.RESOLVED for one in seen.base),
        "passing": passing,
        "outcomes": [one.outcome.value for one in seen.base],
    }
    if data["resolved"]:
        evidence = f"the base tree is resolved {data['resolved']} of {runs} times"
        return Check("base", Group.BASE, Verdict.FAIL, evidence, data)
    stable = [test for test in passing if test not in seen.reference.unstable]
    if stable:
        evidence = f"the base tree already passes {_some(stable)} of FAIL_TO_PASS"
        return Check("base", Group.BASE, Verdict.FAIL, evidence, data)
    return Check("base", Group.BASE, Verdict.PASS, f"the base tree is not resolved {runs} of {runs} times", data)


def _flaky(reference: TaskReference) -> Check:
    tests = len(reference.gold)
    runs = max((len(statuses) for statuses in reference.gold.values()), default=0)
    unstable = sorted(reference.unstable)
    data = {"runs": runs, "tests": tests, "unstable": unstable}
    if runs < 2:
        return Check("flaky", Group.FLAKY, Verdict.NOT_MEASURED, "one run of the fix cannot show a flake", data)
    if not unstable:
        return Check("flaky", Group.FLAKY, Verdict.PASS, f"{tests} tests were the same in {runs} runs", data)
    share = f"{len(unstable)} of {tests} tests ({len(unstable) / tests:.1%})"
    evidence = f"{share} were not the same in {runs} runs and take no part: {_some(unstable)}"
    return Check("flaky", Group.FLAKY, Verdict.FINDING, evidence, data)


# ---- the image


def _image(probes: Sequence[Facts]) -> Iterator[Check]:
    if not probes:
        for name in ("image.objects", "image.copies", "image.state"):
            yield Check(name, Group.IMAGE, Verdict.NOT_MEASURED, "the probe of the image has no result")
        return
    facts = probes[0]
    yield _objects(facts)
    yield _copies(facts)
    states = {one.tree for one in probes}
    data = {"states": sorted(states), "head": facts.head}
    if len(probes) < 2:
        yield Check("image.state", Group.IMAGE, Verdict.NOT_MEASURED, "the tree was looked at only once", data)
    elif len(states) == 1:
        yield Check("image.state", Group.IMAGE, Verdict.PASS, "every grading starts from the same tree", data)
    else:
        yield Check("image.state", Group.IMAGE, Verdict.FAIL, "gradings do not start from the same tree", data)


def _objects(facts: Facts) -> Check:
    """Whether git has the answer: in HEAD's own history it is a fact of the project, elsewhere it is a leak."""
    stray = [path for path, state in facts.fix.items() if state == "stray"]
    own = [path for path, state in facts.fix.items() if state == "own"]
    told = facts.lines > 0 and facts.blob_lines >= facts.lines * LEAKED_FROM
    data = {
        "head": facts.head, "commits_outside_of_head": facts.commits, "later_commits": facts.later_count,
        "later": facts.later, "blobs_outside_of_head": facts.blobs, "lines_of_the_fix": facts.lines,
        "lines_in_those_blobs": facts.blob_lines, "fixed_files": dict(facts.fix), "problems": facts.problems,
    }  # fmt: skip
    found = []
    if stray:
        found.append(f"the fixed {_some(stray)} is among them")
    if told:
        found.append(f"{facts.blob_lines} of {facts.lines} telling lines of the fix stand in them")
    if facts.later_count:
        found.append(f"{facts.later_count} commits are not older than HEAD and not in its history")
    if found:
        evidence = "git objects that HEAD does not reach hold the answer or what came after: " + "; ".join(found)
        return Check("image.objects", Group.IMAGE, Verdict.FAIL, evidence, data)
    if facts.problems:
        return Check("image.objects", Group.IMAGE, Verdict.NOT_MEASURED, facts.problems[0], data)
    if own:
        evidence = f"the fix brings back what {_some(own)} once was: the history of HEAD holds it"
        return Check("image.objects", Group.IMAGE, Verdict.FINDING, evidence, data)
    outside = f"{facts.commits} commits and {facts.blobs} blobs"
    evidence = f"the {outside} that HEAD does not reach tell nothing of the fix"
    return Check("image.objects", Group.IMAGE, Verdict.PASS, evidence, data)


def _copies(facts: Facts) -> Check:
    data = {"copies": facts.copies, "twins": facts.twins, "lines": facts.lines}
    if facts.copies:
        evidence = f"a fixed copy lies in the image, outside of the work tree: {_some(facts.copies)}"
        return Check("image.copies", Group.IMAGE, Verdict.FINDING, evidence, data)
    if not facts.whole:
        return Check("image.copies", Group.IMAGE, Verdict.NOT_MEASURED, facts.problems[-1], data)
    if not facts.lines:
        evidence = "the fix adds no line that could be looked for"
        return Check("image.copies", Group.IMAGE, Verdict.NOT_APPLICABLE, evidence, data)
    if facts.twins:
        evidence = f"all {facts.lines} telling lines of the fix stand in {_some(facts.twins)} of the base tree as well"
        return Check("image.copies", Group.IMAGE, Verdict.FINDING, evidence, data)
    evidence = "no other file of the work tree, and none of that name outside of it, holds the lines of the fix"
    return Check("image.copies", Group.IMAGE, Verdict.PASS, evidence, data)


# ---- weak tests


def _mutants(mutants: Mutants, graded: Mapping[str, Graded]) -> Check:
    if mutants.problem:
        return Check("mutants", Group.MUTANTS, Verdict.NOT_MEASURED, mutants.problem)
    survived: list[Mutant] = []
    killed: list[Mutant] = []
    void: list[Mutant] = []
    for one in mutants.chosen:
        outcome = graded[one.name].outcome if one.name in graded else Outcome.MISSING
        sort = {Outcome.RESOLVED: survived, Outcome.MISSING: void, Outcome.DOES_NOT_APPLY: void}
        sort.get(outcome, killed).append(one)
    judged = len(survived) + len(killed)
    data = {
        "possible": mutants.possible, "judged": judged, "killed": len(killed), "without_verdict": len(void),
        "score": len(killed) / judged if judged else None, "threshold": SURVIVAL_THRESHOLD,
        "survived": [_mutant(one) for one in survived],
    }  # fmt: skip
    if not judged:
        return Check("mutants", Group.MUTANTS, Verdict.NOT_MEASURED, "no mutant has a verdict", data)
    evidence = f"{len(killed)} of {judged} mutants of the fix are not resolved ({mutants.possible} could be made)"
    if survived:
        evidence += f"; resolved: {_some([one.words for one in survived], 2)}"
    weak = len(survived) / judged > SURVIVAL_THRESHOLD
    return Check("mutants", Group.MUTANTS, Verdict.FINDING if weak else Verdict.PASS, evidence, data)


def _mutant(one: Mutant) -> dict[str, Any]:
    return {
        "name": one.name, "path": one.path, "line": one.line, "operator": one.operator, "was": one.was, "now": one.now
    }  # fmt: skip


def _coverage(seen: Seen) -> Check:
    found = seen.coverage
    if isinstance(found, str):
        return Check("coverage", Group.COVERAGE, Verdict.NOT_MEASURED, found)
    data = {
        "executable": found.total, "covered": found.hit, "ratio": found.ratio, "missed": found.missed,
        "only_by_other_tests": {path: list(lines) for path, lines in found.other.items() if lines},
        "unloaded": list(found.unloaded),
    }  # fmt: skip
    if not found.total:
        evidence = "no line that the fix adds holds code"
        return Check("coverage", Group.COVERAGE, Verdict.NOT_APPLICABLE, evidence, data)
    evidence = f"FAIL_TO_PASS tests execute {found.hit} of {found.total} added lines that hold code"
    if not found.missed:
        return Check("coverage", Group.COVERAGE, Verdict.PASS, evidence, data)
    return Check("coverage", Group.COVERAGE, Verdict.FINDING, f"{evidence}; not {_some(found.missed)}", data)


def _statement(task: Task) -> Check:
    leak = leak_of(task)
    if leak.problem is not None or leak.ratio is None:
        evidence = leak.problem or "there is nothing to look for"
        return Check("statement", Group.STATEMENT, Verdict.NOT_APPLICABLE, evidence)
    data = {"ratio": leak.ratio, "told": list(leak.told), "lines": leak.lines, "threshold": LEAKED_FROM}
    evidence = f"the problem statement tells {len(leak.told)} of {leak.lines} telling lines of the fix"
    verdict = Verdict.FINDING if leak.ratio >= LEAKED_FROM else Verdict.PASS
    return Check("statement", Group.STATEMENT, verdict, evidence, data)


def _some(names: Sequence[str], count: int = SHOWN) -> str:
    more = f" and {len(names) - count} more" if len(names) > count else ""
    return ", ".join(names[:count]) + more
