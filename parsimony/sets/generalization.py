"""When a result may be called generalization, and why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from parsimony.contamination import Cutoff, gate_task
from parsimony.records import Role
from parsimony.runs import Run
from parsimony.sets.model import fingerprint
from parsimony.sets.state import State
from parsimony.sets.store import SetStore

SHOWN = 3
WORD = "generalization"
NO_LEDGER = "no ledger of sets was given, so that nothing is known of where its tasks were used"


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a result may be called generalization. `reasons` is empty when it may."""

    allowed: bool
    reasons: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """What a headline says of the result."""
        return WORD if self.allowed else f"not {WORD}: " + "; ".join(self.reasons)


def refused(reason: str) -> Decision:
    """The decision where nothing could be asked."""
    return Decision(allowed=False, reasons=(reason,))


def may_generalize(
    task_ids: Iterable[str],
    store: SetStore,
    *,
    cutoffs: Mapping[str, Cutoff | None] | None = None,
    fingerprints: Mapping[str, str] | None = None,
) -> Decision:
    """Whether a result on these tasks may be called generalization (build spec §5.3).

    Every task must be in a holdout_live set, not burned and not retired. Where its source is one of dates (live,
    timestamp_gated) it must have been made after the cutoff of every model that took part; an unknown model or an
    unknown cutoff is never after. A held-out source does not need a date, but keeps to a cutoff that is known.

    Args:
        cutoffs: by model that took part, None where the model's cutoff is unknown.
        fingerprints: by task id, of the tasks as they were run; one that is not the task as assigned refuses.
    """
    state, wanted = store.state, list(dict.fromkeys(task_ids))
    if not wanted:
        return refused("it has no tasks")
    reasons: dict[str, list[str]] = {}
    for task in wanted:
        reason = _why_not(state, task, cutoffs or {}, (fingerprints or {}).get(task))
        if reason is not None:
            reasons.setdefault(reason, []).append(task)
    return Decision(not reasons, tuple(_told(reason, tasks, len(wanted)) for reason, tasks in reasons.items()))


def _told(reason: str, tasks: list[str], total: int) -> str:
    shown = ", ".join(tasks[:SHOWN]) + (", …" if len(tasks) > SHOWN else "")
    return f"{len(tasks)} of {total} tasks {reason} ({shown})"


def _why_not(state: State, task: str, cutoffs: Mapping[str, Cutoff | None], print_: str | None) -> str | None:
    """Why a task is no generalization data, as a clause that fits many tasks; None when it is."""
    if state.burn_of(task) is not None:
        return "burned"
    places = state.sets_of(task)
    held = [(one, member) for one, member in places if one.role is Role.HOLDOUT_LIVE]
    active = [(one, member) for one, member in held if state.is_active(one, member.task_id)]
    if not active:
        if held:
            return "retired from their holdout_live set"
        return f"in a {places[0][0].role} set" if places else "in no set"
    one, member = active[0]
    if print_ is not None and print_ != member.fingerprint:
        return "changed since they were assigned"
    if not cutoffs and one.kind.dated:
        return "from a source of dates, and no model is told whose cutoff they could be after"
    for model, cutoff in cutoffs.items():
        if cutoff is None and one.kind.dated:
            return f"from a source of dates, and the cutoff of {model} is unknown"
        if cutoff is not None and not gate_task(task, member.created_at, cutoff).eligible:
            return f"not surely made after the cutoff of {cutoff.model or model} ({cutoff.moment.text})"
    return None


def of_run(run: Run, store: SetStore, cutoffs: Mapping[str, Cutoff | None]) -> Decision:
    """`may_generalize` for all tasks of a run, as they were run.

    Args:
        cutoffs: of the models of its arms; see `models_of`.
    """
    tasks = dict.fromkeys(trial.task_id for trial in run.trials)
    prints = {name: fingerprint(task) for name, task in run.tasks.items()}
    return may_generalize(tasks, store, cutoffs=cutoffs, fingerprints=prints)


def models_of(run: Run) -> tuple[str, ...]:
    """Names of the models that a run tells of: by its settings, and by what its candidates say they used."""
    told = [settings.model for settings in run.settings.values()]
    told += [trial.llm.model for trial in run.trials if trial.llm is not None]
    return tuple(dict.fromkeys(part for model in told if model for part in model.split(" + ")))
