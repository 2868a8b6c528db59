"""What came back from a sandbox becomes an `Execution`: exit codes, test names, durations, and nothing else.

The reading judges evidence (can these results be what the tests said?), never the candidate: whether the gates are
satisfied is the scorer's business.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from typing import Final

from parsimony.errors import PermanentError, TemporaryError
from parsimony.execution import (
    MIB,
    ApplyRecord,
    CapturedOutput,
    Ending,
    Evidence,
    Execution,
    ExecutionOutcome,
    SandboxResult,
)
from parsimony.runner.policy import RUNNER_VERSION
from parsimony.runner.request import GradingOrder, Reading
from parsimony.testreports import FORMATS, channel
from parsimony.testreports.model import Report

STRATEGY_NAMES: Final = {"git": "git-apply", "3way": "git-apply-3way", "fuzz": "patch-fuzz"}

PATCH_DOES_NOT_APPLY: Final = 64
TEST_PATCH_DOES_NOT_APPLY: Final = 65
NO_WORK_TREE: Final = 66


class Steps:
    """What run.sh noted: one `NAME VALUE` a line, names may repeat."""

    def __init__(self, data: bytes) -> None:
        self._lines = [line.partition(" ")[::2] for line in data.decode("utf-8", "replace").splitlines()]

    def all(self, name: str) -> tuple[str, ...]:
        """Every value noted under `name`."""
        return tuple(value for key, value in self._lines if key == name)

    def last(self, name: str) -> str | None:
        """The last value noted under `name`."""
        values = self.all(name)
        return values[-1] if values else None

    def number(self, name: str) -> int | None:
        """The last value as a whole number; None when there is none."""
        value = self.last(name)
        return int(value) if value is not None and value.isdecimal() else None


def read(order: GradingOrder, result: SandboxResult, *, sandbox: str) -> Execution:
    """Read `result` of `order`.

    Args:
        sandbox: kind of the sandbox that ran it.

    Raises:
        PermanentError: the task itself cannot be graded (no work tree, its test patch does not fit its base).
        TemporaryError: the sandbox ended before anything of the candidate ran, without saying why.
    """
    steps = Steps(result.outputs.get("steps", b""))
    apply, applied_patch = _apply_record(order.reading, steps, result)
    outcome, report, reasons = _outcome(order, result, steps)
    return Execution(
        execution_key=order.request.execution_key,
        outcome=outcome,
        exit_status=report.exit_status if report.exit_status is not None else steps.number("exit_status"),
        tests=report.tests,
        evidence=report.evidence,
        reasons=(*order.reading.reasons, *reasons, *result.notes),
        apply=apply,
        usage=result.usage,
        phases=result.phases,
        log=_without_markers(result.log, order.reading.nonce),
        sandbox=sandbox,
        runner_version=RUNNER_VERSION,
        started_at=time.time() - result.usage.wall_seconds,
        image_digest=result.image_digest,
        applied_patch=applied_patch[:MIB],
        base_files=_base_files(order.reading, steps, result),
    )


def _outcome(
    order: GradingOrder, result: SandboxResult, steps: Steps
) -> tuple[ExecutionOutcome, Report, tuple[str, ...]]:
    limits = order.request.limits
    report = _report(order.reading, result, steps)
    in_tests = result.outputs.get("phase", b"setup").strip() != b"setup"
    # A container goes on when the kernel kills one child for memory: then the run has a hole where that child was.
    if result.ending is Ending.OUT_OF_MEMORY or (result.memory_kills and (report.problems or not report.tests)):
        reason = f"more memory than the limit of {limits.memory_bytes / MIB:,.0f} MiB"
        return ExecutionOutcome.OUT_OF_MEMORY, report, (reason, *report.problems)
    if report.timed_out or (result.ending is Ending.DEADLINE and in_tests):
        reason = f"the tests were stopped at their limit of {limits.timeout_s:g} s"
        return ExecutionOutcome.TIMED_OUT, report, (reason, *report.problems)
    if result.ending is Ending.DEADLINE:
        raise TemporaryError(f"the sandbox did not reach the tests within {limits.deadline_s:g} s")
    if result.ending is Ending.DISK_LIMIT:
        problem = f"more written than the limit of {limits.disk_bytes / MIB:,.0f} MiB"
        return ExecutionOutcome.UNTRUSTED, replace(report, tests={}), (problem,)
    if result.exit_status == PATCH_DOES_NOT_APPLY:
        return ExecutionOutcome.DOES_NOT_APPLY, Report({}, Evidence.NONE), steps.all("problem")
    if result.exit_status in {TEST_PATCH_DOES_NOT_APPLY, NO_WORK_TREE}:
        detail = _tail(result.outputs.get("apply.log", b"")) or _tail(result.log.tail or result.log.head)
        raise PermanentError("; ".join((*steps.all("problem"), detail)))
    if report.tampered:
        return ExecutionOutcome.TAMPERED, report, (*report.problems, *report.notes)
    if result.exit_status != 0 or "steps" not in result.outputs:
        if not in_tests:
            detail = _tail(result.log.tail or result.log.head)
            raise TemporaryError(f"the sandbox ended with {result.exit_status} before the tests: {detail}")
        reason = "the grading script itself was ended while the tests ran"
        return ExecutionOutcome.UNTRUSTED, report, (reason, *report.problems)
    if report.problems:
        return ExecutionOutcome.UNTRUSTED, report, (*report.problems, *report.notes)
    return ExecutionOutcome.COMPLETED, report, report.notes


def _report(reading: Reading, result: SandboxResult, steps: Steps) -> Report:
    """Results by the best evidence that the format has: our own reporter, report files, else the log."""
    form = FORMATS[reading.log_format]
    if form.injected:
        data = result.outputs.get("report.json")
        if data is None:
            return Report({}, Evidence.NONE, problems=("the report of the tests is missing",))
        return form.named(_from_witness(data, reading, steps), reading.expected)
    witness = result.outputs.get("report.json")
    timed_out = witness is not None and _from_witness(witness, reading, steps).timed_out
    if form.report_files:
        files = {name: data for name, data in result.outputs.items() if name.startswith("reports/")}
        report = form.read_files(files, reading.expected)
    else:
        report = _from_log(reading, result.log)
    return replace(report, timed_out=timed_out, exit_status=steps.number("exit_status"))


def _from_witness(data: bytes, reading: Reading, steps: Steps) -> Report:
    restored = _restored(reading, steps)
    candidate_files = [path for path in reading.slots if path not in restored]
    return channel.read(data, canaries=reading.canaries, key=reading.key, candidate_files=candidate_files)


def _restored(reading: Reading, steps: Steps) -> tuple[str, ...]:
    slots = (int(slot) for slot in steps.all("restored") if slot.isdecimal())
    return tuple(reading.slots[slot] for slot in slots if slot < len(reading.slots))


def _from_log(reading: Reading, log: CapturedOutput) -> Report:
    """The text between the markers that carry this attempt's nonce: the first start and the last end."""
    text = log.head + log.tail
    start = f"\n{reading.nonce} start\n".encode()
    end = f"\n{reading.nonce} end ".encode()
    begin, stop = text.find(start), text.rfind(end)
    if begin < 0 or stop < begin:
        return Report({}, Evidence.NONE, problems=("the markers around the tests' output are missing",))
    report = FORMATS[reading.log_format].read(text[begin + len(start) : stop], reading.expected)
    if log.omitted_bytes > 0:
        note = f"{log.omitted_bytes:,} bytes in the middle of the output were not kept"
        report = replace(report, problems=(*report.problems, note))
    return report


def _apply_record(reading: Reading, steps: Steps, result: SandboxResult) -> tuple[ApplyRecord, bytes]:
    strategy = STRATEGY_NAMES.get(steps.last("strategy") or "")
    number = steps.number("variant") or 0
    data, repairs = reading.forms[number] if strategy and number < len(reading.forms) else (b"", ())
    record = ApplyRecord(
        strategy=strategy,
        repairs=repairs,
        restored=_restored(reading, steps),
        messages=_tail(result.outputs.get("apply.log", b""), 2000),
    )
    noted, seen = steps.last("applied"), result.outputs.get("applied.patch", b"")
    return record, seen if noted is not None and git_blob(seen, noted) else data


def _base_files(reading: Reading, steps: Steps, result: SandboxResult) -> dict[str, bytes | None]:
    """What came back of the base versions. One that is too large, or not what was noted when it was put there (the
    tests wrote over it), is left out: it is not known."""
    noted = dict(note.partition(" ")[::2] for note in steps.all("base"))
    too_large = set(steps.all("too_large"))
    found: dict[str, bytes | None] = {}
    for number, path in enumerate(reading.sources):
        data = result.outputs.get(f"base/{number}")
        if str(number) not in noted:
            if str(number) not in too_large:
                found[path] = None
        elif data is not None and git_blob(data, noted[str(number)]):
            found[path] = data
    return found


def git_blob(data: bytes, name: str) -> bool:
    """Whether `name` is what git calls a file of this content, by SHA-1 or SHA-256."""
    digest = hashlib.sha1(usedforsecurity=False) if len(name) == 40 else hashlib.sha256()
    digest.update(b"blob %d\0" % len(data) + data)
    return digest.hexdigest() == name


def _without_markers(log: CapturedOutput, nonce: str) -> CapturedOutput:
    """The log as a person wants it. The nonce was good for one attempt and need not be kept."""
    marker = nonce.encode()

    def clean(data: bytes) -> bytes:
        if marker not in data:
            return data
        return b"".join(line for line in data.splitlines(keepends=True) if not line.startswith(marker))

    head, tail = clean(log.head), clean(log.tail)
    removed = len(log.head) + len(log.tail) - len(head) - len(tail)
    return CapturedOutput(head, tail, log.total_bytes - removed)


def _tail(data: bytes, size: int = 600) -> str:
    return data[-size:].decode("utf-8", "replace").strip()
