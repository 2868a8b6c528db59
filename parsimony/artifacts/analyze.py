"""`analyze`: import submissions, measure their patches, write a record for every agent and task."""

from __future__ import annotations

import fcntl
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from parsimony.artifacts import dataset
from parsimony.artifacts.dataset import Task
from parsimony.artifacts.download import Fetcher
from parsimony.artifacts.examine import Finding, Rules
from parsimony.artifacts.layouts import Wanted, import_submission
from parsimony.artifacts.manifest import import_manifest
from parsimony.artifacts.places import Places
from parsimony.artifacts.plan import Selection, Step, plan
from parsimony.artifacts.pool import examine_all
from parsimony.artifacts.records import Identity, Publication, record, to_line
from parsimony.artifacts.resume import Measurement, reopen
from parsimony.artifacts.submission import Submission, shows_failure
from parsimony.errors import InputError
from parsimony.footprint import load_track
from parsimony.measurements import PYTHON

DEFAULT_OUTPUT: Final = Path("results.jsonl")


@dataclass(frozen=True, slots=True)
class Request:
    """What `analyze` is asked for.

    Attributes:
        submissions: names of published submissions, or their addresses.
        manifests: files that describe other ones.
        dataset: rows of the tasks; may be None only with `patch_only`.
        ref: commit, branch or tag of the published results.
        patch_only: estimate from hunks, without base files.
        workers: processes that measure.
        track: rules of measurement; None = the first of the dataset's language.
    """

    submissions: Sequence[str] = ()
    manifests: Sequence[Path] = ()
    dataset: Path | None = None
    output: Path = DEFAULT_OUTPUT
    selection: Selection = field(default_factory=Selection)
    ref: str = "main"
    patch_only: bool = False
    resume: bool = False
    workers: int = 1
    track: str | None = None


def analyze(request: Request, fetcher: Fetcher, places: Places) -> Counter[str]:
    """Write the records; how many have each status, among those written now.

    Raises:
        InputError: the request contradicts itself, or something that it names cannot be used.
        FetchFailed: what all records of a submission depend on could not be downloaded. The network failing for a
            single task is a record with status `fetch_error`, which `resume` tries again.
    """
    _check(request)
    tasks, language = dataset.read(request.dataset) if request.dataset is not None else (None, PYTHON)
    rules = Rules(load_track(request.track, language=language).name, language, request.patch_only)
    identity = Identity.current(rules)
    submissions = _import(request, tasks, fetcher, places)
    _check_tasks(request, submissions, tasks)
    plans = [plan(submission, tasks, request.selection, rules) for submission in submissions]
    done: set[str] = set()
    if request.resume:
        done = reopen(request.output, Measurement(submissions[0], plans[0], identity, request.patch_only))
    counts: Counter[str] = Counter()
    total = len(tasks) if tasks is not None else dataset.VERIFIED_TASKS
    steps = [
        (Publication(submission, total), step)
        for submission, steps in zip(submissions, plans, strict=True)
        for step in steps
        if step.task_id not in done
    ]
    fetcher.observer.planned(len(steps))
    with _appending(request.output, keep=request.resume) as file:
        for publication, step, finding in _findings(steps, request, fetcher, places):
            file.write(to_line(record(identity, publication, step.task_id, step.task, finding)))
            file.flush()
            counts[finding.status] += 1
            fetcher.observer.recorded(step.task_id, finding.status)
    return counts


def _check(request: Request) -> None:
    if not request.submissions and not request.manifests:
        raise InputError("no submission is named", mend="name one, or give --manifest FILE", field="SUBMISSION")
    if request.dataset is None and not request.patch_only:
        mend = "give what `parsimony dataset` wrote, or --patch-only for estimates without base files"
        raise InputError("is needed", mend=mend, field="--dataset")
    if not request.resume:
        return
    selection = request.selection
    if len(request.submissions) != 1 or request.manifests or request.dataset is None:
        mend = "give one submission by its name, and --dataset"
        raise InputError("goes on with a full run of one submission only", mend=mend, field="--resume")
    if selection.tasks or selection.limit is not None:
        mend = "leave --limit and --task out, or --resume"
        raise InputError("goes on with a full run only", mend=mend, field="--resume")


def _import(request: Request, tasks: Mapping[str, Task] | None, fetcher: Fetcher, places: Places) -> list[Submission]:
    wanted = Wanted(request.ref, request.selection.include_failed, None if tasks is None else list(tasks))
    found = [import_submission(name, wanted, fetcher, places) for name in request.submissions]
    found += [import_manifest(path, fetcher) for path in request.manifests]
    for agent, times in Counter(submission.agent for submission in found).items():
        if times > 1:
            raise InputError(f"{agent} is there {times} times", mend="name each agent once", field="agent")
    for submission in found:
        if tasks is not None and len(submission.resolved) > len(tasks):
            told = f"has {len(tasks)} tasks, of which {submission.agent} solved {len(submission.resolved)}"
            mend = "give the whole dataset, and choose tasks with --task"
            raise InputError(told, mend=mend, file=str(request.dataset))
        _warn(submission, request, tasks, fetcher)
    return found


def _warn(submission: Submission, request: Request, tasks: Mapping[str, Task] | None, fetcher: Fetcher) -> None:
    if request.selection.include_failed and not any(map(shows_failure, submission.categories.values())):
        fetcher.observer.warn(
            f"{submission.agent} publishes no explicit failure, so none is measured: absence from the solved proves"
            " nothing"
        )
    outside = [] if tasks is None else sorted(submission.resolved - tasks.keys())
    if outside:
        named = ", ".join(outside[:3]) + (" …" if len(outside) > 3 else "")
        fetcher.observer.warn(
            f"{submission.agent} solved {len(outside)} tasks that are not in the dataset ({named}); they count in its"
            " published rate and have no record"
        )


def _check_tasks(request: Request, submissions: Sequence[Submission], tasks: Mapping[str, Task] | None) -> None:
    known = set(tasks) if tasks is not None else {task for one in submissions for task in one.tasks}
    if unknown := sorted(set(request.selection.tasks) - known):
        where = "the dataset" if tasks is not None else "the submissions"
        raise InputError(f"{unknown[0]} is not in {where}", mend="check the id", field="--task")


def _findings(
    steps: Sequence[tuple[Publication, Step]], request: Request, fetcher: Fetcher, places: Places
) -> Iterator[tuple[Publication, Step, Finding]]:
    """The finding of each step in their order, whether it is known already or has to be made."""
    attempts = (step.attempt for _, step in steps if step.attempt is not None)
    examined = examine_all(attempts, fetcher, places, workers=request.workers)
    for publication, step in steps:
        yield publication, step, step.settled or next(examined)


@contextmanager
def _appending(path: Path, *, keep: bool) -> Iterator[BinaryIO]:
    """The results file, for this process alone."""
    try:
        file = path.open("ab")
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise InputError(problem, mend="check the path and its permissions", file=str(path)) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            mend = "wait for it, or give another --output"
            raise InputError("is being written by another process", mend=mend, file=str(path)) from None
        if not keep:
            file.truncate(0)
        yield file
