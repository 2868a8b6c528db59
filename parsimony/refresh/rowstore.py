"""The store of a refresh: the rows that came, a file a month, and what an interrupted refresh still has to do.

`rows-2026-03.jsonl` holds the tasks made in that month, a canonical row a line, in the order in which they came: a task
file as any other. `trees/` holds the base trees that rows name. Rows are only ever added; what each is, and where it
came from, is in the hash-chained ledger, so that an edited row is found.

A refresh is durable in this order: `pending.json` (all that it is going to do), the rows, the entry in the ledger, the
sets, `live.jsonl`; then `pending.json` goes. Who finds one finishes it: each step passes over what is done.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from parsimony import strict_json
from parsimony.canonical import canonical_json, digest_bytes
from parsimony.errors import InputError, LedgerCorrupt, LedgerError, LedgerLocked
from parsimony.refresh.reading import TREES, tree_name
from parsimony.tasks import Task, read_tasks

LIVE: Final = "live.jsonl"
"""The tasks that are in the live set now, as a task file for sweeps."""
_MONTH_FILE = re.compile(r"rows-(\d{4}-\d{2})\.jsonl")


@dataclass(frozen=True, slots=True)
class Stored:
    """A row of the store. `place` is its file and line, for messages."""

    task_id: str
    row: Mapping[str, Any]
    digest: str
    place: str


class RowStore:
    """The rows in a folder, which is made when it is not there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the store, making its folder.

        Raises:
            LedgerLocked: another refresh does.
            LedgerError: the folder cannot be made or written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise LedgerError(f"{self.folder}: {error.strerror}; check the path and its permissions") from None
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LedgerLocked(f"{self.folder}: another refresh is at work; wait for it") from None
            yield
        finally:
            os.close(handle)

    # ---- rows

    def month_files(self) -> list[Path]:
        """The files of rows, the oldest month first."""
        return sorted(path for path in self.folder.glob("rows-*.jsonl") if _MONTH_FILE.fullmatch(path.name))

    def read(self, recorded: Mapping[str, str]) -> dict[str, Stored]:
        """All rows by task, held against the ledger.

        Args:
            recorded: digest by task, as the ledger has them.

        Raises:
            LedgerCorrupt: a row was changed, added or removed by hand; names its place.
        """
        rows: dict[str, Stored] = {}
        for stored in self._stored():
            if stored.task_id in rows or recorded.get(stored.task_id) != stored.digest:
                raise LedgerCorrupt(f"{stored.place}: {self._why(stored, rows, recorded)}")
            rows[stored.task_id] = stored
        gone = next((task for task in recorded if task not in rows), None)
        if gone is not None:
            raise LedgerCorrupt(f"{self.folder}: the row of {gone!r} is gone; put back a copy of the folder")
        return rows

    def _why(self, stored: Stored, rows: Mapping[str, Stored], recorded: Mapping[str, str]) -> str:
        if stored.task_id in rows:
            return f"{stored.task_id!r} stands at {rows[stored.task_id].place} already; remove this line"
        if stored.task_id in recorded:
            return f"the row of {stored.task_id!r} is not the one that the ledger has; put back a copy of the folder"
        return f"the ledger knows no {stored.task_id!r}; take the line out, and give the row to a source"

    def _stored(self) -> Iterator[Stored]:
        for path in self.month_files():
            try:
                data = path.read_bytes()
            except OSError as error:
                raise LedgerError(f"{path}: {error.strerror}; check its permissions") from None
            *lines, tail = data.split(b"\n")
            if tail:
                raise LedgerCorrupt(f"{path}:{len(lines) + 1}: the line has no end; put back a copy of the folder")
            for number, line in enumerate(lines, 1):
                place = f"{path}:{number}"
                try:
                    row = strict_json.loads(line)
                except InputError:
                    row = None
                if not isinstance(row, dict) or not isinstance(row.get("instance_id"), str):
                    raise LedgerCorrupt(f"{place}: this is no row of a task; put back a copy of the folder")
                yield Stored(row["instance_id"], row, digest_bytes(line), place)

    def tasks(self, defaults: Mapping[str, object]) -> dict[str, Task]:
        """The rows as tasks.

        Raises:
            InputError: one cannot be read any more, which other defaults can do.
        """
        tasks: dict[str, Task] = {}
        for path in self.month_files():
            found = read_tasks(path, defaults=defaults)
            if found.rejected:
                mend = "it was read once: give the defaults that it was read with"
                raise InputError(f"cannot be used any more ({found.rejected[0].problem})", mend=mend, field="defaults")
            tasks |= {task.instance_id: task for task in found.tasks}
        return tasks

    def append(self, month: str, lines: Iterable[bytes]) -> None:
        """Add rows to the file of a month, each unless it is there. What a crash left of a line is cut off first."""
        path = self.folder / f"rows-{month}.jsonl"
        data = path.read_bytes() if path.exists() else b""
        whole = data[: data.rfind(b"\n") + 1]
        known = set(whole.split(b"\n"))
        fresh = b"".join(line + b"\n" for line in lines if line not in known)
        if fresh or whole != data:
            with path.open("r+b" if path.exists() else "xb") as file:
                file.truncate(len(whole))
                file.seek(len(whole))
                file.write(fresh)
                file.flush()
                os.fsync(file.fileno())
            self._sync()

    def keep_tree(self, tree: bytes) -> None:
        """Keep a base tree under the digest of its bytes."""
        path = self.folder / tree_name(tree)
        if not path.exists():
            (self.folder / TREES).mkdir(exist_ok=True)
            self._write(path, tree)

    def write_live(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write the task file of the live set."""
        self._write(self.folder / LIVE, b"".join(canonical_json(row) + b"\n" for row in rows))

    # ---- what is still to do

    @property
    def pending(self) -> Path:
        """What a refresh is going to do, while it has not done it."""
        return self.folder / "pending.json"

    def write_pending(self, work: Mapping[str, Any]) -> None:
        """Write down what is going to be done."""
        self._write(self.pending, canonical_json(work))

    def read_pending(self) -> dict[str, Any] | None:
        """What an interrupted refresh was going to do; None when there is nothing."""
        if not self.pending.exists():
            return None
        try:
            work = json.loads(self.pending.read_bytes())
            return {"entry": dict(work["entry"]), "rows": {str(m): list(lines) for m, lines in work["rows"].items()}}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise LedgerCorrupt(f"{self.pending}: is damaged; remove it, the sources are then asked again") from None

    def clear_pending(self) -> None:
        """All of it is done."""
        self.pending.unlink(missing_ok=True)
        self._sync()

    def _write(self, path: Path, data: bytes) -> None:
        """By rename, durable."""
        fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        self._sync()

    def _sync(self) -> None:
        handle = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
