"""Follows the folder of a run, or of the nights of a nightly, and says where its series stand."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Final, Protocol

import structlog

from cluster.forecast.stored import read_forecast
from cluster.ledger import LedgerReader
from cluster.metrics.totals import COLUMNS, Totals
from cluster.metrics.values import Labels, Value, Values
from cluster.pricefile import read_prices
from cluster.rundir import RunFolder
from cluster.sweep import Sweep, read_sweep
from parsimony.chain import Chain
from parsimony.errors import InputError, ParsimonyError
from parsimony.nightly import State
from parsimony.nightly.book import FILE as NIGHTS

log = structlog.get_logger(__name__)

_NIGHTS: Final = {f"night.{state.value}": state.value for state in State}


class Source(Protocol):
    """Whatever can say where series stand."""

    def look(self) -> Values:
        """Where they stand now. Never goes back as long as nothing is taken out of a ledger by hand."""
        ...


def source_of(root: Path) -> Source:
    """What follows `root`.

    Raises:
        InputError: it is neither the folder of a run nor one of nights.
    """
    if (root / NIGHTS).exists() or (root.is_dir() and not any(root.iterdir())):  # an empty one: no night has been yet
        return Nights(root)
    try:
        RunFolder.existing(root)
    except InputError as error:
        mend = "give the folder named by --out, or by `nights:` of a nightly"
        raise InputError("is neither the folder of a run nor one of nights", mend=mend, file=str(root)) from error
    return Run(root)


class Run:
    """A run, live or finished; or one that is about to begin, which has no values yet.

    Each look reads the rows that came since the last one. When the ledger cannot be read, the numbers stay where they
    were and `parsimony_ledger_readable` is 0.

    Args:
        running: jobs under way, where the driver tells; not in the ledger.
    """

    def __init__(
        self, root: Path, *, running: Callable[[], int | None] = lambda: None, clock: Callable[[], float] = time.time
    ) -> None:
        self._folder = RunFolder(root)
        self._running = running
        self._clock = clock
        self._written: tuple[int, int] | None = None  # of sweep.yaml
        self._sweep: Sweep | None = None
        self._reader: LedgerReader | None = None
        self._totals: Totals | None = None
        self._last: Values = {}

    def look(self) -> Values:
        """See `Source`."""
        if self._written is None and not self._folder.sweep.exists():
            return {}
        try:
            totals = self._caught_up()
            self._last = {**totals.values(self._running()), **self._budget(totals), **self._forecast()}
            readable = 1
        except ParsimonyError as error:
            log.warning("metrics.unreadable", folder=str(self._folder.root), problem=str(error))
            self._reader = self._totals = None  # half of the new rows may be in: from the beginning next time
            readable = 0
        return {**self._last, "parsimony_ledger_readable": {(self._name,): readable}}

    @property
    def _name(self) -> str:
        return self._sweep.name if self._sweep is not None else self._folder.root.name

    def _caught_up(self) -> Totals:
        self._read_sweep()
        assert self._sweep is not None
        if self._totals is None or self._reader is None:
            totals, seen = Totals(self._sweep.name, read_prices(self._sweep.prices)), dict.fromkeys(COLUMNS, 0)
            reader = LedgerReader(self._folder.ledger)
        else:
            totals, seen = self._totals, {kind: self._reader.count(kind) for kind in COLUMNS}
            self._totals = None  # until every new row is in
            reader = self._reader.later()
        for kind, columns in COLUMNS.items():
            for row in reader.rows(kind, columns, skip=seen[kind]):
                totals.take(kind, row)
        self._reader, self._totals = reader, totals
        return totals

    def _read_sweep(self) -> None:
        """Read the sweep again when a command has written it again: it may have another budget, or other prices."""
        try:
            found = self._folder.sweep.stat()
        except OSError as error:
            mend = "give the same command again, which writes it"
            raise InputError(f"cannot be read ({error.strerror})", mend=mend, file=str(self._folder.sweep)) from None
        written = (found.st_mtime_ns, found.st_size)
        if written != self._written:
            fresh = read_sweep(self._folder.sweep)
            if self._sweep is None or (fresh.name, fresh.prices) != (self._sweep.name, self._sweep.prices):
                self._reader = self._totals = None
            self._sweep, self._written = fresh, written

    def _budget(self, totals: Totals) -> Values:
        budget = self._sweep.budget if self._sweep is not None else None
        if budget is None:
            return {}
        micro, tokens = totals.spent(grading_alone=budget.counts == "grading")
        seconds = totals.elapsed
        caps = (("dollars", budget.dollars, micro / 1e6), ("tokens", budget.tokens, tokens))
        found: dict[str, Mapping[Labels, Value]] = {}
        for unit, cap, spent in (*caps, ("seconds", budget.wall_time, seconds)):
            if cap is not None:
                found[f"parsimony_budget_limit_{unit}"] = {(self._name,): cap}
                found[f"parsimony_budget_spent_{unit}"] = {(self._name,): spent}
        return found

    def _forecast(self) -> Values:
        plan = read_forecast(self._folder.plan)
        if plan is None:
            return {}
        expected = {"dollars": plan["dollars"]["expected"], "seconds": plan["wall_seconds"]["expected"]}
        return {f"parsimony_forecast_{k}": {(self._name,): v} for k, v in expected.items() if v is not None}


class Nights:
    """The nights of a nightly: when it last came to which outcome, and the run of the newest night."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._size = -1
        self._ends: Values = {}
        self._day: date | None = None
        self._run: Run | None = None

    def look(self) -> Values:
        """See `Source`."""
        self._read_book()
        days = [day for path in self._root.iterdir() if (day := _day(path)) is not None]
        if days and max(days) != self._day:
            self._day = max(days)
            self._run = Run(self._root / str(self._day))
        return {**self._ends, **(self._run.look() if self._run is not None else {})}

    def _read_book(self) -> None:
        if not (self._root / NIGHTS).exists():
            return
        try:
            size = (self._root / NIGHTS).stat().st_size
            if size == self._size:
                return
            found: defaultdict[Labels, float] = defaultdict(float)
            for entry in Chain.open(self._root / NIGHTS).entries():
                if entry.kind in _NIGHTS:
                    labels = (str(entry.data["name"]), _NIGHTS[entry.kind])
                    found[labels] = max(found[labels], datetime.fromisoformat(entry.at).timestamp())
        except (ParsimonyError, OSError) as error:
            log.warning("metrics.unreadable", folder=str(self._root), problem=str(error))
            return
        self._size, self._ends = size, {"parsimony_nightly_timestamp_seconds": dict(found)}


def _day(path: Path) -> date | None:
    try:
        day = date.fromisoformat(path.name)
    except ValueError:
        return None
    return day if (path / "ledger").is_dir() else None
