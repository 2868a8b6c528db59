"""One attempt examined: is there a patch, is its base known, and what is its footprint beside that of the human patch.

This runs in worker processes, so what goes in and comes out is plain data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from parsimony.artifacts.download import Fetcher, FetchFailed, NotThere
from parsimony.artifacts.places import Places
from parsimony.artifacts.submission import PatchSource, sha256
from parsimony.footprint import Footprint, human_ratio, measure_hunks, measure_patch
from parsimony.measurements import Base

OK: Final = "ok"
MISSING_PATCH: Final = "missing_patch"
MISSING_BASE: Final = "missing_base_metadata"
ERROR: Final = "error"
FETCH_ERROR: Final = "fetch_error"

_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Rules:
    """How patches are measured.

    Attributes:
        patch_only: estimate from hunks, without base files.
    """

    track: str
    language: str
    patch_only: bool


@dataclass(frozen=True, slots=True)
class Attempt:
    """One patch to examine.

    Attributes:
        reference: the human patch; None where there is none.
        base: None where it is not known.
    """

    patch: PatchSource
    reference: str | None
    base: Base | None
    rules: Rules


@dataclass(frozen=True, slots=True)
class Finding:
    """What an examination found.

    Attributes:
        status: one of the constants above.
        error: `Type: text`, with status error or fetch_error.
        patch_sha256: of the patch as stored; None where there is none.
        newline_restored: the patch lacked its final line feed.
        metrics, human: None where they were not measured.
    """

    status: str
    error: str | None = None
    patch_sha256: str | None = None
    newline_restored: bool = False
    metrics: Footprint | None = None
    human: Footprint | None = None
    human_error: str | None = None
    ratio: float | None = None


def encode(text: str) -> bytes:
    """The bytes of a patch that came as JSON text, in which U+DC80 to U+DCFF stand for raw bytes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def examine(attempt: Attempt, fetcher: Fetcher, places: Places) -> Finding:
    """Examine one attempt. A network that fails is `fetch_error`, everything else that goes wrong `error`."""
    try:
        patch = stored_patch(attempt.patch, fetcher)
    except FetchFailed as error:
        return Finding(FETCH_ERROR, describe(error))
    except Exception as error:
        return Finding(ERROR, describe(error))
    if patch is None:
        return Finding(MISSING_PATCH)
    digest, restored = sha256(patch), bool(patch.strip()) and not patch.endswith(b"\n")
    if attempt.base is None and not attempt.rules.patch_only:
        return Finding(MISSING_BASE, patch_sha256=digest, newline_restored=restored)
    found = _measure(attempt, patch, fetcher, places)
    return Finding(
        found.status,
        found.error,
        digest,
        restored,
        found.metrics,
        found.human,
        found.human_error,
        found.ratio,
    )


def stored_patch(source: PatchSource, fetcher: Fetcher) -> bytes | None:
    """The bytes of a patch; None where there is none.

    Raises:
        FetchFailed: the network failed.
    """
    if source.url is None:
        return None if source.text is None else encode(source.text)
    try:
        return fetcher.get(source.url)
    except NotThere:
        return None


def _measure(attempt: Attempt, patch: bytes, fetcher: Fetcher, places: Places) -> Finding:
    """The footprints. Whatever a patch brings about, even a fault of ours, must not end the work on the others: it is
    recorded with the name of its exception."""
    try:
        metrics = footprint(patch, attempt.base, attempt.rules, fetcher, places)
    except FetchFailed as error:
        return Finding(FETCH_ERROR, describe(error))
    except Exception as error:
        return Finding(ERROR, describe(error))
    if attempt.reference is None:
        return Finding(OK, metrics=metrics)
    try:
        human = footprint(encode(attempt.reference), attempt.base, attempt.rules, fetcher, places)
        return Finding(OK, metrics=metrics, human=human, ratio=human_ratio(metrics, human))
    except FetchFailed as error:
        # Not a record without its comparison: it can be had another time.
        return Finding(FETCH_ERROR, describe(error))
    except Exception as error:
        return Finding(OK, metrics=metrics, human_error=describe(error))


def footprint(patch: bytes, base: Base | None, rules: Rules, fetcher: Fetcher, places: Places) -> Footprint:
    """The footprint of a patch, at its base unless the rules say `patch_only`.

    Raises:
        FetchFailed: a base file could not be downloaded.
        InputError: the patch cannot be measured.
    """
    if rules.patch_only or base is None:
        return measure_hunks(patch, track=rules.track, language=rules.language)
    return measure_patch(base_files(base, fetcher, places), patch, track=rules.track, language=rules.language)


def base_files(base: Base, fetcher: Fetcher, places: Places) -> Callable[[str], bytes | None]:
    """Gives the files of a repository at a commit; None for one that is not there (404)."""
    lasting = _COMMIT.fullmatch(base.base_commit) is not None

    def look(path: str) -> bytes | None:
        try:
            return fetcher.get(places.file(base.repo, base.base_commit, path), lasting=lasting)
        except NotThere:
            return None

    return look


def describe(error: Exception) -> str:
    """`Type: text`, on one line of bounded length."""
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:1000]
