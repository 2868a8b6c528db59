"""Everything but the change is held fixed: the frozen config of a comparison (build spec, sections 5.4 and 8.2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Final

from parsimony.ab.cells import Grid
from parsimony.canonical import digest_json
from parsimony.errors import InputError
from parsimony.records import FrozenConfig
from parsimony.runs import Settings
from parsimony.tasks import Task

NOT_STATED: Final = "not stated"
"""Stands in a record where neither arm says."""

FROZEN: Final = tuple(field.name for field in fields(FrozenConfig))


@dataclass(frozen=True, slots=True)
class Frozen:
    """The frozen config with the fields that neither arm states, for which a placeholder stands in the record."""

    config: FrozenConfig
    not_stated: tuple[str, ...] = ()


def freeze(baseline: Grid, candidate: Grid) -> Frozen:
    """The config that both arms share.

    Where neither arm states a field, the record holds `not stated` for texts, 0 for temperature and budgets, the
    number of seeds for `candidate_count` and the longest limit of the tasks for `timeout`.

    Raises:
        InputError: a field differs, or one arm states it and the other does not.
    """
    for name in FROZEN:
        ours, theirs = getattr(baseline.settings, name), getattr(candidate.settings, name)
        if ours != theirs:
            raise _differs(name, ours, theirs, baseline, candidate)
    shared = baseline.settings
    unknown = tuple(name for name in FROZEN if getattr(shared, name) is None)
    return Frozen(_config(shared, baseline), unknown)


def _config(shared: Settings, grid: Grid) -> FrozenConfig:
    timeout = shared.timeout if shared.timeout is not None else row_limit(grid.facts.values())
    if timeout is None:
        mend = "state it: two arms with other limits cannot be compared"
        raise InputError("is not known for either arm", mend=mend, file=grid.label, field="frozen.timeout")
    return FrozenConfig(
        model=shared.model or NOT_STATED,
        temperature=shared.temperature or 0.0,
        token_budget=shared.token_budget or 0,
        tool_budget=shared.tool_budget or 0,
        task_set=shared.task_set or NOT_STATED,
        environment_image=shared.environment_image or NOT_STATED,
        timeout=float(timeout),
        candidate_count=shared.candidate_count or len(grid.seeds),
    )


def _differs(name: str, ours: object, theirs: object, baseline: Grid, candidate: Grid) -> InputError:
    values = f"{_told(ours)} for {baseline.label!r} and {_told(theirs)} for {candidate.label!r}"
    if name == "model":
        mend = "comparing models is no A/B: `parsimony matrix` sets models, benchmarks and scaffolds side by side"
    elif None in {ours, theirs}:
        mend = f"state `{name}` for both arms (under `frozen:` in the sweep): what is not stated may not be equal"
    elif name == "task_set":
        mend = "grade both arms on the same task rows, or give --common to compare on those that are the same"
    else:
        mend = "hold everything fixed but the change under test, and grade the arm again"
    return InputError(f"is {values}", mend=mend, field=f"frozen.{name}")


def _told(value: object) -> str:
    return NOT_STATED if value is None else repr(value)


def row_limit(facts: Iterable[Task]) -> float | None:
    """The longest limit in seconds that the rows of tasks state; None when no task is known."""
    return max((task.limits.timeout_s for task in facts), default=None)


def narrowed(settings: Settings, before: Grid, after: Grid, images: Mapping[str, str | None]) -> Settings:
    """The settings of an arm for the part `after` of its tasks `before`: digests and limits of just those.

    Args:
        images: digest by image (`str(task.image)`) of the environments that graded; empty where nobody knows: then
            the digest of all of them stays.
    """
    rows = {name: [task.digest, task.gates_digest] for name, task in sorted(after.facts.items())}
    used = {str(task.image) for task in after.facts.values()}
    known = bool(used) and used <= set(images)
    # A limit that is not that of the rows was laid over all of them: it holds for every part.
    by_rows = settings.timeout == row_limit(before.facts.values())
    return replace(
        settings,
        task_set=digest_json(rows) if rows else settings.task_set,
        environment_image=digest_json({name: images[name] for name in used}) if known else settings.environment_image,
        timeout=row_limit(after.facts.values()) if by_rows else settings.timeout,
    )
