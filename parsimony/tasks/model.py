"""`Task` and `Candidate`: what is to be solved, and what somebody's system made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from parsimony.canonical import digest_bytes, digest_json
from parsimony.execution import Limits


@dataclass(frozen=True, slots=True)
class Task:
    """One benchmark instance.

    Attributes:
        instance_id: its name, unique in a file.
        repo, base_commit, version, problem_statement, created_at: facts of the row; None or "" where absent.
        image: container image reference; None when the task brings `tree` and runs in a default image or none.
        tree: the base tree as the bytes of a tar archive, for tasks that bring their files instead of an image.
        workdir: where the work tree is in the image.
        patch: the gold patch; test_patch: the tests that grade. Bytes, b"" where absent.
        fail_to_pass, pass_to_pass: the two gates, exact test ids, in the order of the row, without repeats.
        test_cmd: shell command that runs the tests in `workdir`; None when `eval_script` is given.
        eval_script: SWE-bench 5.x: a bash script that restores tests, applies the test patch and runs the tests.
        log_format: how results are read: a name in `parsimony.testreports.FORMATS` (SWE-bench's `log_parser` names
            among them).
        eval_type: `pass_and_fail` or `fail_only` (SWE-bench 5.x); kept as a fact: absence never counts as success.
        test_files: files that the test patch or the grader owns; restored to base before grading.
        build_cmd: builds the project after the patch, where the task has such a command.
        limits: with the row's own timeout and limits laid over the defaults.
        language: lower case, None when unknown.
        row: the row as it came, for corpora and exports (large texts included).
        source: file and row it came from, for messages.
    """

    instance_id: str
    repo: str
    base_commit: str | None
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    log_format: str
    test_cmd: str | None = None
    eval_script: str | None = None
    eval_type: Literal["pass_and_fail", "fail_only"] = "pass_and_fail"
    image: str | None = None
    tree: bytes | None = field(default=None, repr=False)
    workdir: str = "/testbed"
    patch: bytes = field(default=b"", repr=False)
    test_patch: bytes = field(default=b"", repr=False)
    test_files: tuple[str, ...] = ()
    build_cmd: str | None = None
    limits: Limits = field(default_factory=Limits)
    language: str | None = None
    version: str | None = None
    created_at: str | None = None
    problem_statement: str = field(default="", repr=False)
    row: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)
    source: str = field(default="", compare=False)

    @property
    def digest(self) -> str:
        """Identity of everything that can change what an execution of this task does (gates and image apart: gates
        are the score key's business, the image's digest stands beside this one in the execution key)."""
        return digest_json(
            {
                "instance_id": self.instance_id,
                "base_commit": self.base_commit,
                "test_cmd": self.test_cmd,
                "eval_script": self.eval_script,
                "log_format": self.log_format,
                "tree": digest_bytes(self.tree) if self.tree is not None else None,
                "workdir": self.workdir,
                "test_patch": digest_bytes(self.test_patch),
                "test_files": list(self.test_files),
                "build_cmd": self.build_cmd,
            }
        )

    @property
    def gates_digest(self) -> str:
        """Identity of the two gates."""
        return digest_json({"fail_to_pass": list(self.fail_to_pass), "pass_to_pass": list(self.pass_to_pass)})


@dataclass(frozen=True, slots=True)
class Usage:
    """What producing a candidate cost. Every field is optional; None = not told.

    Units: tokens, calls, seconds, US dollars.

    Attributes:
        day: on which it was produced: the prices of that day hold.
    """

    model: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    calls: int | None = None
    cpu_seconds: float | None = None
    wall_seconds: float | None = None
    dollars: float | None = None
    day: date | None = None

    @property
    def tokens(self) -> int | None:
        """All tokens together; None when none was told."""
        told = [n for n in (self.input_tokens, self.cached_tokens, self.output_tokens) if n is not None]
        return sum(told) if told else None


@dataclass(frozen=True, slots=True)
class Trace:
    """What a candidate's system retrieved and planned: ranked files, ranked symbols, recovered obligations."""

    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    obligations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One patch for one task, by one arm, with one seed.

    Attributes:
        arm: the side of a comparison; seed: which repetition of the arm; both by the rules of the design: explicit
            fields first, else `model_name_or_path` and the count of earlier candidates of the same task and arm.
        patch: as submitted, byte by byte; b"" when there was none.
        usage, trace: None when the prediction brought none.
        source: file and row, for messages.
    """

    instance_id: str
    arm: str
    seed: int
    patch: bytes = field(repr=False)
    model: str | None = None
    usage: Usage | None = None
    trace: Trace | None = None
    source: str = field(default="", compare=False)

    @property
    def patch_ref(self) -> str:
        """`sha256:` of the patch bytes as submitted."""
        return digest_bytes(self.patch)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that was not taken, and why. `problem` is an `InputError`'s text with its place and mend."""

    source: str
    problem: str
    instance_id: str | None = None
