"""Rows of the SWE-bench family, and of our own, become `Task`s.

Fields of SWE-bench: `repo`, `instance_id`, `base_commit`, `patch`, `test_patch`, `problem_statement`, `hints_text`,
`created_at`, `version`, `FAIL_TO_PASS`, `PASS_TO_PASS`, `environment_setup_commit`; since 5.0 `image`, `eval_script`,
`log_parser`, `eval_type`. Ours: `test_cmd`, `log_format`, `test_files` and `test_files_new`, `build_cmd`, `workdir`,
`language`, `tree`, `patch_base64` and `test_patch_base64`, and the limits `timeout_s`, `cpus`, `memory` or
`memory_bytes`, `disk` or `disk_bytes`, `pids`, `network`. Any other field stays in `Task.row`.

A row that cannot be graded honestly is rejected and the next ones follow: above all one with an empty FAIL_TO_PASS,
a gate that every patch would pass.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from parsimony.errors import InputError
from parsimony.execution import Limits
from parsimony.tasks.fields import Fields, is_there
from parsimony.tasks.model import Rejected, Task
from parsimony.tasks.tables import ID, read_rows
from parsimony.tasks.trees import Trees

LONGEST_TIMEOUT = 30 * 24 * 3600.0  # seconds; timers of engines overflow not far above
MOST_CPUS = 4096.0
MOST_PIDS = 1 << 22  # the kernel's own limit

# Fields that say the same thing: a default for one of them gives way to any other that the row itself has.
_SAME = (
    frozenset({"memory", "memory_bytes"}),
    frozenset({"disk", "disk_bytes"}),
    frozenset({"log_format", "log_parser"}),
    frozenset({"test_cmd", "eval_script"}),
)
_NAME_IN_BRACES = re.compile(r"(?<!\$)\{(\w+)\}")  # ${name} is the shell's
_PYTEST = re.compile(r"\b(?:pytest|py\.test)\b")
_IMAGE = re.compile(r"[A-Za-z0-9[][A-Za-z0-9.:/@_+[\]-]*")  # the signs of an image reference

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class TaskFile:
    """What a task file holds: the tasks in its order, and the rows that were not taken."""

    tasks: tuple[Task, ...]
    rejected: tuple[Rejected, ...]


def read_tasks(
    path: str | Path,
    *,
    defaults: Mapping[str, object] | None = None,
    formats: Collection[str] | None = None,
) -> TaskFile:
    """The tasks of a file (JSON, JSON lines, gzip of these, Parquet).

    Args:
        defaults: values for fields that a row does not have. In texts, `{name}` stands for the row's field of that
            name, and `{instance_id_docker}` for its id as SWE-bench writes it in image names (lower case, `__` as
            `_1776_`); `${name}` and names that the row does not have stay as they are.
        formats: the log formats that can be read; None = any.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    path = Path(path)
    trees = Trees(path.parent)
    tasks: dict[str, Task] = {}
    rejected: list[Rejected] = []
    for number, row in read_rows(path):
        source = f"{path}:{number}"
        try:
            if isinstance(row, InputError):
                raise row
            task = _task(row, source, defaults or {}, formats, trees)
            if task.instance_id in tasks:
                problem = f"{task.instance_id!r} is already at {tasks[task.instance_id].source}"
                raise InputError(problem, mend="remove or rename one of the two", field=ID)
        except InputError as error:
            told = row.get(ID) if isinstance(row, dict) else None
            problem = str(error.at(file=str(path), row=number))
            rejected.append(Rejected(source, problem, told if isinstance(told, str) else None))
        else:
            tasks[task.instance_id] = task
    return TaskFile(tuple(tasks.values()), tuple(rejected))


def _task(
    row: Mapping[str, object],
    source: str,
    defaults: Mapping[str, object],
    formats: Collection[str] | None,
    trees: Trees,
) -> Task:
    fields = Fields({**row, **_defaults_for(row, defaults)})
    instance_id = fields.identifier(ID)
    if instance_id is None:
        raise InputError("is missing", mend="give every row a name of its own", field=ID)
    fail_to_pass, pass_to_pass = _gates(fields)
    test_cmd, eval_script = _commands(fields)
    image, tree = _origin(fields, trees)
    language = fields.identifier("language")
    return Task(
        instance_id=instance_id,
        repo=fields.text("repo") or "",
        base_commit=fields.text("base_commit"),
        fail_to_pass=fail_to_pass,
        pass_to_pass=pass_to_pass,
        log_format=_log_format(fields, test_cmd, formats),
        test_cmd=test_cmd,
        eval_script=eval_script,
        eval_type=_eval_type(fields),
        image=image,
        tree=tree,
        workdir=_workdir(fields),
        patch=fields.payload("patch") or b"",
        test_patch=fields.payload("test_patch") or b"",
        test_files=tuple(dict.fromkeys(fields.paths("test_files") + fields.paths("test_files_new"))),
        build_cmd=fields.text("build_cmd"),
        limits=_limits(fields),
        language=language.lower() if language else None,
        version=fields.text("version"),
        created_at=fields.text("created_at"),
        problem_statement=fields.text("problem_statement") or "",
        row=dict(row),
        source=source,
    )


def _defaults_for(row: Mapping[str, object], defaults: Mapping[str, object]) -> dict[str, object]:
    """The defaults that this row needs, their texts filled in."""
    needed: dict[str, object] = {}
    for name, value in defaults.items():
        same = next((names for names in _SAME if name in names), frozenset({name}))
        if not any(is_there(row.get(other)) for other in same):
            needed[name] = _filled(value, row) if isinstance(value, str) else value
    return needed


def _filled(template: str, row: Mapping[str, object]) -> str:
    def value_of(match: re.Match[str]) -> str:
        name = match[1]
        if name == "instance_id_docker":
            return str(row.get(ID)).lower().replace("__", "_1776_")
        value = row.get(name)
        return str(value) if isinstance(value, (str, int)) else match[0]

    return _NAME_IN_BRACES.sub(value_of, template)


def _gates(fields: Fields) -> tuple[tuple[str, ...], tuple[str, ...]]:
    fail_to_pass = fields.names("FAIL_TO_PASS")
    if not fail_to_pass:
        problem = "is missing" if fail_to_pass is None else "is empty: every patch would pass it"
        raise InputError(problem, mend="list the tests that the fix makes pass", field="FAIL_TO_PASS")
    pass_to_pass = fields.names("PASS_TO_PASS")
    if pass_to_pass is None:
        mend = "list the tests that must still pass, [] where there is none"
        raise InputError("is missing", mend=mend, field="PASS_TO_PASS")
    known = set(fail_to_pass)
    both = next((name for name in pass_to_pass if name in known), None)
    if both is not None:
        problem = f"holds {both[:80]!r}, which FAIL_TO_PASS holds too"
        raise InputError(problem, mend="a test is in one of the two", field="PASS_TO_PASS")
    return fail_to_pass, pass_to_pass


def _commands(fields: Fields) -> tuple[str | None, str | None]:
    test_cmd, eval_script = fields.text("test_cmd"), fields.text("eval_script")
    if test_cmd is None and eval_script is None:
        mend = "add test_cmd, or give it as a default"
        raise InputError("there is neither test_cmd nor eval_script", mend=mend, field="test_cmd")
    for name, value in (("test_cmd", test_cmd), ("eval_script", eval_script)):
        if value is not None and "\0" in value:
            raise fields.wrong(name, "a shell command without NUL characters")
    return test_cmd, eval_script


def _log_format(fields: Fields, test_cmd: str | None, formats: Collection[str] | None) -> str:
    field = "log_parser" if fields.has("log_parser") and not fields.has("log_format") else "log_format"
    told = fields.identifier(field)
    if told is None and test_cmd is not None and _PYTEST.search(test_cmd):
        told = "pytest"
    known = "one of " + ", ".join(sorted(formats)) if formats is not None else "such as pytest, unittest, go-test"
    if told is None:
        raise InputError("is missing", mend=f"say how the results are read: {known}", field=field)
    if formats is not None and told not in formats:
        raise fields.wrong(field, known)
    return told


def _eval_type(fields: Fields) -> Literal["pass_and_fail", "fail_only"]:
    told = fields.text("eval_type")
    if told is None or told == "pass_and_fail":
        return "pass_and_fail"
    if told == "fail_only":
        return "fail_only"
    raise fields.wrong("eval_type", "pass_and_fail or fail_only")


def _origin(fields: Fields, trees: Trees) -> tuple[str | None, bytes | None]:
    """The image and the tree that the task starts from: one of them at least."""
    image, name = fields.text("image"), fields.text("tree")
    if image is not None and not _IMAGE.fullmatch(image):
        raise fields.wrong("image", "the name of a container image, all names in braces filled in")
    if image is None and name is None:
        mend = "add image, or give a default such as registry/name.{instance_id_docker}:latest"
        raise InputError("there is neither image nor tree", mend=mend, field="image")
    try:
        return image, trees.read(name) if name is not None else None
    except InputError as error:
        raise error.at(field="tree") from None


def _workdir(fields: Fields) -> str:
    workdir = fields.identifier("workdir") or "/testbed"
    if not workdir.startswith("/") or ".." in workdir.split("/"):
        raise fields.wrong("workdir", "an absolute path")
    return workdir


def _limits(fields: Fields) -> Limits:
    usual = Limits()
    return Limits(
        timeout_s=_or(fields.number("timeout_s", LONGEST_TIMEOUT, positive=True), usual.timeout_s),
        cpus=_or(fields.number("cpus", MOST_CPUS, positive=True), usual.cpus),
        memory_bytes=_or(fields.size("memory"), usual.memory_bytes),
        pids=_or(fields.integer("pids", 1, MOST_PIDS), usual.pids),
        disk_bytes=_or(fields.size("disk"), usual.disk_bytes),
        network=_or(fields.flag("network"), usual.network),
    )


def _or(value: _T | None, usual: _T) -> _T:
    return usual if value is None else value
