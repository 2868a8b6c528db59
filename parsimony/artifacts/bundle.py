"""Contribution bundles: the records of one agent in a folder, in a shape that a reviewer can check without trust.

A bundle is a folder with `records.jsonl`, lines of a results file as they are, and `contribution.json`, which says what
these are and has their digest. `parsimony.contribute` makes, validates and verifies bundles.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from parsimony import strict_json
from parsimony.errors import InputError
from parsimony.measurements import (
    Metrics,
    Record,
    ResultsFile,
    by_agent,
    read_bytes,
    read_results,
    require_one_analyzer,
    require_one_rate,
    require_one_track,
)

FORMAT: Final = "parsimony-contribution-v1"
MANIFEST: Final = "contribution.json"
RECORDS: Final = "records.jsonl"
_AGAIN: Final = "measure it again"


@dataclass(frozen=True, slots=True)
class Bundle:
    """A valid bundle.

    Attributes:
        human: {task: the metrics of the human patch as recorded}, of records that have them.
    """

    folder: Path
    agent: str
    records: tuple[Record, ...]
    human: Mapping[str, Mapping[str, object]]


def export(path: Path, agent: str, output: Path) -> Bundle:
    """Make a bundle of one agent's records in a results file; the folder appears whole or not at all.

    Raises:
        InputError: the results cannot be read, have no record of the agent, or could not be reviewed; or the folder is
            there already.
    """
    results = read_results(path)
    chosen = [record for record in results.records if record.agent == agent]
    if not chosen:
        known = ", ".join(sorted({record.agent for record in results.records})[:8]) or "none"
        raise InputError(f"has no record of {agent}", mend=f"it has those of: {known}", file=str(path), field="--agent")
    _check(chosen)
    lines = read_bytes(path).split(b"\n")
    data = b"".join(lines[record.row - 1].strip() + b"\n" for record in chosen if record.row is not None)
    if output.exists():
        raise InputError("is there already", mend="write to another path", file=str(output))
    draft = output.with_name(f".{output.name}.{os.getpid()}.new")
    try:
        draft.mkdir(parents=True)
        (draft / RECORDS).write_bytes(data)
        told = json.dumps(_manifest(chosen, data), indent=2, sort_keys=True) + "\n"
        (draft / MANIFEST).write_text(told, encoding="utf-8")
        draft.rename(output)
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise InputError(problem, mend="check the path and its permissions", file=str(output)) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return read(output)


def find(root: Path) -> list[Path]:
    """The bundles at or directly below a folder, sorted.

    Raises:
        InputError: there is none.
    """
    found = [root] if (root / MANIFEST).is_file() else sorted(path.parent for path in root.glob(f"*/{MANIFEST}"))
    if not found:
        mend = "make one with `python -m parsimony.contribute export`"
        raise InputError(f"holds no bundle (a folder with {MANIFEST})", mend=mend, file=str(root))
    return found


def read(folder: Path) -> Bundle:
    """A bundle, if it is valid.

    Raises:
        InputError: it is not; names file, line and field.
    """
    manifest = folder / MANIFEST
    told = read_bytes(manifest)
    results = read_results(folder / RECORDS)
    _check(results.records, file=results.path)
    human = dict(_human(read_bytes(results.path), results.records))
    try:
        value = strict_json.loads(told)
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            mend = "make the bundle again with `python -m parsimony.contribute export`"
            raise InputError(f"is no contribution of format {FORMAT}", mend=mend, field="format")
        _compare(value, _expected(results))
    except InputError as error:
        raise error.at(file=str(manifest)) from None
    return Bundle(folder, results.records[0].agent, results.records, human)


def _human(data: bytes, records: Sequence[Record]) -> Iterator[tuple[str, Mapping[str, object]]]:
    lines = data.split(b"\n")
    for record in records:
        value = strict_json.loads(lines[(record.row or 1) - 1])
        metrics = value.get("human_metrics") if isinstance(value, dict) else None
        if metrics is None:
            continue
        try:
            yield record.task_id, Metrics.from_json(metrics, "human_metrics").raw
        except InputError as error:
            raise error.at(file=record.file, row=record.row) from None


def _expected(results: ResultsFile) -> dict[str, object]:
    return _manifest(results.records, read_bytes(results.path))


def _compare(told: Mapping[str, object], found: Mapping[str, object]) -> None:
    for name in sorted(told.keys() | found.keys()):
        if name not in told or name not in found or told[name] != found[name]:
            raise InputError.wrong(name, told.get(name), f"{found.get(name)}, as the records say")


def _manifest(records: Sequence[Record], data: bytes) -> dict[str, object]:
    """What `contribution.json` says: all of it follows from the records, so that nothing in it needs belief."""
    version, python = require_one_analyzer(records)
    return {
        "agent": records[0].agent,
        "analysis_status_counts": dict(sorted(Counter(record.analysis_status for record in records).items())),
        "analyzer_version": version,
        "format": FORMAT,
        "measured": sum(record.metrics is not None for record in records),
        "measurement_track": require_one_track(records),
        "published_results_sha256": records[0].provenance.get("results_sha256"),
        "python_version": python,
        "records": len(records),
        "records_sha256": hashlib.sha256(data).hexdigest(),
        "resolve_rate": require_one_rate(records),
    }


def _check(records: Sequence[Record], file: str | None = None) -> None:
    """Raises InputError unless the records are of one agent, one measurement and one publication, and the patch of each
    measured one can be had by others."""
    if not records:
        raise InputError("holds no record", mend="export the records of one agent", file=file)
    if len(agents := by_agent(records)) > 1:
        told = f"holds records of {' and '.join(list(agents)[:2])}"
        raise InputError(told, mend="make a bundle for each agent", file=file, field="agent")
    require_one_analyzer(records)
    require_one_track(records)
    require_one_rate(records)
    first = records[0]
    for record in records:
        for name in ("results_sha256", "ref"):
            if record.provenance.get(name) != first.provenance.get(name):
                mend = "contribute the records of one publication"
                raise record.error("is of another publication than the first", mend, f"provenance.{name}")
        if record.metrics is not None:
            _check_source(record)


def _check_source(record: Record) -> None:
    location = record.provenance.get("patch_location")
    if not isinstance(location, str) or not location.startswith(("http://", "https://")):
        mend = "publish the patches, and measure them from there"
        raise record.error(
            f"has its patch at {location}, where others cannot read it", mend, "provenance.patch_location"
        )
    if record.patch_sha256 is None:
        raise record.error(
            "has a measurement and no digest of its patch", "measure it again", "provenance.patch_sha256"
        )
    if record.base is None and record.metrics is not None and record.metrics.mode == "full_file":
        raise record.error("has a measurement and no base", _AGAIN, "provenance.base_commit")
