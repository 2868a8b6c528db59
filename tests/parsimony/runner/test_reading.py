"""A sandbox's result becomes an execution: what each way of ending means, and what is an infrastructure fault."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimony.errors import ParsimonyError, PermanentError, TemporaryError
from parsimony.execution import (
    CapturedOutput,
    Ending,
    Evidence,
    Execution,
    ExecutionOutcome,
    Limits,
    ResourceUsage,
    SandboxResult,
    TestStatus,
)
from parsimony.runner import GradingOrder, Policy, build_order, execution_key, read
from parsimony.tasks import Task

PATCH = b"diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-old\n+new\n"
GO_LOG = b"".join(
    line + b"\n"
    for line in (
        b'{"Action":"run","Package":"p","Test":"TestA"}',
        b'{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}',
        b'{"Action":"pass","Package":"p","Elapsed":0.1}',
    )
)


def make_task(log_format: str = "pytest", **more: object) -> Task:
    task = Task("t-1", "o/r", None, ("a",), (), log_format, test_cmd="pytest", image="img")
    return replace(task, **more)  # type: ignore[arg-type]


def make_order(task: Task | None = None, patch: bytes = PATCH) -> GradingOrder:
    return build_order(
        task or make_task(), patch, key="sha256:" + "1" * 64, run_id="run", attempt=1, limits=Limits(timeout_s=9),
        policy=Policy(), labels={},
    )  # fmt: skip


def make_result(
    ending: Ending = Ending.EXITED,
    exit_status: int | None = 0,
    outputs: dict[str, bytes] | None = None,
    log: CapturedOutput | None = None,
) -> SandboxResult:
    return SandboxResult(ending, exit_status, outputs or {}, log or CapturedOutput(), ResourceUsage(1.0), {})


def run(result: SandboxResult, order: GradingOrder | None = None) -> Execution:
    return read(order or make_order(), result, sandbox="fake")


IN_TESTS = {"phase": b"tests\n"}
DONE = {"phase": b"done\n", "steps": b"strategy git\nvariant 0\nexit_status 0\n"}


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (make_result(Ending.OUT_OF_MEMORY, None, IN_TESTS), ExecutionOutcome.OUT_OF_MEMORY),
        (make_result(Ending.DEADLINE, None, IN_TESTS), ExecutionOutcome.TIMED_OUT),
        (make_result(Ending.DISK_LIMIT, None, IN_TESTS), ExecutionOutcome.UNTRUSTED),
        (make_result(exit_status=64, outputs={"steps": b"problem x\n"}), ExecutionOutcome.DOES_NOT_APPLY),
        (make_result(exit_status=137, outputs=IN_TESTS), ExecutionOutcome.UNTRUSTED),
        (make_result(exit_status=0, outputs=IN_TESTS), ExecutionOutcome.UNTRUSTED),
        (make_result(exit_status=0, outputs=DONE), ExecutionOutcome.UNTRUSTED),  # no report of our reporter
    ],
)
def test_what_a_candidate_can_cause_is_an_outcome(result: SandboxResult, outcome: ExecutionOutcome) -> None:
    """Never an exception, and the reason is said in words."""
    execution = run(result)
    assert execution.outcome is outcome
    assert execution.reasons
    assert execution.evidence is Evidence.NONE


def test_a_child_killed_for_memory_is_out_of_memory_when_the_run_broke_by_it() -> None:
    """The container itself went on to its end; a kill that left no hole is only noted."""
    broke = replace(make_result(outputs=DONE), memory_kills=1)
    assert run(broke).outcome is ExecutionOutcome.OUT_OF_MEMORY
    order = make_order(make_task("go-test"))
    nonce = order.reading.nonce.encode()
    text = b"\n" + nonce + b" start\n" + GO_LOG + b"\n" + nonce + b" end 0\n"
    whole = replace(make_result(outputs=DONE, log=CapturedOutput(text, b"", len(text))), memory_kills=1)
    assert run(whole, order).outcome is ExecutionOutcome.COMPLETED


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (make_result(Ending.DEADLINE, None, {"phase": b"setup\n"}), TemporaryError),
        (make_result(exit_status=1), TemporaryError),
        (make_result(exit_status=137, outputs={"phase": b"setup\n"}), TemporaryError),
        (make_result(exit_status=65, outputs={"steps": b"problem the test patch does not apply\n"}), PermanentError),
        (make_result(exit_status=66, outputs={"steps": b"problem no tree\n"}), PermanentError),
    ],
)
def test_what_no_candidate_can_cause_is_a_fault(result: SandboxResult, error: type[Exception]) -> None:
    """Nothing of the candidate had run yet: no verdict."""
    with pytest.raises(error):
        run(result)


def blob(data: bytes) -> bytes:
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest().encode()


def test_base_files_come_back_as_they_were_before_the_tests() -> None:
    """The files of the candidate and of the task's own fix that count; what the tests wrote over is not known."""
    fix = PATCH.replace(b"m.py", b"pkg/own.py") + PATCH.replace(b"m.py", b"tests/test_m.py")
    big, forged = PATCH.replace(b"m.py", b"big.py"), PATCH.replace(b"m.py", b"forged.py")
    gone = b"diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n"
    order = make_order(make_task(patch=fix), PATCH + big + forged + gone)
    assert order.reading.sources == ("m.py", "big.py", "forged.py", "new.py", "pkg/own.py")
    assert b"source_file 4 pkg/own.py" in order.request.files["sources.sh"]
    steps = b"base 0 %b\nbase 2 %b\nbase 4 %b\ntoo_large 1\n" % (blob(b"old\n"), blob(b"old\n"), blob(b"own\n"))
    outputs = {"base/0": b"old\n", "base/2": b"overwritten\n", "base/4": b"own\n", "base/3": b"put there\n"}
    execution = run(make_result(outputs={**DONE, **outputs, "steps": DONE["steps"] + steps}), order)
    assert execution.base_files == {"m.py": b"old\n", "new.py": None, "pkg/own.py": b"own\n"}


def test_the_applied_patch_is_what_was_noted() -> None:
    """A strategy that moves hunks leaves a diff of the tree; the tests cannot put another in its place."""
    seen = b"diff --git a/m.py b/m.py\n"
    steps = b"strategy fuzz\nvariant 0\napplied %b\nexit_status 0\n" % blob(seen)
    assert run(make_result(outputs={**DONE, "steps": steps, "applied.patch": seen})).applied_patch == seen
    assert run(make_result(outputs={**DONE, "steps": steps, "applied.patch": b"forged"})).applied_patch == PATCH
    assert run(make_result(outputs={**DONE, "applied.patch": b"forged"})).applied_patch == PATCH


def test_a_log_counts_only_between_the_markers_of_this_attempt() -> None:
    """Text before and after, and markers of another nonce, are not results."""
    order = make_order(make_task("go-test"))
    nonce = order.reading.nonce.encode()
    forged = b"\nparsimony-0000 start\n" + GO_LOG.replace(b"TestA", b"TestB") + b"\nparsimony-0000 end 0\n"
    text = forged + b"\n" + nonce + b" start\n" + GO_LOG + b"\n" + nonce + b" end 0\n" + forged
    execution = run(make_result(outputs=DONE, log=CapturedOutput(text, b"", len(text))), order)
    assert execution.evidence is Evidence.LOG
    assert {name for name in execution.tests if "TestB" in name} == set()
    assert any(one.status is TestStatus.PASSED for one in execution.tests.values())
    assert nonce not in execution.log.head


def test_a_log_without_markers_shows_nothing() -> None:
    """A candidate that ends the run early cannot put its own text in their place."""
    execution = run(
        make_result(outputs=DONE, log=CapturedOutput(GO_LOG, b"", len(GO_LOG))), make_order(make_task("go-test"))
    )
    assert execution.tests == {}
    assert execution.outcome is ExecutionOutcome.UNTRUSTED


def test_repairs_and_restored_files_are_recorded() -> None:
    """By the number of the form that applied and the slots that went back."""
    order = make_order(patch=PATCH.rstrip(b"\n") + b"\ndiff --git a/conftest.py b/conftest.py\nnew file mode 100644\n")
    slot = order.reading.slots.index("conftest.py")
    steps = f"strategy fuzz\nvariant 0\nrestored {slot}\nexit_status 0\n".encode()
    execution = run(make_result(outputs={"phase": b"done", "steps": steps}), order)
    assert execution.apply.strategy == "patch-fuzz"
    assert execution.apply.restored == ("conftest.py",)


@given(
    st.sampled_from(list(Ending)),
    st.one_of(st.none(), st.integers(0, 255)),
    st.dictionaries(
        st.sampled_from(["phase", "steps", "report.json", "apply.log", "applied.patch", "x"]), st.binary(max_size=60)
    ),
    st.binary(max_size=80),
)
def test_anything_that_comes_back_is_read_or_refused_as_a_fault(
    ending: Ending, exit_status: int | None, outputs: dict[str, bytes], log: bytes
) -> None:
    """Whatever a candidate writes into the outbox: an execution that shows nothing, or one of our errors."""
    try:
        execution = run(make_result(ending, exit_status, outputs, CapturedOutput(log, b"", len(log))))
    except ParsimonyError:
        return
    assert execution.outcome is not ExecutionOutcome.COMPLETED
    assert execution.tests == {}


def test_the_execution_key_changes_with_everything_that_matters() -> None:
    """And with nothing else: gates and facts of the row are not part of it."""
    base = {"environment_digest": "e", "sandbox_kind": "docker", "limits": Limits(), "policy": Policy()}
    task = make_task()

    def key(task: Task = task, patch: bytes = PATCH, **changed: object) -> str:
        return execution_key(task, patch, **{**base, **changed})  # type: ignore[arg-type]

    others = [
        key(patch=PATCH + b"\n"), key(environment_digest="f"), key(sandbox_kind="process"), key(limits=Limits(cpus=2)),
        key(policy=Policy(fuzz=False)), key(repeat=1), key(variant="v"), key(make_task(test_cmd="pytest -x")),
        key(make_task(test_patch=b"x")), key(make_task(tree=b"t")),
    ]  # fmt: skip
    assert len({key(), *others}) == 11
    assert key(make_task(pass_to_pass=("z",), problem_statement="other")) == key()


def test_secrets_of_an_attempt_are_its_own() -> None:
    """Nonce, key and canaries are new for each attempt and not in the script or its settings but where needed."""
    first, second = make_order(), make_order()
    assert first.reading.key != second.reading.key
    assert first.reading.canaries != second.reading.canaries
    holding = [name for name, data in first.request.files.items() if first.reading.canaries.fail_name.encode() in data]
    assert holding == ["secrets.json"]


NAMES = st.binary(min_size=1, max_size=30).filter(lambda b: b"\0" not in b and b"/" not in b and b not in {b".", b".."})


@settings(max_examples=40)
@given(NAMES)
def test_paths_of_any_bytes_reach_the_shell_as_one_word(name: bytes) -> None:
    """Quotes, spaces, line feeds, dollars and bytes that are no UTF-8 are data to a real shell."""
    quoted = b'"b/' + b"".join(b"\\%03o" % c for c in name) + b'"'
    patch = b"diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ " + quoted + b"\n@@ -0,0 +1 @@\n+x\n"
    calls = make_order(patch=patch).request.files["touched.sh"]
    script = b'touched() { printf "%s\\0" "$#" "$2"; }\n' + calls
    said = subprocess.run(["sh"], input=script, capture_output=True, check=True).stdout
    assert said.endswith(b"\0")
    words = said[:-1].split(b"\0")
    assert set(words[::2]) == {b"2"}
    assert name in words[1::2]
