"""What goes into a sandbox and what comes out of it: the data that runner, sandboxes and scorer share.

A sandbox gets one `ExecutionRequest` and gives back one `SandboxResult`. The runner turns that result into an
`Execution`: what the machine saw, with no judgement. All of these are frozen and hold bytes, not text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


class TestStatus(StrEnum):
    """What a test runner said of one test. What each status is worth is the scorer's business (docs/verdicts.md)."""

    __test__ = False  # a name that pytest would take for a test class

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAIL = "xfail"
    XPASS = "xpass"


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits of one execution.

    Attributes:
        timeout_s: seconds that the test command may take (wall clock).
        overhead_s: seconds for everything else in the sandbox; `timeout_s + overhead_s` is the sandbox's deadline.
        cpus: processors, fractions allowed.
        memory_bytes: memory and swap together.
        pids: processes and threads alive at once.
        disk_bytes: what the execution may write.
        output_bytes: how much of the output is kept: the first and the last half of it.
        artifact_bytes: how much the outbox may hold.
        network: False cuts the network off.
    """

    timeout_s: float = 1800.0
    overhead_s: float = 120.0
    cpus: float = 1.0
    memory_bytes: int = 3 * GIB
    pids: int = 512
    disk_bytes: int = 8 * GIB
    output_bytes: int = 2 * MIB
    artifact_bytes: int = 256 * MIB
    network: bool = False

    @property
    def deadline_s(self) -> float:
        """Seconds after its start at which the sandbox is killed from outside."""
        return self.timeout_s + self.overhead_s


@dataclass(frozen=True, slots=True)
class ExecutionRequest:
    """Everything that one execution needs; a sandbox asks for nothing else.

    Attributes:
        execution_key: the content key of the work.
        name: a DNS-1123 label (at most 63 characters), deterministic for run, key and attempt, so that creating it
            twice is noticed by the engine.
        image: image reference (by digest where known); None for a sandbox without images.
        files: the inbox: relative path -> content. In place before the start, at `$PARSIMONY_IN`.
        command: argument vector, run with the working directory `workdir`.
        environment: variables on top of the image's own; PARSIMONY_IN, PARSIMONY_OUT and PARSIMONY_WORK are the
            sandbox's to set.
        limits: see `Limits`.
        workdir: where the command starts in the image; None = the sandbox's temporary tree ($PARSIMONY_WORK).
        labels: what the reaper goes by.
    """

    execution_key: str
    name: str
    command: tuple[str, ...]
    files: Mapping[str, bytes]
    limits: Limits = field(default_factory=Limits)
    image: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)


class Ending(StrEnum):
    """How a sandbox ended. Faults of the machinery are exceptions and not among these."""

    EXITED = "exited"
    DEADLINE = "deadline"
    OUT_OF_MEMORY = "out_of_memory"
    DISK_LIMIT = "disk_limit"


@dataclass(frozen=True, slots=True)
class CapturedOutput:
    """Standard output and error together, as bytes in the order of their arrival: head, tail, and how much there was.

    `tail` is empty when everything fits into the head.
    """

    head: bytes = b""
    tail: bytes = b""
    total_bytes: int = 0

    @property
    def omitted_bytes(self) -> int:
        """Bytes between head and tail that were not kept."""
        return self.total_bytes - len(self.head) - len(self.tail)


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """What an execution used. None = this sandbox cannot tell."""

    wall_seconds: float
    cpu_seconds: float | None = None
    peak_memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SandboxResult:
    """What came back: the outbox, how it ended, what it used.

    Attributes:
        exit_status: of the command; 128 + N when signal N ended it; None when the sandbox killed it.
        outputs: the outbox: relative path -> content (regular files only; links are not followed).
        phases: seconds by phase (`create`, `inject`, `start`, `run`, `collect`).
        image_digest: what was really run, where there is an image.
        notes: plain words on anything unusual (an outbox cut at its limit).
        memory_kills: processes that were killed at the memory limit, as far as is known. Positive with any ending: a
            container goes on when the kernel kills one child of its main command.
    """

    ending: Ending
    exit_status: int | None
    outputs: Mapping[str, bytes]
    log: CapturedOutput
    usage: ResourceUsage
    phases: Mapping[str, float]
    image_digest: str | None = None
    notes: tuple[str, ...] = ()
    memory_kills: int = 0


class ExecutionOutcome(StrEnum):
    """What became of an execution. Whether the task is resolved is the scorer's business.

    UNTRUSTED: the evidence is not whole (a session that did not finish, counts that disagree), which honest code can
    cause as well. TAMPERED: there are signs of forgery.
    """

    COMPLETED = "completed"
    DOES_NOT_APPLY = "does_not_apply"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    UNTRUSTED = "untrusted"
    TAMPERED = "tampered"


class Evidence(StrEnum):
    """How good the evidence of an execution is.

    REPORT: from our own reporter or another machine-readable report. LOG: a named log reader, between markers with a
    nonce. NONE: nothing was seen.
    """

    REPORT = "report"
    LOG = "log"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class TestResult:
    """One test, as reported. The worst status counts when a test was reported more than once."""

    __test__ = False

    status: TestStatus
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class ApplyRecord:
    """How the candidate's patch went in.

    Attributes:
        strategy: `git-apply`, `git-apply-3way`, `patch-fuzz`; None when nothing took it.
        repairs: what was mended in the patch first, one plain clause each.
        restored: files that steer the tests and were put back to base.
        messages: what the strategies that failed had to say, shortened.
    """

    strategy: str | None = None
    repairs: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    messages: str = ""


@dataclass(frozen=True, slots=True)
class Execution:
    """What the machine saw of one candidate on one task.

    Attributes:
        exit_status: of the test command; None when it did not end by itself or never ran.
        tests: test id -> result, exactly as reported (canaries taken out).
        reasons: why the outcome is what it is, in plain words; also findings that do not change it.
        applied_patch: `git diff` after the patch was applied and before tests went in (cut at 1 MiB).
        base_files: implementation files that the patch or the task's own fix touches, as they were before the patch:
            path -> content, None where there was none.
        footprint: what `parsimony.footprint.graded` measured; None where nobody asked.
        started_at: epoch seconds.
        sandbox: its kind; runner_version: of `parsimony.runner`.
    """

    execution_key: str
    outcome: ExecutionOutcome
    exit_status: int | None
    tests: Mapping[str, TestResult]
    evidence: Evidence
    reasons: tuple[str, ...]
    apply: ApplyRecord
    usage: ResourceUsage
    phases: Mapping[str, float]
    log: CapturedOutput
    sandbox: str
    runner_version: str
    started_at: float
    image_digest: str | None = None
    applied_patch: bytes = b""
    base_files: Mapping[str, bytes | None] = field(default_factory=dict)
    footprint: Mapping[str, object] | None = None
