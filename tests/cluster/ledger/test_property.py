"""Whatever is done to a ledger in whatever order: what was flushed is there once and in order."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from cluster.ledger import SCHEMA, Ledger, LedgerOptions, LedgerReader
from cluster.ledger.manifest import load_manifest
from parsimony.errors import DiskFull

OPTIONS = LedgerOptions(seal_rows=9, keep_segments=2)
KINDS = ("score", "event")


class LedgerMachine(RuleBasedStateMachine):
    """A model of two lists per kind: rows that are durable, and rows that may or may not survive."""

    faulty_disk: type[Any]
    machine_stopped: type[BaseException]
    score: Callable[..., dict[str, Any]]

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.directory = self.root / "ledger"
        self.disk: Any = None
        self.ledger: Ledger | None = None
        self.durable: dict[str, list[int]] = {kind: [] for kind in KINDS}
        self.waiting: dict[str, list[int]] = {kind: [] for kind in KINDS}
        self.number = 0

    @initialize()
    def begin(self) -> None:
        self.open()

    @precondition(lambda self: self.ledger is None)
    @rule()
    def open(self) -> None:
        self.disk = self.faulty_disk(self.directory)
        self.ledger = Ledger.open(self.directory, OPTIONS, disk=self.disk)

    @precondition(lambda self: self.ledger is not None)
    @rule(kind=st.sampled_from(KINDS), count=st.integers(1, 4))
    def append(self, kind: str, count: int) -> None:
        assert self.ledger is not None
        for _ in range(count):
            row = self.score(self.number) if kind == "score" else {"at": float(self.number), "name": "n"}
            self.ledger.append(kind, row)
            self.waiting[kind].append(self.number)
            self.number += 1

    def _all_durable(self) -> None:
        for kind in KINDS:
            self.durable[kind] += self.waiting[kind]
            self.waiting[kind].clear()

    @precondition(lambda self: self.ledger is not None)
    @rule(step=st.sampled_from(["flush", "seal"]))
    def write(self, step: str) -> None:
        getattr(self.ledger, step)()
        self._all_durable()

    @precondition(lambda self: self.ledger is not None)
    @rule()
    def compact(self) -> None:
        assert self.ledger is not None
        self.ledger.compact()

    @precondition(lambda self: self.ledger is not None)
    @rule(seal=st.booleans())
    def close(self, seal: bool) -> None:
        assert self.ledger is not None
        self.ledger.close(seal=seal)
        self._all_durable()
        self._closed()

    def _closed(self) -> None:
        self.ledger = None
        shutil.rmtree(self.root / "ledger.inodes", ignore_errors=True)

    @precondition(lambda self: self.ledger is not None)
    @rule(step=st.sampled_from(["flush", "seal", "compact", "close"]), after=st.integers(0, 25))
    def meet_a_full_disk(self, step: str, after: int) -> None:
        self.disk.full_at = self.disk.changes + after
        try:
            getattr(self.ledger, step)()
        except DiskFull:
            self.disk.full_at = None
            if self._found() != self.durable:  # it was full after the flush, within the seal
                self._all_durable()
            return
        self.disk.full_at = None
        if step != "compact":
            self._all_durable()
        if step == "close":
            self._closed()

    @precondition(lambda self: self.ledger is not None)
    @rule(
        step=st.sampled_from(["flush", "seal", "compact", "close", "nothing"]),
        after=st.integers(0, 25),
        power_cut=st.booleans(),
        seed=st.integers(0, 1 << 20),
    )
    def crash(self, step: str, after: int, power_cut: bool, seed: int) -> None:
        assert self.ledger is not None
        self.disk.stop_at = self.disk.changes + after
        try:
            if step != "nothing":
                getattr(self.ledger, step)()
                if step != "compact":
                    self._all_durable()
        except self.machine_stopped:
            pass
        self.ledger.abandon()
        if power_cut:
            found = self.root / "found"
            self.disk.power_cut(random.Random(seed), found)
            shutil.rmtree(self.directory)
            found.rename(self.directory)
        self._closed()
        self._settle()

    @precondition(lambda self: self.ledger is None)
    @rule(keep=st.floats(0, 1))
    def cut_the_open_journal(self, keep: float) -> None:
        """At any byte. Its last rows are lost, durable as they were; those before them are not."""
        manifest = load_manifest(self.directory, SCHEMA)
        assert manifest is not None
        for journal in manifest.journals:
            if journal.end is None:
                path = self.directory / journal.file
                data = path.read_bytes()
                path.write_bytes(data[: int(len(data) * keep)])
        found = self._found()
        for kind in KINDS:
            assert found[kind] == self.durable[kind][: len(found[kind])]
            self.durable[kind] = found[kind]

    def _settle(self) -> None:
        """After a crash: some of the rows that were waiting survived, the first ones."""
        found = self._found()
        for kind in KINDS:
            expected = self.durable[kind] + self.waiting[kind]
            assert found[kind] == expected[: len(found[kind])]
            assert len(found[kind]) >= len(self.durable[kind])
            self.durable[kind] = found[kind]
            self.waiting[kind].clear()

    def _found(self) -> dict[str, list[int]]:
        reader = LedgerReader(self.directory)
        events = [int(row["at"]) for row in reader.rows("event", ["at", "name"]) if row["name"] == "n"]
        return {"score": [row["seed"] for row in reader.rows("score", ["seed"])], "event": events}

    @invariant()
    def what_is_durable_is_there_once_and_in_order(self) -> None:
        if self.directory.exists():
            assert self._found() == self.durable

    def teardown(self) -> None:
        if self.ledger is not None:
            self.ledger.abandon()
        shutil.rmtree(self.root)


def test_any_life_of_a_ledger(
    faulty_disk: type[Any], machine_stopped: type[BaseException], score: Callable[..., dict[str, Any]]
) -> None:
    class Machine(LedgerMachine):
        pass

    Machine.faulty_disk = faulty_disk
    Machine.machine_stopped = machine_stopped
    Machine.score = staticmethod(score)
    run_state_machine_as_test(Machine, settings=settings(max_examples=40, stateful_step_count=20, deadline=None))
