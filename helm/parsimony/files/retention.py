"""Remove what is old from the data volume: `retention.py --logs-days N --runs-days N --keep-newest N FOLDER …`.

Each FOLDER holds runs (folders with a `ledger`), or nights (a `nights.jsonl`, and a folder per date). Logs of tests go
after `--logs-days`; a whole run after `--runs-days`. Of a night, the ledger, logs and base files go; its verdicts and
pages stay, because later nights are compared with them. 0 is never.

Never removed: the newest of each folder, nights that were accepted as a baseline, runs that somebody writes (their lock
is taken), runs with a file `.keep`, and anything that is no run. Age is that of the newest file of the ledger.

Exit status: 0 done; 1 something could not be removed.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DAY_S = 86400.0
HEAVY = ("ledger", "logs", "base")


def runs_of(folder: Path) -> list[tuple[Path, Path]]:
    """Children of `folder` that are or hold a run: (child, run folder). Links are not followed."""
    found = []
    for child in sorted(folder.iterdir()) if folder.is_dir() else []:
        if child.is_symlink() or not child.is_dir():
            continue
        for place in (child, *sorted(p for p in child.iterdir() if p.is_dir() and not p.is_symlink())):
            if (place / "ledger").is_dir() and not (place / "ledger").is_symlink():
                found.append((child, place))
                break
    return found


def age_days(run: Path, now: float) -> float:
    """Days since the ledger of a run was last written."""
    newest = max((path.lstat().st_mtime for path in (run / "ledger").rglob("*")), default=run.lstat().st_mtime)
    return (now - newest) / DAY_S


def accepted(folder: Path) -> set[str]:
    """Dates of nights that were ever accepted as a baseline: a rollback may make each of them the baseline again."""
    ledger = folder / "nights.jsonl"
    dates = set()
    for line in ledger.read_text(encoding="utf-8", errors="replace").splitlines() if ledger.is_file() else []:
        try:
            entry = json.loads(line)
            if entry["kind"] == "night.accepted":
                dates.add(str(entry["data"]["date"]))
        except (ValueError, KeyError, TypeError):
            raise SystemExit(f"{ledger}: a line cannot be read; nothing is removed") from None
    return dates


@contextmanager
def unused(run: Path) -> Iterator[bool]:
    """Whether nobody writes the run's ledger; nobody can begin to while this lasts."""
    lock = run / "ledger" / "LOCK"
    if lock.is_symlink() or not lock.is_file():
        yield True
        return
    with lock.open("rb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def clean(folder: Path, *, logs_days: float, runs_days: float, keep_newest: int, now: float) -> list[str]:
    """Remove what is old in `folder`; returns what could not be removed, a line each."""
    kept_dates = accepted(folder)
    nights = (folder / "nights.jsonl").is_file()
    aged = sorted(((age_days(run, now), child, run) for child, run in runs_of(folder)), key=lambda row: row[0])
    failures = []
    for rank, (age, child, run) in enumerate(aged):
        whole = bool(runs_days) and age > runs_days
        logs = bool(logs_days) and age > logs_days and (run / "logs").is_dir()
        kept = rank < keep_newest or child.name in kept_dates or (run / ".keep").exists() or (child / ".keep").exists()
        if kept or not (whole or logs):
            continue
        with unused(run) as free:
            if not free:
                print(f"in use: {run}")
                continue
            doomed = [run / name for name in HEAVY] if whole and nights else [child] if whole else [run / "logs"]
            for path in doomed:
                try:
                    if path.is_dir() and not path.is_symlink():
                        shutil.rmtree(path)
                        print(f"removed: {path} ({age:.0f} days)")
                except OSError as error:
                    failures.append(f"{path}: {error}")
    return failures


def main(words: list[str]) -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description="Remove what is old from the data volume.")
    parser.add_argument("--logs-days", type=float, default=0)
    parser.add_argument("--runs-days", type=float, default=0)
    parser.add_argument("--keep-newest", type=int, default=1)
    parser.add_argument("folders", nargs="+", type=Path)
    given = parser.parse_args(words)
    failures = []
    for folder in given.folders:
        failures += clean(
            folder,
            logs_days=given.logs_days,
            runs_days=given.runs_days,
            keep_newest=max(1, given.keep_newest),
            now=time.time(),
        )
    for failure in failures:
        print(f"cannot remove {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
