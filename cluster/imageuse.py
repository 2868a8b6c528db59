"""Which images of an engine are ours, and when each was used last: a small file on every machine that grades.

An engine tells neither. `parsimony images gc` evicts by this record alone, so that it touches nothing that somebody
else brought. What cannot be written down is never evicted; it does not stop a grading.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import structlog

SCHEMA: Final = 1
EVERY_S: Final = 60.0
"""The use of an image is written down at most this often."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Use:
    """One image that is ours.

    Attributes:
        references: the names under which we brought it; other names are other people's.
        origin: `pulled` or `built`.
        since, used: epoch seconds.
    """

    references: tuple[str, ...]
    origin: str
    since: float
    used: float


def state_folder() -> Path:
    """`$PARSIMONY_STATE`, else `parsimony` in the folder of this user's state files."""
    named = os.environ.get("PARSIMONY_STATE")
    if named:
        return Path(named)
    home = Path(os.environ.get("HOME") or tempfile.gettempdir())
    return Path(os.environ.get("XDG_STATE_HOME") or home / ".local" / "state") / "parsimony"


class ImageUse:
    """The record of one engine. Safe from several processes and threads at once.

    Args:
        engine: the engine's own id.
        folder: None = `state_folder()`.
    """

    def __init__(self, engine: str, folder: Path | None = None) -> None:
        self._engine = engine
        self._folder = folder if folder is not None else state_folder()
        self._noted: dict[str, float] = {}
        self._guard = threading.Lock()

    @property
    def path(self) -> Path:
        """The file, which holds all engines of this user."""
        return self._folder / "images.json"

    def entries(self) -> dict[str, Use]:
        """Id -> use, of the images that are ours."""
        return _uses(self._read().get(self._engine, {}))

    def brought(self, ident: str, reference: str, origin: str, now: float | None = None) -> None:
        """An image was pulled or built under a name."""
        moment = time.time() if now is None else now

        def change(uses: dict[str, Use]) -> None:
            old = uses.get(ident, Use((), origin, moment, moment))
            names = tuple(dict.fromkeys((*old.references, reference)))
            uses[ident] = replace(old, references=names, used=max(moment, old.used))

        self._change(change)

    def used(self, ident: str, now: float | None = None) -> None:
        """A container was made from an image. Of images that are not ours nothing is kept."""
        moment = time.time() if now is None else now
        with self._guard:
            if moment - self._noted.get(ident, -EVERY_S) < EVERY_S:
                return
            self._noted[ident] = moment

        def change(uses: dict[str, Use]) -> None:
            if ident in uses:
                uses[ident] = replace(uses[ident], used=max(moment, uses[ident].used))

        if self.path.exists():
            self._change(change)

    def forget(self, idents: Iterable[str]) -> None:
        """Images that are gone."""

        def change(uses: dict[str, Use]) -> None:
            for ident in idents:
                uses.pop(ident, None)

        self._change(change)

    def _change(self, change: Callable[[dict[str, Use]], None]) -> None:
        """Read, change and write under the lock; nothing where the disk does not let us."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                every = self._read()
                uses = _uses(every.get(self._engine, {}))
                change(uses)
                every[self._engine] = {ident: asdict(one) for ident, one in sorted(uses.items())}
                fresh = self.path.with_suffix(".new")
                fresh.write_text(json.dumps({"schema": SCHEMA, "engines": every}, indent=1) + "\n", encoding="utf-8")
                fresh.replace(self.path)
        except OSError as error:
            log.warning("images.use_not_recorded", path=str(self.path), error=str(error))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """The lock stands beside the file, which is replaced by rename: readers need none."""
        handle = os.open(self._folder / "images.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _read(self) -> dict[str, Any]:
        """All engines. A file that is damaged or of another version says nothing, and is written anew: images that it
        knew are nobody's then, and stay."""
        try:
            data = json.loads(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            log.warning("images.use_unreadable", path=str(self.path), error=str(error))
            return {}
        known = isinstance(data, dict) and data.get("schema") == SCHEMA and isinstance(data.get("engines"), dict)
        return dict(data["engines"]) if known else {}


def _uses(entries: Any) -> dict[str, Use]:
    found = {}
    for ident, one in entries.items() if isinstance(entries, dict) else ():
        with contextlib.suppress(KeyError, TypeError, ValueError):
            names = tuple(str(name) for name in one["references"])
            found[str(ident)] = Use(names, str(one["origin"]), float(one["since"]), float(one["used"]))
    return found
