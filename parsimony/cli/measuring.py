"""Commands that download and measure: dataset, analyze."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from parsimony.artifacts import Cache, Fetcher, Observer, Places
from parsimony.artifacts import dataset as datasets
from parsimony.artifacts.analyze import Request
from parsimony.artifacts.analyze import analyze as write_records
from parsimony.artifacts.examine import FETCH_ERROR
from parsimony.cli import DONE, PARTIAL, screen
from parsimony.errors import InputError

DEFAULT_CACHE: Final = Path(".parsimony-cache")
LINE_EVERY_S: Final = 15.0
"""Seconds between two lines where there is no terminal."""


@dataclass(frozen=True, slots=True)
class Downloads:
    """How downloads are done."""

    cache: Path | None
    offline: bool
    refresh: bool

    def fetcher(self, observer: Observer) -> Fetcher:
        """Raises InputError where the two options contradict each other."""
        if self.offline and self.refresh:
            mend = "leave one of the two out"
            raise InputError("needs the network, and --offline forbids it", mend=mend, field="--refresh")
        cache = Cache(self.cache or DEFAULT_CACHE)
        return Fetcher(cache, offline=self.offline, refresh=self.refresh, observer=observer)


def dataset(output: Path, downloads: Downloads) -> int:
    """Download the rows and write them, by rename."""
    with make_observer() as observer:
        data = datasets.download(downloads.fetcher(observer), Places())
    _write(output, data)
    screen.console(stderr=True).print(Text(f"wrote {len(data.splitlines())} tasks to {output}"))
    return DONE


def _write(path: Path, data: bytes) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise InputError(problem, mend="check the path and its permissions", file=str(path)) from None
    finally:
        draft.unlink(missing_ok=True)


def analyze(request: Request, downloads: Downloads) -> int:
    """Measure and write; done in part where downloads failed."""
    with make_observer() as observer:
        counts = write_records(request, downloads.fetcher(observer), Places())
    told = ", ".join(f"{number} {status}" for status, number in counts.most_common()) or "nothing was left to do"
    out = screen.console(stderr=True)
    out.print(Text(f"wrote {counts.total()} records to {request.output}: {told}"))
    if not counts[FETCH_ERROR]:
        return DONE
    out.print(Text("downloads failed for some of them; the same command with --resume tries these again"))
    return PARTIAL


class Lines:
    """Where there is no terminal: a line now and then."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.counts: Counter[str] = Counter()
        self.total = 0
        self.last = time.monotonic()

    def stage(self, what: str) -> None:
        """See `parsimony.artifacts.Observer`."""
        self._now_and_then(what)

    def downloading(self, url: str, received: int, total: int | None) -> None:
        """See `parsimony.artifacts.Observer`."""
        self._now_and_then(_download(url, received, total))

    def waiting(self, url: str, why: str, seconds: float) -> None:
        """See `parsimony.artifacts.Observer`."""
        self._say(f"{url}: {why}; trying again in {seconds:.1f} s")

    def planned(self, records: int) -> None:
        """See `parsimony.artifacts.Observer`."""
        self.total = records

    def recorded(self, task_id: str, status: str) -> None:
        """See `parsimony.artifacts.Observer`."""
        self.counts[status] += 1
        self._now_and_then(f"{self.counts.total()}/{self.total} records")

    def warn(self, text: str) -> None:
        """See `parsimony.artifacts.Observer`."""
        self._say(f"warning: {text}")

    def _now_and_then(self, text: str) -> None:
        if time.monotonic() - self.last >= LINE_EVERY_S:
            self._say(text)

    def _say(self, text: str) -> None:
        self.last = time.monotonic()
        self.console.print(Text(text))


class Bar(Lines):
    """On a terminal: a bar that stays at the bottom, and beside it what is being downloaded."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self.bar, self.row = screen.make_bar(console, "measuring")

    def planned(self, records: int) -> None:
        """The bar gets its length."""
        super().planned(records)
        self.bar.update(self.row, total=records, note="")

    def recorded(self, task_id: str, status: str) -> None:
        """The bar moves."""
        self.counts[status] += 1
        self.bar.update(self.row, completed=self.counts.total(), note=task_id)

    def _now_and_then(self, text: str) -> None:
        self.bar.update(self.row, note=text)


def _download(url: str, received: int, total: int | None) -> str:
    size = screen.mebibytes(received)
    return f"{url.rpartition('/')[2][:40]} {size}" + ("" if total is None else f" of {screen.mebibytes(total)}")


@contextmanager
def make_observer() -> Iterator[Observer]:
    """The observer that fits where our messages go: stderr."""
    console = screen.console(stderr=True)
    if not console.is_terminal:
        yield Lines(console)
        return
    observer = Bar(console)
    with observer.bar:
        yield observer
