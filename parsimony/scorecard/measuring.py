"""Every trial of a run, measured: a note each, and the exact record where all of it is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from parsimony.errors import InputError
from parsimony.records import Scorecard
from parsimony.runs import Run, Spend, Trial
from parsimony.scorecard import card
from parsimony.scorecard.base import BaseFiles
from parsimony.scorecard.changes import Unknown
from parsimony.scorecard.gold import Gold, read_gold
from parsimony.scorecard.localization import find_files, find_symbols
from parsimony.scorecard.material import Material, Materials
from parsimony.scorecard.note import Note
from parsimony.scorecard.patching import Effect, effect, patched, structured
from parsimony.scorecard.sources import Sources
from parsimony.scorecard.stages import UNTOUCHED, Price, exercise, plan, regressions, robustness, spent
from parsimony.scorer import Outcome
from parsimony.tasks import Task

Measured = tuple[Note, Scorecard | None]
Known = tuple[dict[str, Any], tuple[str, ...]]


def no_price(_: Spend) -> int | None:
    """Computing without a price list."""
    return None


@dataclass(slots=True)
class Measurer:
    """Measures trials. What tasks, patches and files have in common is read once.

    Attributes:
        base: gives base files.
        price: gives what computing costs where its record tells no dollars.
    """

    base: BaseFiles
    price: Price = no_price
    sources: Sources = field(default_factory=Sources)
    _gold: dict[str, Gold | str] = field(default_factory=dict, repr=False)
    _effects: dict[tuple[str, bytes, bool], Effect | str] = field(default_factory=dict, repr=False)

    def measure(self, run: Run, materials: Materials) -> Iterator[Measured]:
        """The note of every trial of `run`, in its order, with the record where everything is known."""
        repeats = _repeats(run)
        for trial in run.trials:
            note = self.note(run, trial, materials(trial), repeats[trial.task_id, trial.arm, trial.seed])
            yield note, card.scorecard(note)

    def note(self, run: Run, trial: Trial, material: Material | None, repeats: list[bool]) -> Note:
        """One trial, measured.

        Args:
            repeats: the verdicts of all repeats of its candidate that have one.
        """
        task = run.tasks.get(trial.task_id)
        known, problem = self._stages(trial, task, material)
        worse, cost = regressions(trial), spent(trial, self.price)
        return Note(
            f"{run.run_id}/{trial.arm}/{trial.seed}/{trial.repeat}",
            trial.task_id,
            trial.arm,
            trial.seed,
            trial.repeat,
            trial.outcome.value,
            repo=task.repo if task else "",
            resolved=trial.resolved,
            regressions=worse,
            economics=cost,
            robustness=robustness(material.variants if material else {}, repeats),
            missing=(*problem, *card.missing(trial.resolved, worse, cost)),
            vacuous=tuple(card.vacuous(*map(known.get, ("symbols", "planning", "bug_tests", "regression_tests")))),
            **known,
        )

    def _stages(
        self, trial: Trial, task: Task | None, material: Material | None
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """The measures of the stages, as far as they are known, and why the others are not."""
        if task is None:
            return {}, ("the task is not in the run's task file any more",)
        if material is None:
            return {}, ("there is no candidate",)
        if trial.outcome is Outcome.MISSING:
            return {}, ()
        known: dict[str, Any] = {
            "planning": plan(task, trial.trace),
            "bug_tests": exercise(task.fail_to_pass, trial, material),
            "regression_tests": exercise(task.pass_to_pass, trial, material),
        }
        gold = self._gold_of(task)
        if isinstance(gold, str):
            return known, (gold,)
        found = self._effect_of(task, trial, material, gold)
        if isinstance(found, str):
            return known, (found,)
        known |= {
            "files": find_files(gold, trial.trace, task, found.files),
            "symbols": find_symbols(gold, trial.trace, found.touched.places),
            "patching": patched(task, material, trial.outcome, found, gold.language),
            "structure": structured(gold, found, trial.outcome),
        }
        return known, ()

    def _gold_of(self, task: Task) -> Gold | str:
        if task.instance_id not in self._gold:
            try:
                self._gold[task.instance_id] = read_gold(task, self.base, self.sources)
            except (Unknown, InputError) as error:
                self._gold[task.instance_id] = str(error)
        return self._gold[task.instance_id]

    def _effect_of(self, task: Task, trial: Trial, material: Material, gold: Gold) -> Effect | str:
        applied = sha256(material.applied).digest() if material.applied is not None else b""
        key = (task.instance_id, sha256(material.patch).digest() + applied, trial.outcome in UNTOUCHED)
        if key not in self._effects:
            try:
                self._effects[key] = effect(task, material, trial.outcome, gold, base=self.base, sources=self.sources)
            except (Unknown, InputError) as error:
                self._effects[key] = str(error)
        return self._effects[key]


def _repeats(run: Run) -> Mapping[tuple[str, str, int], list[bool]]:
    """The verdicts of each candidate's repeats, those that are missing left out."""
    found: dict[tuple[str, str, int], list[bool]] = {}
    for trial in run.trials:
        verdicts = found.setdefault((trial.task_id, trial.arm, trial.seed), [])
        if trial.resolved is not None:
            verdicts.append(trial.resolved)
    return found
