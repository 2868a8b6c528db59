"""What the task's own fix touches: what localization and structure are measured against."""

from __future__ import annotations

from dataclasses import dataclass

from parsimony.runner.sources import source_language
from parsimony.scorecard.base import BaseFiles
from parsimony.scorecard.changes import Unknown, changes, needed
from parsimony.scorecard.sources import Sources
from parsimony.scorecard.symbols import Symbol, touched
from parsimony.tasks import Task


@dataclass(frozen=True, slots=True)
class Gold:
    """What the fix of a task touches, by the implementation files of its language.

    Attributes:
        files: those that are in the base, or, where the fix only makes files, these.
        places: symbols of the base that are to be found; none where the fix changes no function, class or method.
        entities: all that it touches, those that it makes included.
    """

    language: str
    files: tuple[str, ...]
    places: tuple[Symbol, ...]
    entities: frozenset[Symbol]


def read_gold(task: Task, base: BaseFiles, sources: Sources) -> Gold:
    """The fix of `task`, read.

    Raises:
        Unknown: it has none, touches no implementation file, or its base files are not known or do not parse.
        InputError: there is no parser for its language here.
    """
    if not task.patch.strip():
        raise Unknown("the task brings no fix of its own to measure against")
    language = source_language(task)
    found = changes(task.patch, base(task, needed(task.patch, language)), language, whole=True)
    if not found:
        raise Unknown(f"the task's own fix touches no implementation file of {language}")
    old = tuple(dict.fromkeys(change.path for change in found if not change.is_new))
    symbols = touched(found, sources, language)
    return Gold(
        language,
        old or tuple(dict.fromkeys(change.path for change in found)),
        symbols.places,
        frozenset(symbols.entities),
    )
