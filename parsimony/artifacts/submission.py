"""A submission: what one agent handed in, and what its publisher says about how each attempt ended."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from parsimony import strict_json
from parsimony.errors import InputError
from parsimony.tasks.fields import Fields

RESOLVED: Final = "resolved"
NO_ATTEMPT: Final = ("no_generation", "no_submission")
NO_LOGS: Final = "no_logs"
FAILED: Final = ("unresolved", "failed", "not_resolved")
UNKNOWN: Final = "unknown"
NO_REPORT: Final = "no_report"
_MEANT: Final = frozenset({RESOLVED, NO_LOGS, *NO_ATTEMPT, *FAILED})
"""Lists whose names mean something here, so that what is wrong in them matters."""

Categories = Mapping[str, tuple[str, ...]]
"""{task id: names of the lists that its publisher put it on}."""


@dataclass(frozen=True, slots=True)
class PatchSource:
    """Where the patch of one task is.

    Attributes:
        location: the URL of its file, or that of the predictions with `#instance_id=ID`.
        text: the patch as stored in the predictions; None where it has a file of its own, or is absent.
        url: of its own file; None where it is in the predictions.
    """

    location: str
    text: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """One agent's submission.

    Attributes:
        categories: of every task that the results name, in the order of the results.
        resolved: tasks that the publisher counts as solved; its number is the published one.
        patches: of tasks that have one in the predictions; empty where patches are files.
        patch_url: of a patch's file, with `{task}` for the id; None where patches are in the predictions.
        unfetched: tasks whose evidence could not be downloaded this time, with the reason.
        provenance: addresses and digests, for every record.
    """

    agent: str
    categories: Categories
    resolved: frozenset[str]
    provenance: Mapping[str, object]
    patches: Mapping[str, str] = field(default_factory=dict)
    patch_url: str | None = None
    predictions_url: str | None = None
    unfetched: Mapping[str, str] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        """Every task that results or predictions name, sorted."""
        return sorted({*self.categories, *self.patches})

    def patch(self, task: str) -> PatchSource:
        """Where the patch of a task is, or would be."""
        if self.patch_url is not None:
            url = self.patch_url.replace("{task}", quote(task, safe=""))
            return PatchSource(url, url=url)
        return PatchSource(f"{self.predictions_url}#instance_id={task}", text=self.patches.get(task))


def evaluation_result(categories: tuple[str, ...], *, resolved: bool) -> str:
    """How an attempt ended, in one word of the records: the first that fits."""
    if resolved:
        return RESOLVED
    for name in (*NO_ATTEMPT, NO_LOGS):
        if name in categories:
            return name
    return "failed" if any(name in categories for name in FAILED) else UNKNOWN


def shows_failure(categories: tuple[str, ...]) -> bool:
    """Whether a publisher says that the attempt failed. To be on no list proves nothing, and missing logs void it."""
    return NO_LOGS not in categories and any(name in categories for name in FAILED)


def sha256(data: bytes) -> str:
    """Hex digest."""
    return hashlib.sha256(data).hexdigest()


def read_results(data: bytes, file: str) -> tuple[Categories, frozenset[str]]:
    """Categories and solved tasks of a `results.json`: an object of lists of task ids, of which one is `resolved`.

    Raises:
        InputError: it is no such object.
    """
    value = _object(data, file)
    if not isinstance(value.get(RESOLVED), list):
        mend = "only results with a list `resolved` of task ids are supported"
        raise InputError("has no list of solved tasks", mend=mend, file=file, field=RESOLVED)
    found: dict[str, list[str]] = {}
    for name, tasks in value.items():
        if not isinstance(tasks, list):
            continue
        for task in tasks:
            if not _is_id(task):
                if name in _MEANT:
                    raise InputError.wrong(name, task, "a list of task ids").at(file=file)
                continue  # a list of something else
            names = found.setdefault(task, [])
            if name not in names:
                names.append(name)
    categories = {task: tuple(names) for task, names in found.items()}
    return categories, frozenset(task for task, names in categories.items() if RESOLVED in names)


def read_predictions(data: bytes, file: str) -> tuple[dict[str, str], str | None]:
    """Patches by task of an `all_preds.jsonl`, and the model that the first line names.

    A patch is the text `model_patch` or `patch`; where that is null there is none.

    Raises:
        InputError: a line is no prediction, or a task is there twice.
    """
    patches: dict[str, str] = {}
    seen: set[str] = set()
    model: str | None = None
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            task, patch, told = _prediction(strict_json.loads(line.strip()))
            if task in seen:
                raise InputError(f"{task} is there twice", mend="keep one of the two", field="instance_id")
        except InputError as error:
            place = error.place.field
            raise InputError(error.problem, mend=error.mend, file=file, row=number, field=place) from None
        seen.add(task)
        model = model or told
        if patch is not None:
            patches[task] = patch
    return patches, model


def _prediction(value: object) -> tuple[str, str | None, str | None]:
    if not isinstance(value, dict):
        raise InputError("is no object", mend="a prediction is an object, one a line")
    task = Fields(value).identifier("instance_id")
    if task is None:
        raise InputError.wrong("instance_id", value.get("instance_id"), "a task id")
    key = next((name for name in ("model_patch", "patch") if name in value), None)
    if key is None:
        raise InputError("has no patch", mend="a prediction has its patch as `model_patch`", field="model_patch")
    patch = value[key]
    if patch is not None and not isinstance(patch, str):
        raise InputError.wrong(key, patch, "a text, or null where there is no patch")
    model = value.get("model_name_or_path")
    return task, patch, model if isinstance(model, str) and model.strip() else None


def read_details(data: bytes, file: str) -> tuple[Categories, frozenset[str]]:
    """Categories and solved tasks of a `per_instance_details.json`: task id -> an object with the flag `resolved`.

    Raises:
        InputError: it is no such object.
    """
    categories: dict[str, tuple[str, ...]] = {}
    for task, told in _object(data, file).items():
        if not _is_id(task) or not isinstance(told, dict) or not isinstance(told.get(RESOLVED), bool):
            wanted = "a task id with an object in which `resolved` is true or false"
            raise InputError.wrong(ascii(task)[1:-1][:80], told, wanted).at(file=file)
        categories[task] = (_detail(told),)
    return categories, frozenset(task for task, names in categories.items() if RESOLVED in names)


def _detail(told: Mapping[str, object]) -> str:
    if told[RESOLVED]:
        return RESOLVED
    words = [told.get(key) for key in ("category", "result", "status", "failure_category")]
    return next((name for name in (*NO_ATTEMPT, NO_LOGS, UNKNOWN) if name in words), FAILED[0])


def read_report(data: bytes, task: str, file: str) -> str:
    """The category that one task's `report.json` proves, of a task that is not on the list of solved ones.

    Raises:
        InputError: it is no such report, or says that the task was solved.
    """
    value = _object(data, file)
    told = value.get(task, value)
    if not isinstance(told, dict) or not isinstance(told.get(RESOLVED), bool):
        raise InputError.wrong(f"{task}.{RESOLVED}", told, "an object with `resolved` true or false").at(file=file)
    if told[RESOLVED]:
        mend = "results and report of this submission contradict each other; neither can be used"
        raise InputError("says that the task was solved, and the results do not", mend=mend, file=file, field=task)
    applied = told.get("patch_exists") is True and told.get("patch_successfully_applied") is True
    return FAILED[0] if applied else UNKNOWN


def _is_id(value: object) -> bool:
    return isinstance(value, str) and value.isprintable() and bool(value.strip())


def _object(data: bytes, file: str) -> dict[str, object]:
    try:
        value = strict_json.loads(data)
    except InputError as error:
        raise error.at(file=file) from None
    if not isinstance(value, dict):
        raise InputError(f"is no object: {str(value)[:40]!r}", mend="give the file that was published", file=file)
    return value
