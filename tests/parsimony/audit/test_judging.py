"""From what was seen to checks, and from checks to who is quarantined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from parsimony.audit import (
    Canary,
    Check,
    Graded,
    Group,
    Layout,
    Mutant,
    Mutants,
    Seen,
    Verdict,
    checklist,
    judge,
    reporting,
)
from parsimony.audit.checklist import NOT_APPLICABLE
from parsimony.audit.coverage import Coverage
from parsimony.audit.flakes import evidence, remembering
from parsimony.audit.model import TaskAudit
from parsimony.audit.probe import Facts
from parsimony.execution import TestStatus
from parsimony.reference import TaskReference
from parsimony.scorer import Outcome
from parsimony.tasks import Task

P, F = TestStatus.PASSED, TestStatus.FAILED
LOW, NONE = "tests/test_core.py::test_low", "tests/test_core.py::test_none"
RESOLVED, NOT = Graded(Outcome.RESOLVED), Graded(Outcome.NOT_RESOLVED, ("failed: x",))


def reference(task: Task, gold: Any = (P, P), base: Any = (F, F), other: Any = (P, P)) -> TaskReference:
    return TaskReference(
        task.instance_id, task.digest, task.gates_digest, "sha256:env",
        gold={LOW: gold, NONE: other}, base={LOW: base, NONE: (P,) * len(base)},
    )  # fmt: skip


def mutant(number: int) -> Mutant:
    return Mutant(f"mutant-{number}", "pkg/core.py", number, "constant", "1", "(2)", b"x")


@pytest.fixture
def seen(task: Task) -> Seen:
    """A sound task."""
    return Seen(
        task=task,
        reference=reference(task),
        gold=(RESOLVED, RESOLVED),
        base=(NOT, NOT),
        facts=(Facts(tree="t", lines=2, whole=True),) * 2,
        canaries=(Canary("empty", "an empty patch", b""), Canary("exit-zero", "exits", b"x")),
        mutants=Mutants((mutant(1), mutant(2)), 5),
        graded={"empty": Graded(Outcome.EMPTY_PATCH), "exit-zero": NOT, "mutant-1": NOT, "mutant-2": NOT},
        coverage=Coverage({"pkg/core.py": (2, 3)}, {"pkg/core.py": (2, 3)}, {}, ()),
    )


def verdicts(seen: Seen) -> dict[str, Verdict]:
    return {check.id: check.verdict for check in judge(seen)}


def test_a_sound_task_passes_everything(seen: Seen) -> None:
    found = verdicts(seen)
    assert set(found.values()) == {Verdict.PASS, Verdict.NOT_APPLICABLE}
    assert {name for name, verdict in found.items() if verdict is Verdict.NOT_APPLICABLE} == {"statement"}


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        (Outcome.RESOLVED, Verdict.FAIL),
        (Outcome.NOT_RESOLVED, Verdict.PASS),
        (Outcome.TAMPERED, Verdict.PASS),
        (Outcome.TIMED_OUT, Verdict.PASS),
        (Outcome.OUT_OF_MEMORY, Verdict.PASS),
        (Outcome.EMPTY_PATCH, Verdict.PASS),
        (Outcome.DOES_NOT_APPLY, Verdict.NOT_MEASURED),
        (Outcome.MISSING, Verdict.NOT_MEASURED),
    ],
)
def test_a_canary_fails_when_it_is_resolved_and_says_nothing_when_it_did_not_run(
    seen: Seen, outcome: Outcome, verdict: Verdict
) -> None:
    changed = replace(seen, graded={**seen.graded, "exit-zero": Graded(outcome)})
    assert verdicts(changed)["canary.exit-zero"] is verdict


def test_a_canary_without_a_verdict_is_not_measured(seen: Seen) -> None:
    assert verdicts(replace(seen, graded={}))["canary.exit-zero"] is Verdict.NOT_MEASURED


def test_a_canary_that_cannot_be_made_says_why(seen: Seen) -> None:
    made = replace(seen, canaries=(Canary("history", "looks", None, "no source is known"),))
    check = next(check for check in judge(made) if check.id == "canary.history")
    assert (check.verdict, check.evidence) == (Verdict.NOT_APPLICABLE, "no source is known")


def test_gold_must_be_resolved_every_time(seen: Seen) -> None:
    check = next(c for c in judge(replace(seen, gold=(RESOLVED, NOT))) if c.id == "gold")
    assert check.verdict is Verdict.FAIL
    assert check.evidence == "the task's own fix is resolved 1 of 2 times; not_resolved (failed: x)"


def test_the_base_must_fail(seen: Seen, task: Task) -> None:
    assert verdicts(replace(seen, base=(RESOLVED, NOT)))["base"] is Verdict.FAIL
    passes = replace(seen, reference=reference(task, base=(P, P)))
    assert verdicts(passes)["base"] is Verdict.FAIL
    sometimes = replace(seen, reference=reference(task, base=(P, F)))
    assert verdicts(sometimes)["base"] is Verdict.PASS, "an unstable test takes no part"


def test_flakes_are_findings_with_names(seen: Seen, task: Task) -> None:
    check = next(c for c in judge(replace(seen, reference=reference(task, other=(P, F)))) if c.id == "flaky")
    assert check.verdict is Verdict.FINDING
    assert check.data["unstable"] == [NONE]
    assert "1 of 2 tests (50.0%)" in check.evidence
    once = replace(seen, reference=reference(task, (P,), (F,), (P,)))
    assert verdicts(once)["flaky"] is Verdict.NOT_MEASURED


@pytest.mark.parametrize(
    ("facts", "check", "verdict"),
    [
        ({"later_count": 3, "commits": 3}, "image.objects", Verdict.FAIL),
        ({"fix": {"pkg/core.py": "stray"}}, "image.objects", Verdict.FAIL),
        ({"fix": {"pkg/core.py": "own"}}, "image.objects", Verdict.FINDING),
        ({"fix": {"pkg/core.py": "absent"}, "commits": 2}, "image.objects", Verdict.PASS),
        ({"blob_lines": 1, "blobs": 9}, "image.objects", Verdict.FAIL),
        ({"lines": 3, "blob_lines": 1, "blobs": 9}, "image.objects", Verdict.PASS),
        ({"problems": ["too old a git"]}, "image.objects", Verdict.NOT_MEASURED),
        ({"copies": ["/usr/lib/core.py"]}, "image.copies", Verdict.FINDING),
        ({"twins": ["pkg/copy.py"]}, "image.copies", Verdict.FINDING),
        ({"lines": 0}, "image.copies", Verdict.NOT_APPLICABLE),
        ({"whole": False, "problems": ["cut"]}, "image.copies", Verdict.NOT_MEASURED),
    ],
)
def test_images(seen: Seen, facts: dict[str, Any], check: str, verdict: Verdict) -> None:
    one = Facts(**{"tree": "t", "lines": 2, "whole": True, **facts})
    assert verdicts(replace(seen, facts=(one, one)))[check] is verdict


def test_gradings_must_start_from_the_same_tree(seen: Seen) -> None:
    other = (Facts(tree="a", whole=True), Facts(tree="b", whole=True))
    assert verdicts(replace(seen, facts=other))["image.state"] is Verdict.FAIL
    assert verdicts(replace(seen, facts=other[:1]))["image.state"] is Verdict.NOT_MEASURED
    assert verdicts(replace(seen, facts=()))["image.state"] is Verdict.NOT_MEASURED


def test_surviving_mutants_are_a_finding_above_the_threshold(seen: Seen) -> None:
    four = Mutants(tuple(map(mutant, range(1, 5))), 9)
    killed = {f"mutant-{n}": NOT for n in range(1, 5)}
    one = replace(seen, mutants=four, graded={**killed, "mutant-1": RESOLVED})
    assert verdicts(one)["mutants"] is Verdict.PASS, "a quarter may be equivalent mutants"
    two = replace(one, graded={**killed, "mutant-1": RESOLVED, "mutant-2": RESOLVED})
    check = next(c for c in judge(two) if c.id == "mutants")
    assert check.verdict is Verdict.FINDING
    assert check.data["score"] == 0.5
    assert [each["name"] for each in check.data["survived"]] == ["mutant-1", "mutant-2"]
    none = replace(one, graded={"mutant-1": Graded(Outcome.DOES_NOT_APPLY)})
    assert verdicts(none)["mutants"] is Verdict.NOT_MEASURED


def test_coverage_names_the_lines_that_no_gate_test_executes(seen: Seen) -> None:
    found = Coverage({"pkg/core.py": (2, 3)}, {"pkg/core.py": (2,)}, {"pkg/core.py": (3,)}, ())
    check = next(c for c in judge(replace(seen, coverage=found)) if c.id == "coverage")
    assert check.verdict is Verdict.FINDING
    assert check.evidence == "FAIL_TO_PASS tests execute 1 of 2 added lines that hold code; not pkg/core.py:3"
    assert verdicts(replace(seen, coverage="another language"))["coverage"] is Verdict.NOT_MEASURED
    empty = Coverage({}, {}, {}, ())
    assert verdicts(replace(seen, coverage=empty))["coverage"] is Verdict.NOT_APPLICABLE


def test_a_statement_that_tells_the_fix_is_a_finding(seen: Seen, task: Task) -> None:
    told = replace(task, problem_statement="if value < low and low is not None:\n return min(value, high)")
    assert verdicts(replace(seen, task=told))["statement"] is Verdict.FINDING


def test_findings_do_not_quarantine_and_failures_do(seen: Seen) -> None:
    def audited(what: Seen) -> TaskAudit:
        checks = judge(what)
        all_ = (*checks, *checklist(what.task, "sha256:env", checks))
        return TaskAudit(what.task.instance_id, "d", "g", "e", "2026-01-01T00:00:00Z", all_)

    assert audited(seen).reasons == ()
    weak = replace(seen, graded={**seen.graded, "mutant-1": RESOLVED, "mutant-2": RESOLVED})
    assert audited(weak).reasons == ()
    assert audited(weak).state(Group.MUTANTS) is Verdict.FINDING
    cheated = audited(replace(seen, graded={**seen.graded, "exit-zero": RESOLVED}))
    assert cheated.reasons == ("canary.exit-zero: a patch that exits is resolved",), "once, not again by O.I.1 and T.10"
    assert cheated.state(Group.CHECKLIST) is Verdict.FAIL


def items(seen: Seen) -> dict[str, Check]:
    return {check.id: check for check in checklist(seen.task, "sha256:env", judge(seen))}


def test_the_checklist_has_each_item_once_with_evidence(seen: Seen) -> None:
    outcome = {"O.d.1", "O.d.2", "O.f.2", "O.f.3", "O.g.3", "O.I.1", *NOT_APPLICABLE}
    found = checklist(seen.task, "sha256:env", judge(seen))
    assert {check.id for check in found} == outcome | {f"T.{n}" for n in range(1, 11)}
    assert len({check.id for check in found}) == len(found)
    assert all(check.evidence for check in found)
    assert all(items(seen)[name].verdict is Verdict.PASS for name in ("O.d.1", "O.I.1", "T.4", "T.5", "T.8", "T.10"))


def test_items_follow_the_checks_that_they_rest_on(seen: Seen) -> None:
    cheated = items(replace(seen, graded={**seen.graded, "exit-zero": RESOLVED}))
    assert {name for name, check in cheated.items() if check.verdict is Verdict.FAIL} == {"O.I.1", "T.10"}
    broken = items(replace(seen, gold=(NOT, NOT)))
    assert {name for name, c in broken.items() if c.verdict is Verdict.FAIL} == {"O.d.1", "T.7", "T.8", "T.9"}
    idle = items(replace(seen, graded={**seen.graded, "empty": RESOLVED}))
    assert idle["O.g.3"].verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("image", "verdict"),
    [(None, Verdict.PASS), ("a@sha256:" + "0" * 64, Verdict.PASS), ("a:latest", Verdict.FINDING)],
)
def test_images_by_tag_can_move(seen: Seen, image: str | None, verdict: Verdict) -> None:
    assert items(replace(seen, task=replace(seen.task, image=image)))["T.1"].verdict is verdict


def test_a_task_with_the_network_is_not_called_isolated(seen: Seen) -> None:
    task = replace(seen.task, limits=replace(seen.task.limits, network=True))
    found = items(replace(seen, task=task))
    assert [found[name].verdict for name in ("T.2", "T.3", "T.6")] == [
        Verdict.NOT_MEASURED, Verdict.NOT_MEASURED, Verdict.FINDING,
    ]  # fmt: skip


def test_reporting_has_thirteen_items() -> None:
    assert [check.id for check in reporting([])] == [f"R.{n}" for n in range(1, 14)]


# ---- what is remembered of flakes


def test_runs_that_show_nothing_new_leave_the_reference_alone(task: Task) -> None:
    old = reference(task, (P, P, P), (F, F, F), (P, F, P))
    assert remembering(task, reference(task), old) is old


def test_a_flake_is_never_forgotten(task: Task) -> None:
    old, new = reference(task), reference(task, other=(P, F))
    found = remembering(task, new, old)
    assert found.gold[NONE] == (P, P, P, F)
    assert found.unstable == {NONE}
    assert remembering(task, reference(task), found) is found
    assert evidence(found) == {NONE: {"gold": ["passed", "passed", "passed", "failed"], "base": ["passed"] * 4}}


def test_another_environment_starts_anew(task: Task) -> None:
    old = replace(reference(task, other=(P, F)), environment_digest="sha256:other")
    new = reference(task)
    assert remembering(task, new, old) is new
    assert remembering(task, new, None) is new


def test_runs_that_disagree_over_time_are_flakes(task: Task, layout: Layout) -> None:
    found = remembering(task, reference(task, gold=(F, F)), reference(task))
    assert found.unstable == {LOW}
    assert "no test of FAIL_TO_PASS is stable" in found.problems
