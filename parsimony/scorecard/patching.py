"""What a candidate's patch does: which files and symbols it touches, and whether it applies, parses and builds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from parsimony.execution import MIB
from parsimony.scorecard.base import BaseFiles
from parsimony.scorecard.changes import changes, needed, order
from parsimony.scorecard.gold import Gold
from parsimony.scorecard.material import Material
from parsimony.scorecard.note import Patched, Structured
from parsimony.scorecard.sources import Sources
from parsimony.scorecard.stages import UNTOUCHED
from parsimony.scorecard.symbols import Symbol, Touched, touched
from parsimony.scorer import Outcome
from parsimony.tasks import Task

BUILD_FAILED: Final = 125
"""Exit status of the tests' script where the task's build command fails (`parsimony.runner.request`)."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a patch touches.

    Attributes:
        files: implementation files, in the order of the patch as submitted.
        touched: of the tree that was graded; of what fits, where the patch did not apply.
        changed: whether any implementation file changed.
    """

    files: tuple[str, ...]
    touched: Touched
    changed: bool


def effect(
    task: Task, material: Material, outcome: Outcome, gold: Gold, *, base: BaseFiles, sources: Sources
) -> Effect:
    """What a candidate's patch does to the files of the language of the fix.

    Raises:
        Unknown: a base file is not known or does not parse, or the patch that was applied with fuzz was not kept.
        InputError: there is no parser for the language here.
    """
    language = gold.language
    whole = outcome not in UNTOUCHED
    kept = material.applied if material.applied is not None and len(material.applied) < MIB else None
    patch = kept if whole and kept is not None else material.patch
    found = changes(patch, base(task, needed(patch, language)), language, whole=whole)
    files = order(material.patch, language)
    ranks = {path: rank for rank, path in enumerate(files)}
    ordered = sorted(found, key=lambda change: ranks.get(change.path, len(ranks)))
    return Effect(files, touched(ordered, sources, language), bool(found))


def patched(task: Task, material: Material, outcome: Outcome, found: Effect, language: str) -> Patched:
    """Whether the patch applies, parses and builds. One that does not apply leaves nothing that could."""
    if outcome in UNTOUCHED:
        return Patched(apply=False, parse=False, build=False, build_by="")
    parse = found.touched.parses
    if task.build_cmd is not None and task.test_cmd is not None:
        return Patched(apply=True, parse=parse, build=_built(material), build_by="build_cmd")
    by = "compiler" if language == "python" else "parser"
    build = found.touched.compiles and parse
    return Patched(apply=True, parse=parse, build=build, build_by=by if found.changed else "nothing")


def _built(material: Material) -> bool:
    """The tests start only after the build command. Without a test, an end by itself with another status shows it."""
    return bool(material.tests) or material.exit_status not in (None, BUILD_FAILED)


def structured(gold: Gold, found: Effect, outcome: Outcome) -> Structured:
    """Entities touched against those of gold. A patch that did not apply touches none."""
    mine: frozenset[Symbol] = frozenset() if outcome in UNTOUCHED else frozenset(found.touched.entities)
    places = frozenset() if outcome in UNTOUCHED else frozenset(found.touched.places)
    correct = len(mine & gold.entities)
    return Structured(
        correct, len(mine) - correct, len(gold.entities), len(places.intersection(gold.places)), len(gold.places)
    )
