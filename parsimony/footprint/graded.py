"""The footprint of a graded candidate: of the patch as it was applied, against the base files of the tree that was
graded, beside that of the task's own fix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from typing import Any, Final

from parsimony.errors import InputError
from parsimony.footprint.measuring import measure_patch
from parsimony.footprint.model import Footprint, human_ratio
from parsimony.footprint.tracks import load_track, track_names
from parsimony.patches import prepare

OFF: Final = "off"

Files = tuple[tuple[str, bytes | None], ...]


def track_for(wanted: str, language: str) -> str | None:
    """The track by which a task is measured: the wanted one where its language has it, else the language's first.

    None when nothing is wanted, or the language has no track.
    """
    names = track_names(language)
    if wanted == OFF or not names:
        return None
    return wanted if wanted in names else names[0]


def measure_graded(
    base: Mapping[str, bytes | None], applied: bytes, fix: bytes, *, track: str, language: str
) -> dict[str, Any]:
    """What `footprints.jsonl` says of one grading, as plain data. Never raises for anything that a patch can bring.

    Args:
        base: path -> content before the patch, None where there was no file. A file that counts and is not here
            is not known, and an error.
        applied: the patch as it was applied.
        fix: the task's own; b"" where it has none.

    Returns:
        `analysis_status` (`ok` or `error`), `analysis_error` where there is one, `metrics`, `human_metrics`,
        `human_error`, `model_human_ratio`, `exclusion_reasons`, and `provenance` of the measurement; `parser_missing`
        where the parser of the language is not installed here, so that another try elsewhere may help.
    """
    try:
        load_track(track, language=language)
    except InputError as error:
        return {**_error(error), "parser_missing": True}
    try:
        found = measure_patch(_Known(base), applied, track=track, language=language)
    except Exception as error:
        # Whatever a patch brings about, even a fault of ours, is recorded and never ends the grading.
        return _error(error)
    human, problem = _of_fix(base, fix, track, language) if fix else (None, None)
    return {
        "analysis_status": "ok",
        "metrics": found.metrics(),
        "human_metrics": None if human is None else human.metrics(),
        **({} if problem is None else {"human_error": problem}),
        "model_human_ratio": None if human is None else human_ratio(found, human),
        "exclusion_reasons": dict(found.exclusions),
        "provenance": asdict(found.provenance),
    }


def _error(error: Exception) -> dict[str, Any]:
    return {"analysis_status": "error", "analysis_error": _describe(error), "metrics": None, "human_metrics": None}


class _Known:
    """Base files by path, told apart from those that are not there."""

    def __init__(self, files: Mapping[str, bytes | None]) -> None:
        self._files = files

    def __call__(self, path: str) -> bytes | None:
        if path not in self._files:
            raise InputError("its base version is not known", mend="files over 4 MiB are not measured", file=path)
        return self._files[path]


def _of_fix(
    base: Mapping[str, bytes | None], fix: bytes, track: str, language: str
) -> tuple[Footprint | None, str | None]:
    own = _touched(fix)
    return _human(tuple((path, content) for path, content in sorted(base.items()) if path in own), fix, track, language)


@lru_cache(maxsize=256)
def _touched(patch: bytes) -> frozenset[str]:
    return frozenset(path.decode("utf-8", "surrogateescape") for path in prepare(patch).touched)


@lru_cache(maxsize=64)
def _human(base: Files, fix: bytes, track: str, language: str) -> tuple[Footprint | None, str | None]:
    """The footprint of a task's own fix, or why there is none. Kept, because every candidate of a task asks for it."""
    try:
        return measure_patch(_Known(dict(base)), fix, track=track, language=language), None
    except Exception as error:
        return None, _describe(error)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:1000]
