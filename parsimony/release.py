"""Freeze a task population before anyone looks at scores, and audit what records cover of it.

`freeze` pins the bytes of a dataset, the ids and bases of its tasks, the Python version and the commit of the
analyzer. `audit` checks records against that and counts what is missing, excluded, unparsed or out of scope. It
reports coverage; it does not certify that records are authentic.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from parsimony import strict_json
from parsimony.errors import InputError
from parsimony.measurements import (
    PYTHON,
    Base,
    Metrics,
    Population,
    Record,
    by_agent,
    check_commit,
    read_base,
    read_bytes,
    require_one_rate,
    required_text,
    track_of,
)
from parsimony.modulecommand import DONE, RECORDS_HELP, create_json, parser, read_all, read_json, run, write_json
from parsimony.tasks.fields import Fields

STATUS: Final = "beta-coverage-not-certification"

_RATE_SLACK: Final = 1e-9
"""A published rate may have gone through decimal digits."""


def freeze(dataset: bytes, name: str, analyzer_commit: str, *, python_version: str | None = None) -> Population:
    """The population of a dataset's tasks.

    Args:
        dataset: JSON lines; each row has instance_id, repo, base_commit, and a language unless it is Python.
        analyzer_commit: 40 hex digits.
        python_version: of the interpreter that will measure; default: this one.

    Raises:
        InputError: no row, a row without one of the fields, an id twice, or rows of two languages; names the row.
    """
    tasks: dict[str, Base] = {}
    languages: dict[str, int] = {}
    for number, line in enumerate(dataset.split(b"\n"), start=1):
        if line.strip():
            try:
                task, base, language = _read_row(line)
                if task in tasks:
                    raise InputError(f"{task} is there twice", mend="keep one row of each task", field="instance_id")
            except InputError as error:
                raise InputError(error.problem, mend=error.mend, row=number, field=error.place.field) from None
            tasks[task] = base
            languages.setdefault(language, number)
    if not tasks:
        raise InputError("has no task", mend="give the dataset that the tasks come from")
    if len(languages) > 1:
        told = " and ".join(f"{language} (row {row})" for language, row in languages.items())
        raise InputError(f"mixes {told}", mend="freeze one population for each language", field="language")
    return Population(
        name=name,
        dataset_sha256=hashlib.sha256(dataset).hexdigest(),
        analyzer_commit=check_commit(analyzer_commit),
        python_version=python_version or platform.python_version(),
        track=track_of(next(iter(languages))),
        tasks=dict(sorted(tasks.items())),
    )


def _read_row(line: bytes) -> tuple[str, Base, str]:
    value = strict_json.loads(line.strip())
    if not isinstance(value, dict):
        raise InputError(f"is no object: {str(value)[:40]!r}", mend="a row is an object, one a line")
    fields = Fields(value)
    task, base = required_text(fields, "instance_id"), read_base(value, "")
    if base is None:
        missing = "base_commit" if fields.has("repo") else "repo"
        raise fields.wrong(missing, "a text that is not blank")
    return task, base, fields.text("language") or PYTHON


def audit(population: Population, records: Sequence[Record], *, dataset: bytes | None = None) -> dict[str, object]:
    """What the records of each agent cover of a population.

    Args:
        dataset: the bytes that the population was frozen from, to be verified; None leaves that out.

    Raises:
        InputError: the dataset is another one, or a record is outside the population, there twice, was made at another
            base, on another track, by another Python or analyzer, or belongs to totals that cannot be.
    """
    if dataset is not None and hashlib.sha256(dataset).hexdigest() != population.dataset_sha256:
        raise InputError("is not the dataset of the population", mend="give the file that was frozen")
    agents = by_agent(records)
    for record in records:
        _require_frozen(population, record)
    return {
        "agents": [_coverage(agent, list(tasks.values()), population) for agent, tasks in agents.items()],
        "population": population.name,
        "population_sha256": population.sha256,
        "status": STATUS,
        "task_count": len(population.tasks),
    }


def _require_frozen(population: Population, record: Record) -> None:
    """The commit may be absent, in records from before they carried one: such are counted. A null is a dirty tree."""
    population.require_base(record)
    mend = "measure with what the population names"
    if record.track != population.track:
        raise record.error("was measured on another track than the population's", mend, "measurement_track")
    if record.python_version != population.python_version:
        told = f"was measured by Python {record.python_version}, not {population.python_version}"
        raise record.error(told, mend, "python_version")
    if record.has_analyzer_commit and record.analyzer_commit != population.analyzer_commit:
        told = f"was measured by {record.analyzer_commit or 'an analyzer without a commit (a dirty tree)'}"
        raise record.error(f"{told}, not {population.analyzer_commit}", mend, "analyzer_commit")


def _coverage(agent: str, records: Sequence[Record], population: Population) -> dict[str, object]:
    rate = _require_totals(records, population)
    solved = [record for record in records if record.resolved]
    analyzed = [record.analyzed for record in solved if record.analyzed is not None]
    metrics = [record.analyzed for record in records if record.analyzed is not None]
    return {
        "agent": agent,
        "analysis_status_counts": dict(sorted(Counter(record.analysis_status for record in records).items())),
        "analyzer_version": records[0].analyzer_version,
        "excluded_files": sorted({path for one in metrics for path in one.excluded_files}),
        "failed_analyses": len(metrics) - len(analyzed),
        "missing_records": len(population.tasks) - len(records),
        "out_of_scope_successes": sum(one.out_of_scope for one in analyzed),
        "published_resolve_rate": rate,
        "records": len(records),
        "resolved_missing_analysis": len(solved) - len(analyzed),
        "resolved_records": len(solved),
        "successful_analyses": len(analyzed),
        "unverified_analyzer_commit_records": sum(not record.has_analyzer_commit for record in records),
        **_measurement_counts(metrics),
    }


def _measurement_counts(metrics: Sequence[Metrics]) -> dict[str, object]:
    return {
        "approximate_alignment_records": sum(bool(one.approximate_files) for one in metrics),
        "lexical_fallback_records": sum(bool(one.lexical_files) for one in metrics),
        "offset_hunk_records": sum(one.offset_hunks > 0 for one in metrics),
        "unmeasured_unit_records": sum(one.churn is None for one in metrics),
        "value_only_edit_records": sum(bool(one.churn) and one.structural_churn == 0 for one in metrics),
        "zero_normalized_edit_records": sum(bool(one.touched_files) and one.churn == 0 for one in metrics),
    }


def _require_totals(records: Sequence[Record], population: Population) -> float | None:
    """The published rate, if the totals that the records state agree with each other and with the population."""
    mend = "keep the records of one publication over the whole population"
    first = records[0]
    for record in records:
        if record.analyzer_version != first.analyzer_version:
            told = f"has {record.analyzer_version}, the agent's other records {first.analyzer_version}"
            raise record.error(told, "measure all of an agent's records with one analyzer", "analyzer_version")
        if (record.published_resolved_count, record.benchmark_tasks) != (
            first.published_resolved_count,
            first.benchmark_tasks,
        ):
            raise record.error("states other totals than the agent's other records", mend, "published_resolved_count")
    rate = require_one_rate(records)
    resolved, total = first.published_resolved_count, first.benchmark_tasks
    if total != len(population.tasks):
        told = f"states {total} tasks in all, the population has {len(population.tasks)}"
        raise first.error(told, mend, "benchmark_tasks")
    if resolved is None or rate is None or resolved > total or abs(rate - resolved / total) > _RATE_SLACK:
        raise first.error(f"states {resolved} of {total} as a rate of {rate}", mend, "resolve_rate")
    recorded = sum(record.resolved for record in records)
    if len(records) == total and recorded != resolved:
        told = f"states {resolved} resolved, and {recorded} of the records are"
        raise first.error(told, mend, "published_resolved_count")
    return rate


def head_of_clean_checkout() -> str:
    """The commit of the checkout that this package lies in.

    Raises:
        InputError: it lies in none, or the checkout has changes: what measures would not be what a commit names.
    """
    folder = Path(__file__).resolve().parent
    try:
        changes = _git(folder, "status", "--porcelain", "--", ".")
        commit = _git(folder, "rev-parse", "HEAD").strip()
    except (OSError, subprocess.CalledProcessError):
        mend = "give --analyzer-commit"
        raise InputError("the analyzer is in no checkout of git", mend=mend, field="analyzer_commit") from None
    if changes:
        mend = "commit the changes first, or give --analyzer-commit"
        raise InputError("the analyzer's checkout has changes", mend=mend, field="analyzer_commit")
    return commit


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True)
    return done.stdout


_EXAMPLES = """\
  python -m parsimony.release freeze verified.jsonl --name verified-500 --output population.json
  python -m parsimony.release audit population.json results.jsonl --dataset verified.jsonl --output coverage.json"""


def main(words: Sequence[str]) -> int:
    """The commands."""
    root = parser("parsimony.release", __doc__, _EXAMPLES)
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    told = "freeze the tasks of a dataset as a population"
    frozen = commands.add_parser("freeze", help=told, description=f"{told[0].upper()}{told[1:]}.")
    frozen.add_argument("dataset", metavar="DATASET", help="JSON lines with instance_id, repo, base_commit (language)")
    frozen.add_argument("--name", required=True, help="of the population")
    frozen.add_argument(
        "--analyzer-commit", metavar="COMMIT", help="40 hex digits (default: HEAD of this analyzer's clean checkout)"
    )
    frozen.add_argument("--output", metavar="FILE", required=True, help="the manifest; must not be there yet")
    told = "check records against a population and count what they cover"
    audited = commands.add_parser("audit", help=told, description=f"{told[0].upper()}{told[1:]}.")
    audited.add_argument("manifest", metavar="MANIFEST", help="a population of `freeze`")
    audited.add_argument("records", metavar="RECORDS", nargs="+", help=RECORDS_HELP)
    audited.add_argument("--dataset", metavar="FILE", help="verify that this is the dataset of the population")
    audited.add_argument("--output", metavar="FILE", help="where the JSON goes (default: stdout)")
    options = root.parse_args(words)
    {"freeze": _freeze, "audit": _audit}[options.command](options)
    return DONE


def _freeze(options: argparse.Namespace) -> None:
    commit = options.analyzer_commit or head_of_clean_checkout()
    try:
        population = freeze(read_bytes(options.dataset), options.name, commit)
    except InputError as error:
        raise error.at(file=options.dataset) from None
    create_json(population.to_json(), options.output)


def _audit(options: argparse.Namespace) -> None:
    value, manifest_sha256 = read_json(options.manifest)
    try:
        population = Population.from_json(value)
    except InputError as error:
        raise error.at(file=options.manifest) from None
    records, digests = read_all(options.records)
    dataset = read_bytes(options.dataset) if options.dataset is not None else None
    try:
        report: Mapping[str, object] = audit(population, records, dataset=dataset)
    except InputError as error:
        raise error.at(file=options.dataset) if dataset is not None and error.place.file is None else error from None
    write_json({**report, "manifest_sha256": manifest_sha256, "records_sha256": digests}, options.output)


if __name__ == "__main__":
    run(main)
