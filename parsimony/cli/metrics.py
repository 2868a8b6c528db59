"""`parsimony metrics`, and metrics beside a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.text import Text

from cluster.logs import configure_logs
from cluster.metrics.exposition import samples_of, serve, text_of, write_textfile
from cluster.metrics.folder import Run, source_of
from cluster.plan import Plan, Unit
from cluster.session import Observer
from parsimony.cli import DONE, screen
from parsimony.errors import InputError
from parsimony.scorer import Verdict


class Watched:
    """Another observer, and how many jobs run: what no ledger can tell."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.running: int | None = None

    def planned(self, plan: Plan, pending: int, rejected: int) -> None:
        """See `cluster.session.Observer`."""
        self._observer.planned(plan, pending, rejected)

    def verdict(self, unit: Unit, verdict: Verdict) -> None:
        """See `cluster.session.Observer`."""
        self._observer.verdict(unit, verdict)

    def progress(self, counts: Any) -> None:
        """See `cluster.session.Observer`."""
        self.running = counts.running
        self._observer.progress(counts)

    def message(self, text: str) -> None:
        """See `cluster.session.Observer`."""
        self._observer.message(text)


@contextmanager
def served_beside(out: Path, observer: Observer, address: str, port: int) -> Iterator[Observer]:
    """Serve the metrics of the run in `out` as long as it goes on. Gives the observer to hand to it.

    Raises:
        InputError: they cannot be served there.
    """
    watched = Watched(observer)
    server = serve(Run(out, running=lambda: watched.running), address, port)
    observer.message(f"metrics: {server.url}")
    try:
        yield watched
    finally:
        server.close()


def metrics(
    root: Path, port: int | None, address: str, textfile: Path | None, *, every: float | None, as_json: bool
) -> int:
    """Serve, write or print the metrics of a folder."""
    configure_logs()
    if port is not None and textfile is not None:
        raise InputError("are two ways at once", mend="give one of the two", field="--port and --textfile")
    if every is not None and textfile is None:
        raise InputError("says how often a file is written", mend="name it with --textfile FILE", field="--every")
    source = source_of(root)
    if port is not None:
        server = serve(source, address, port)
        screen.console(stderr=True).print(Text(f"metrics: {server.url} (Ctrl-C ends)"))
        _until_interrupted()
        server.close()
    elif textfile is not None:
        write_textfile(source, textfile)
        while every is not None and not _interrupted(every):
            write_textfile(source, textfile)
    elif as_json:
        screen.print_json(samples_of(source))
    else:
        print(text_of(source), end="")  # noqa: T201 - the format is that of machines
    return DONE


def _until_interrupted() -> None:
    while not _interrupted(3600.0):
        pass


def _interrupted(seconds: float) -> bool:
    """Sleep; whether Ctrl-C ended it."""
    try:
        time.sleep(seconds)
    except KeyboardInterrupt:
        return True
    return False
