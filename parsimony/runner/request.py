"""A task and a patch become one self-contained request: the in-image script, its settings, patches and reporters."""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

from parsimony import patches
from parsimony.errors import PermanentError
from parsimony.execution import ExecutionRequest, Limits
from parsimony.runner.policy import Policy
from parsimony.runner.sources import as_text, patch_paths, sources
from parsimony.runner.steering import Steering, SteeringTable
from parsimony.runner.variants import PLAIN, VARIANTS
from parsimony.tasks.model import Task
from parsimony.testreports import FORMATS
from parsimony.testreports.model import Canaries

COMMAND: Final = ("/bin/sh", "-c", 'exec /bin/sh "$PARSIMONY_IN/run.sh"')


@dataclass(frozen=True, slots=True)
class FootprintWanted:
    """How the footprint of a graded candidate is measured: by which track of which language, and beside which fix."""

    track: str
    language: str
    fix: bytes


@dataclass(frozen=True, slots=True)
class Reading:
    """What is needed to read a result, and must not be in the sandbox.

    Attributes:
        log_format: how results are read, a name of `parsimony.testreports.FORMATS`.
        expected: the test ids of both gates.
        nonce: what the markers around the tests' output begin with.
        canaries: names of the two generated tests.
        key: what the witness signs its report with.
        forms: per form of the patch that may be applied: its bytes and the repairs that it carries. First those for
            `git apply`, then the one for `patch --fuzz`, if there is one.
        slots: slot number -> path, of the paths that the patch touches.
        sources: number -> path, of the implementation files that the patch or the task's own fix touches: their base
            versions come back, so that the footprint is measured on the tree that was graded.
        reasons: findings about the patch that stand before anything ran.
        footprint: what is measured beside the grading; None = nothing.
    """

    log_format: str
    expected: tuple[str, ...]
    nonce: str
    canaries: Canaries
    key: bytes
    forms: tuple[tuple[bytes, tuple[str, ...]], ...]
    slots: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    footprint: FootprintWanted | None = None


@dataclass(frozen=True, slots=True)
class GradingOrder:
    """One execution: what a sandbox runs, and how its result is to be read."""

    request: ExecutionRequest
    reading: Reading


def build_order(
    task: Task,
    patch: bytes,
    *,
    key: str,
    run_id: str,
    attempt: int,
    limits: Limits,
    policy: Policy,
    labels: Mapping[str, str],
    footprint: FootprintWanted | None = None,
    variant: str = PLAIN,
) -> GradingOrder:
    """The order for one attempt at one execution. An empty `patch` runs the tests on the base tree.

    Raises:
        PermanentError: the task's log format is not known to this version, or no form of the patch can be applied whole
            (callers classify such candidates with `refusal` before they come here).
    """
    if task.log_format not in FORMATS:
        raise PermanentError(f"{task.instance_id}: unknown log format {task.log_format!r}")
    prepared = patches.prepare(patch) if patch else None
    exact = prepared.applicable if prepared else ()
    fuzzy = (prepared.fuzzy,) if prepared and prepared.fuzzy and policy.fuzz else ()
    forms = tuple((form.data, form.repairs) for form in (*exact, *fuzzy))
    if patch and not forms:
        raise PermanentError(f"{task.instance_id}: no form of the patch can be applied whole")
    slots = tuple(as_text(path) for path in prepared.touched) if prepared else ()
    reading = Reading(
        log_format=task.log_format,
        expected=(*task.fail_to_pass, *task.pass_to_pass),
        nonce=f"parsimony-{secrets.token_hex(16)}",
        canaries=Canaries(pass_name=f"c{secrets.token_hex(8)}", fail_name=f"c{secrets.token_hex(8)}"),
        key=secrets.token_bytes(32),
        forms=forms,
        slots=slots,
        sources=sources(task, slots) if slots else (),
        footprint=footprint,
    )
    settings = _settings(task, limits, policy, (len(exact), len(fuzzy)), reading.nonce)
    return GradingOrder(
        request=ExecutionRequest(
            execution_key=key,
            name=sandbox_name(task.instance_id, run_id, key, attempt),
            command=COMMAND,
            files=_inbox(task, reading, settings),
            limits=limits,
            image=task.image,
            labels=labels,
            environment=VARIANTS[variant] if variant else {},
        ),
        reading=reading,
    )


def _inbox(task: Task, reading: Reading, settings: bytes) -> dict[str, bytes]:
    """The files of a request: what is the same for all, and what is this task's and this attempt's."""
    patterns = FORMATS[task.log_format].report_files
    files = dict(harness_files())
    files |= {
        "settings.sh": settings,
        "touched.sh": _calls(("touched", slot, path) for slot, path in enumerate(reading.slots)),
        "sources.sh": _calls(("source_file", number, path) for number, path in enumerate(reading.sources)),
        "steering.sh": _calls(_steering(task, reading.slots)),
        "report_files.sh": _calls(("report_file", pattern) for pattern in patterns),
        "secrets.json": json.dumps(
            {
                "key": reading.key.hex(),
                "canaries": {"pass": reading.canaries.pass_name, "fail": reading.canaries.fail_name},
                "framework_hint": task.log_format,
            }
        ).encode(),
        "tests.sh": _tests(task),
    }
    files |= {f"candidate.{n}": data for n, (data, _) in enumerate(reading.forms)}
    if task.test_patch and task.test_cmd is not None:
        files["test.patch"] = task.test_patch
    if task.tree is not None:
        files["base.tar"] = task.tree
    return files


def sandbox_name(instance_id: str, run_id: str, key: str, attempt: int) -> str:
    """A DNS-1123 label that names the attempt: the same attempt always gets the same name."""
    readable = re.sub(r"[^a-z0-9]+", "-", instance_id.lower()).strip("-")[-20:].strip("-")
    return f"parsimony-{run_id[:8].lower()}-{readable or 'task'}-{key.removeprefix('sha256:')[:12]}-{attempt}"


def refusal(patch: bytes, policy: Policy) -> tuple[str, ...]:
    """Why `patch` must not even be tried; empty when it may be.

    It reaches outside the work tree, or no form of it could be applied whole: tools would apply a part and say that
    all is well (docs/decisions/0010).
    """
    prepared = patches.prepare(patch)
    if prepared.refused:
        return tuple(f"refused: {reason}" for reason in prepared.refused)
    if prepared.applicable or (policy.fuzz and prepared.fuzzy):
        return ()
    problems = [f"line {problem.row}: {problem.text}" for problem in prepared.patch.problems[:3]]
    return ("no form of the patch can be applied whole", *problems)


@cache
def harness_files() -> Mapping[str, bytes]:
    """The files that run inside every task image, by their path in the inbox."""
    found: dict[str, bytes] = {}

    def walk(folder: Traversable, prefix: str) -> None:
        for entry in folder.iterdir():
            if entry.name.startswith((".", "__")) or entry.name.endswith(".pyc"):
                continue
            if entry.is_dir():
                walk(entry, f"{prefix}{entry.name}/")
            else:
                found[prefix + entry.name] = entry.read_bytes()

    walk(resources.files("parsimony") / "inimage", "")
    return found


def _steering(task: Task, slots: tuple[str, ...]) -> Iterable[tuple[str | int, ...]]:
    table = SteeringTable({*task.test_files, *patch_paths(task.test_patch)}, patch_paths(task.patch))
    for slot, path in enumerate(slots):
        steering, _ = table.sort(path)
        if steering is not Steering.FREE:
            yield ("steers" if steering is Steering.WHOLE else "mixed", slot, path)


def _settings(task: Task, limits: Limits, policy: Policy, forms: tuple[int, int], nonce: str) -> bytes:
    workdir = '"$PARSIMONY_WORK/tree"' if task.tree is not None else shlex.quote(task.workdir)
    lines = [
        f"WORKDIR={workdir}",
        f"EXACT_FORMS={forms[0]}",
        f"FUZZY_FORMS={forms[1]}",
        f"STRATEGIES={shlex.quote(' '.join(policy.strategies))}",
        f"TIMEOUT={limits.timeout_s:g}",
        f"NONCE={shlex.quote(nonce)}",
        f"WITNESS={'node' if FORMATS[task.log_format].language == 'javascript' else 'any'}",
    ]
    return ("\n".join(lines) + "\n").encode()


def _tests(task: Task) -> bytes:
    """The script that runs the tests; the witness starts it in the work tree.

    A row with both `test_cmd` and `eval_script` is run by the first: then the order of a grading is ours, not a
    script's. An `eval_script` brings the graded test files by itself.
    """
    if task.test_cmd is None:
        assert task.eval_script is not None, "the reader of tasks refuses rows with neither"
        return task.eval_script.encode("utf-8", "surrogateescape")
    build = f"{{ {task.build_cmd}\n}} || exit 125\n" if task.build_cmd else ""
    return f"{build}{task.test_cmd}\n".encode("utf-8", "surrogateescape")


def _calls(calls: Iterable[tuple[str | int, ...]]) -> bytes:
    """Shell lines that call functions of run.sh; every argument is one word, whatever bytes it holds."""
    lines = (" ".join(shlex.quote(str(word)) for word in call) + "\n" for call in calls)
    return "".join(lines).encode("utf-8", "surrogateescape")
