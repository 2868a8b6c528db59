"""The plan: tasks × arms × seeds × repeats become units, and units become jobs keyed by their content.

Identical work is one job, however many units ask for it. What needs no execution (an empty patch, a patch that reaches
outside the tree, a planned candidate that is not there) is settled here, before anything starts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cluster.imagelock import Pins, make_pins, read_lock
from cluster.imagenames import read_registries
from cluster.sweep import Sweep
from parsimony import patches
from parsimony.audit import audit_file, quarantined
from parsimony.errors import InputError
from parsimony.execution import Limits
from parsimony.reference import Reference
from parsimony.runner import execution_key, refusal
from parsimony.scorer import Outcome
from parsimony.tasks import Candidate, Rejected, Task, read_predictions, read_tasks
from parsimony.testreports import FORMATS


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a sweep names, read. `tasks` are those that the sweep takes, by id, with the images as they are pulled
    (pinned, and from a mirror); `quarantined` those of them that failed their audit, with the reasons; `pins` what the
    images must turn out to be."""

    tasks: Mapping[str, Task]
    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejected, ...]
    reference: Reference | None = None
    quarantined: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    pins: Pins = field(default_factory=Pins)


@dataclass(frozen=True, slots=True)
class Unit:
    """One planned candidate × repeat: it gets exactly one terminal record.

    Attributes:
        candidate: None when it was planned and is not there.
        key: the execution that decides it; None when `settled` does.
        settled: the outcome that stands without an execution, and why.
    """

    task: Task
    arm: str
    seed: int
    repeat: int
    candidate: Candidate | None
    key: str | None = None
    settled: Outcome | None = None
    reasons: tuple[str, ...] = ()

    @property
    def identity(self) -> tuple[str, str, int, int]:
        """Task, arm, seed, repeat."""
        return self.task.instance_id, self.arm, self.seed, self.repeat


@dataclass(frozen=True, slots=True)
class Work:
    """One execution to be had: what a job's key stands for."""

    key: str
    task: Task
    patch: bytes
    limits: Limits
    environment: str
    repeat: int = 0
    variant: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """Units in the order of the inputs, and the work that they need by key."""

    units: tuple[Unit, ...]
    work: Mapping[str, Work]


@dataclass(frozen=True, slots=True)
class Environment:
    """What an image (or None, the machine itself) is here: its digest, or why there is none."""

    digest: str | None
    problem: str = ""


def load(sweep: Sweep, *, with_candidates: bool = True) -> Inputs:
    """Read what the sweep names.

    Args:
        with_candidates: whether its predictions are wanted; calibrating needs the tasks alone.

    Raises:
        InputError: a file that cannot be read at all, an id of `only` that is not there, or nothing left to grade.
    """
    file = read_tasks(sweep.tasks.file, defaults=sweep.tasks.defaults, formats=FORMATS)
    tasks = {task.instance_id: task for task in file.tasks}
    rejected = list(file.rejected)
    if sweep.tasks.only is not None:
        refused = {row.instance_id for row in file.rejected}
        unknown = [name for name in sweep.tasks.only if name not in tasks and name not in refused]
        if unknown:
            raise InputError(
                f"there is no task {unknown[0]!r}",
                mend=f"it holds {len(tasks)} tasks, for example {next(iter(tasks), 'none')!r}",
                file=str(sweep.tasks.file),
            )
        wanted = set(sweep.tasks.only)
        tasks = {name: task for name, task in tasks.items() if name in wanted}
    candidates: tuple[Candidate, ...] = ()
    if with_candidates:
        every, refused_rows = _candidates(sweep, {task.instance_id for task in file.tasks})
        candidates = tuple(c for c in every if c.instance_id in tasks)
        rejected += refused_rows
    if not tasks or (with_candidates and not candidates):
        what = "candidate" if tasks else "task"
        first = f"; the first of {len(rejected)} rejected rows: {rejected[0].problem}" if rejected else ""
        raise InputError(
            f"no {what} is left to grade{first}", mend="mend the rows or name other files", file=str(sweep.tasks.file)
        )
    reference, held_back = _reference(sweep), _quarantined(sweep, tasks.values())
    pins = _pins(sweep, tasks.values())
    tasks = {name: replace(task, image=pins.reference(task.image)) for name, task in tasks.items()}
    return Inputs(tasks, candidates, tuple(rejected), reference, held_back, pins)


def _pins(sweep: Sweep, tasks: Iterable[Task]) -> Pins:
    if sweep.sandbox.kind == "process" or (sweep.images_lock is None and sweep.registries is None):
        return Pins()  # a sandbox without images has nothing to pin
    locked = read_lock(sweep.images_lock) if sweep.images_lock is not None else None
    return make_pins((task.image for task in tasks), locked, read_registries(sweep.registries))


def _reference(sweep: Sweep) -> Reference | None:
    path = sweep.reference
    if sweep.policy.reference == "ignore" or path is None:
        return None
    if not path.exists() and sweep.policy.reference == "use":
        return None
    return Reference.read(path)


def _quarantined(sweep: Sweep, tasks: Iterable[Task]) -> Mapping[str, tuple[str, ...]]:
    """By the audit beside the reference; a sweep that ignores the one ignores the other."""
    if sweep.policy.reference == "ignore" or sweep.reference is None:
        return {}
    return quarantined(audit_file(sweep.reference), tasks)


def _candidates(sweep: Sweep, known: set[str]) -> tuple[tuple[Candidate, ...], list[Rejected]]:
    groups: list[tuple[str | None, Sequence[Path]]] = [(None, sweep.predictions)] if sweep.predictions else []
    groups += [(name, arm.predictions) for name, arm in (sweep.arms or {}).items() if arm.predictions]
    found: dict[tuple[str, str, int], Candidate] = {}
    rejected: list[Rejected] = []
    for arm, paths in groups:
        file = read_predictions(paths, known=known, arm=arm)
        rejected += file.rejected
        for candidate in file.candidates:
            identity = (candidate.instance_id, candidate.arm, candidate.seed)
            if identity in found:
                problem = f"{candidate.source}: task, arm and seed {identity} are given in {found[identity].source} too"
                rejected.append(Rejected(candidate.source, f"{problem}; keep one of them", candidate.instance_id))
            else:
                found[identity] = candidate
    if sweep.arms is not None:
        found = {k: c for k, c in found.items() if c.arm in sweep.arms}
    if sweep.seeds is not None:
        found = {k: c for k, c in found.items() if c.seed in sweep.seeds}
    return tuple(found.values()), rejected


def planned(sweep: Sweep, inputs: Inputs) -> Iterator[tuple[str, str, int]]:
    """Every (task, arm, seed) that the sweep plans, task by task."""
    by_task: dict[str, list[Candidate]] = {}
    for candidate in inputs.candidates:
        by_task.setdefault(candidate.instance_id, []).append(candidate)
    if sweep.arms is None and sweep.seeds is None:
        for name in inputs.tasks:
            yield from ((name, c.arm, c.seed) for c in by_task.get(name, ()))
        return
    arms = list(sweep.arms) if sweep.arms is not None else sorted({c.arm for c in inputs.candidates})
    seeds = {
        arm: sweep.seeds if sweep.seeds is not None else sorted({c.seed for c in inputs.candidates if c.arm == arm})
        for arm in arms
    }
    for name in inputs.tasks:
        for arm in arms:
            for seed in seeds[arm]:
                yield name, arm, seed


def make_plan(sweep: Sweep, inputs: Inputs, environments: Mapping[str | None, Environment]) -> Plan:
    """Turn inputs into units and work.

    Args:
        environments: image reference -> what it is here, for every image of the tasks.

    Raises:
        InputError: an image is another than the one that the sweep's lock has.
    """
    check_pins(inputs, environments)
    candidates = {(c.instance_id, c.arm, c.seed): c for c in inputs.candidates}
    units: list[Unit] = []
    work: dict[str, Work] = {}
    for name, arm, seed in planned(sweep, inputs):
        task, candidate = inputs.tasks[name], candidates.get((name, arm, seed))
        settled, reasons = _settle(sweep, inputs, task, candidate, environments[task.image])
        for repeat in range(sweep.repeats):
            unit = Unit(task, arm, seed, repeat, candidate, None, settled, reasons)
            if settled is None and candidate is not None:
                one = work_for(sweep, task, candidate.patch, environments[task.image], repeat=repeat)
                work.setdefault(one.key, one)
                unit = replace(unit, key=one.key)
            units.append(unit)
    return Plan(tuple(units), work)


def check_pins(inputs: Inputs, environments: Mapping[str | None, Environment]) -> None:
    """See `Pins.check`. Images that a run remembers but its tasks no longer name are nobody's business."""
    if inputs.pins.digests:
        named = dict.fromkeys(task.image for task in inputs.tasks.values())
        inputs.pins.check({image: environments[image].digest for image in named})


def work_for(
    sweep: Sweep, task: Task, patch: bytes, environment: Environment, *, repeat: int = 0, variant: str = ""
) -> Work:
    """The work of one patch on one task in a known environment."""
    assert environment.digest is not None, "a task without an environment is settled, not executed"
    limits = sweep.limits.over(task.limits)
    key = execution_key(
        task,
        patch,
        environment_digest=environment.digest,
        sandbox_kind=sweep.sandbox.kind,
        limits=limits,
        policy=sweep.policy.runner,
        repeat=repeat,
        variant=variant,
    )
    return Work(key, task, patch, limits, environment.digest, repeat, variant)


def _settle(
    sweep: Sweep, inputs: Inputs, task: Task, candidate: Candidate | None, environment: Environment
) -> tuple[Outcome | None, tuple[str, ...]]:
    if candidate is None:
        return Outcome.MISSING, ("planned, but there is no candidate for it",)
    if patches.is_blank(candidate.patch):
        return Outcome.EMPTY_PATCH, ("the patch is empty",)
    if refused := refusal(candidate.patch, sweep.policy.runner):
        return Outcome.DOES_NOT_APPLY, refused
    if sweep.policy.evidence == "report" and not FORMATS[task.log_format].gives_report:
        return Outcome.MISSING, (f"the sweep requires a report, and {task.log_format!r} only has a log",)
    if environment.digest is None:
        return Outcome.MISSING, (environment.problem,)
    if sweep.policy.reference == "require":
        found = inputs.reference.for_task(task, environment.digest) if inputs.reference else None
        if found is None:
            return Outcome.MISSING, ("the sweep requires a reference, and there is none for this task and image",)
        if found.problems:
            return Outcome.MISSING, tuple(f"the task is unsound here: {p}" for p in found.problems)
    return None, ()


def images(tasks: Iterable[Task]) -> list[str | None]:
    """The distinct images of `tasks`, in their order; None where a task runs without one."""
    return list(dict.fromkeys(task.image for task in tasks))
