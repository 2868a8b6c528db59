"""What a run leaves in its folder (documented for users in docs/run-folder.md), and how it is read back."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from parsimony.errors import InputError
from parsimony.execution import CapturedOutput

SCHEMA: Final = 1
"""Version of `outcomes.jsonl` and `summary.json`."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of a run: where each thing is."""

    root: Path

    @property
    def sweep(self) -> Path:
        """The sweep as resolved."""
        return self.root / "sweep.yaml"

    @property
    def ledger(self) -> Path:
        """The ledger: everything else is derived from it."""
        return self.root / "ledger"

    @property
    def scores(self) -> Path:
        """A `Score` a line."""
        return self.root / "scores.jsonl"

    @property
    def outcomes(self) -> Path:
        """A line per planned candidate and repeat."""
        return self.root / "outcomes.jsonl"

    @property
    def footprints(self) -> Path:
        """A record of a footprint per candidate, in the format of results files."""
        return self.root / "footprints.jsonl"

    @property
    def variants(self) -> Path:
        """A line per resolved candidate and condition that it was graded under once more."""
        return self.root / "variants.jsonl"

    @property
    def base(self) -> Path:
        """Base files that footprints were measured against, each content once."""
        return self.root / "base"

    @property
    def rejects(self) -> Path:
        """A line per rejected row of the inputs."""
        return self.root / "rejects.jsonl"

    @property
    def summary(self) -> Path:
        """Census, rates, cost, timings."""
        return self.root / "summary.json"

    @property
    def plan(self) -> Path:
        """The forecast of the newest command that had something to do, and after it its error."""
        return self.root / "plan.json"

    @property
    def report(self) -> Path:
        """The page for people."""
        return self.root / "report.html"

    @property
    def logs(self) -> Path:
        """Output of the tests, a file per execution."""
        return self.root / "logs"

    @classmethod
    def existing(cls, root: Path) -> RunFolder:
        """The folder of a run that is there.

        Raises:
            InputError: there is none.
        """
        folder = cls(root)
        if not folder.sweep.exists() or not folder.ledger.is_dir():
            raise InputError("is not the folder of a run", mend="give the folder named by --out", file=str(root))
        return folder

    def log_name(self, instance_id: str, key: str, attempt: int) -> str:
        """Path of an execution's log, relative to the folder."""
        safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in instance_id)[:80]
        return f"logs/{safe}/{key.removeprefix('sha256:')[:16]}-{attempt}.log"

    def remove_drafts(self) -> None:
        """Remove what killed writers left unfinished. For who holds the ledger's lock and has written nothing yet."""
        for path in (*self.root.glob(".*.new"), *self.base.glob("*/.*.new")):
            writer = path.suffixes[-2].removeprefix(".") if len(path.suffixes) > 1 else ""
            if writer.isdigit() and (int(writer) == os.getpid() or not psutil.pid_exists(int(writer))):
                path.unlink(missing_ok=True)

    def write_log(self, name: str, log: CapturedOutput) -> None:
        """Write an execution's output: head, a line on what was left out, tail."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            out.write(log.head)
            if log.omitted_bytes > 0:
                out.write(f"\n[parsimony: {log.omitted_bytes:,} bytes not kept]\n".encode())
            out.write(log.tail)


def write_atomically(path: Path, data: bytes) -> None:
    """Write by rename, so that a reader sees the old or the new and never a part."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    fresh.write_bytes(data)
    fresh.replace(path)


def write_json(path: Path, value: Any) -> None:
    """A JSON file for people and machines, by rename."""
    write_atomically(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """A JSON object a line, by rename. Lone surrogates (bytes that are no UTF-8) stay escaped."""
    write_atomically(path, b"".join(json.dumps(row, ensure_ascii=True).encode() + b"\n" for row in rows))


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file that `write_jsonl` wrote.

    Raises:
        InputError: not there or damaged, with the line.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        mend = "run the sweep, or `parsimony regrade`, to write it again"
        raise InputError(f"cannot be read ({error.strerror})", mend=mend, file=str(path)) from None
    for number, line in enumerate(lines, 1):
        try:
            yield json.loads(line)
        except ValueError:
            mend = "run `parsimony regrade` to write it again"
            raise InputError("is not JSON", mend=mend, file=str(path), row=number) from None
