"""Responses out of finished runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from parsimony.difficulty.bank import Response
from parsimony.runs import Run


class By(StrEnum):
    """What a respondent is: an arm with all its seeds, or each seed of an arm."""

    ARM = "arm"
    ARM_SEED = "arm-seed"


@dataclass(frozen=True, slots=True)
class Gathered:
    """What runs tell.

    Attributes:
        missing: candidates without a verdict; they are no failures and take no part.
        notes: what a reader must know.
    """

    responses: tuple[Response, ...]
    missing: int
    notes: tuple[str, ...]


def gather(runs: Sequence[Run], by: By) -> Gathered:
    """The responses of all runs together; quarantined tasks take no part.

    A trial is a candidate: a patch of an arm and a seed for a task. Its repeats, also in another run, are one trial,
    whose success is the share that resolve. Arms of one name are one agent unless their harness or model differ.
    """
    names, notes = _agents(runs)
    verdicts: dict[tuple[str, str, int, str | None], list[bool | None]] = {}
    left_out: set[str] = set()
    for place, run in enumerate(runs):
        left_out |= set(run.quarantined)
        for trial in run.trials:
            key = (trial.task_id, names[place, trial.arm], trial.seed, trial.patch_ref)
            verdicts.setdefault(key, []).append(trial.resolved)
    kept = {key: repeats for key, repeats in verdicts.items() if key[0] not in left_out}
    if left_out:
        named = ", ".join(sorted(left_out)[:5]) + (" and others" if len(left_out) > 5 else "")
        notes.append(f"{len(left_out)} tasks are quarantined and take no part: {named}")
    responses = tuple(_responses(kept, by))
    return Gathered(responses, len(kept) - len(responses), tuple(notes))


def _responses(
    verdicts: Mapping[tuple[str, str, int, str | None], Sequence[bool | None]], by: By
) -> Iterator[Response]:
    for (task, agent, seed, _), repeats in verdicts.items():
        known = [verdict for verdict in repeats if verdict is not None]
        if known:
            respondent = f"{agent} #{seed}" if by is By.ARM_SEED else agent
            yield Response(respondent, agent, task, sum(known) / len(known), 1.0)


def _agents(runs: Sequence[Run]) -> tuple[dict[tuple[int, str], str], list[str]]:
    """The agent of each arm of each run, by the place of the run."""
    kinds: dict[str, set[tuple[str | None, str | None]]] = {}
    for run in runs:
        for arm in run.arms:
            kinds.setdefault(arm, set()).add(_kind(run, arm))
    unlike = sorted(arm for arm, found in kinds.items() if len(found) > 1)
    names = {
        (place, arm): f"{arm} ({run.source})" if arm in unlike else arm
        for place, run in enumerate(runs)
        for arm in run.arms
    }
    return names, [f"arms called {arm!r} differ in harness or model between runs: each is its own" for arm in unlike]


def _kind(run: Run, arm: str) -> tuple[str | None, str | None]:
    settings = run.settings[arm]
    return settings.harness_version, settings.model
