"""Contributions: make a bundle of one agent's records, validate bundles, and verify them by measuring again.

`validate` checks that a bundle is consistent with itself. `verify` takes recorded patches and base files from a cache
(of `analyze`, or restored from a snapshot; nothing is downloaded here), checks their digests, measures them, and
compares every number.
"""

from __future__ import annotations

import argparse
import platform
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from parsimony.artifacts import Cache, Fetcher, Places, dataset
from parsimony.artifacts.bundle import Bundle, export, find, read
from parsimony.artifacts.dataset import Task
from parsimony.artifacts.examine import FETCH_ERROR, OK, Attempt, Finding, Rules, encode, examine
from parsimony.artifacts.recorded import RecordedPatches
from parsimony.artifacts.submission import PatchSource, sha256
from parsimony.errors import InputError
from parsimony.footprint import ANALYZER_VERSION, DEFAULT_TRACK, Footprint
from parsimony.measurements import PATCH_ONLY, PYTHON, Record
from parsimony.modulecommand import DONE, count, parser, run, write_json

NO: Final = 1
PARTIAL: Final = 3

Raw = Mapping[str, object]

_OF_PYTHON: Final = frozenset(
    {"tokens_added", "tokens_deleted", "net_tokens", "token_churn", "files_changed", "ast_delta", "complexity_delta"}
)
"""Diagnostics that may depend on the version of Python; units do not."""


@dataclass(slots=True)
class Verification:
    """What measuring a bundle again gave.

    Attributes:
        same: tasks whose every number is the same.
        different: {task: what differs}.
        unavailable: {task: what the cache or the dataset does not have}.
    """

    agent: str
    same: list[str] = field(default_factory=list)
    different: dict[str, list[str]] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """For the command line."""
        return {
            "agent": self.agent,
            "checked": len(self.same) + len(self.different),
            "different": self.different,
            "same": len(self.same),
            "unavailable": self.unavailable,
        }


def verify(
    bundle: Bundle,
    tasks: Mapping[str, Task],
    cache: Cache,
    *,
    sample: int | None = None,
    seed: int = 42,
    places: Places | None = None,
) -> Verification:
    """Measure the patches of a bundle again and compare.

    Args:
        tasks: the dataset.
        sample: so many of the measured records, drawn by `seed`; None for all.

    Raises:
        InputError: the bundle was measured by another version of the analyzer.
    """
    measured = sorted((one for one in bundle.records if one.metrics is not None), key=lambda one: one.task_id)
    if measured and measured[0].analyzer_version != ANALYZER_VERSION:
        mend = f"verify with that version, or measure again with {ANALYZER_VERSION}"
        raise measured[0].error(f"was measured by {measured[0].analyzer_version}", mend, "analyzer_version")
    if sample is not None and sample < len(measured):
        measured = sorted(random.Random(seed).sample(measured, sample), key=lambda one: one.task_id)  # noqa: S311
    patches, fetcher = RecordedPatches(cache), Fetcher(cache, offline=True)
    found = Verification(bundle.agent)
    for record in measured:
        patch, task = patches.of(record), tasks.get(record.task_id)
        if patch is None or task is None:
            found.unavailable[record.task_id] = "patch" if patch is None else "task"
            continue
        differences = _identity(record, patch, task)
        if not differences:
            finding = _again(record, patch, task, fetcher, places or Places())
            if finding.status == FETCH_ERROR:
                found.unavailable[record.task_id] = finding.error or ""
                continue
            differences = _differences(record, bundle.human.get(record.task_id), finding)
        if differences:
            found.different[record.task_id] = differences
        else:
            found.same.append(record.task_id)
    return found


def _identity(record: Record, patch: bytes, task: Task) -> list[str]:
    """Whether patch, human patch and base are those that the record names."""
    told = record.provenance.get("reference_patch_sha256")
    human = None if task.patch is None else sha256(encode(task.patch))
    pairs = (
        ("patch_sha256", record.patch_sha256, sha256(patch)),
        ("reference_patch_sha256", told, human if told is not None else None),
        ("base_commit", record.base, task.base if record.base is not None else None),
    )
    return [f"{name}: recorded {recorded}, found {now}" for name, recorded, now in pairs if recorded != now]


def _again(record: Record, patch: bytes, task: Task, fetcher: Fetcher, places: Places) -> Finding:
    assert record.metrics is not None
    track = DEFAULT_TRACK if record.track is None else str(record.track.get("unit_version"))
    language = PYTHON if record.track is None else str(record.track.get("language"))
    rules = Rules(track, language, record.metrics.mode == PATCH_ONLY)
    reference = task.patch if record.provenance.get("reference_patch_sha256") is not None else None
    # As text, because that is how patches are handed over; no byte is lost on the way.
    source = PatchSource("", text=patch.decode("utf-8", "surrogateescape"))
    return examine(Attempt(source, reference, record.base, rules), fetcher, places)


def _differences(record: Record, human: Raw | None, finding: Finding) -> list[str]:
    if finding.status != OK:
        return [f"analysis_status: recorded {record.analysis_status}, now {finding.status} ({finding.error})"]
    assert record.metrics is not None
    found = _compare("metrics", record.metrics.raw, finding.metrics, record)
    if human is not None:
        found += _compare("human_metrics", human, finding.human, record)
    if record.model_human_ratio != finding.ratio:
        found.append(f"model_human_ratio: recorded {record.model_human_ratio}, now {finding.ratio}")
    return found


def _compare(within: str, told: Raw, measured: Footprint | None, record: Record) -> list[str]:
    now = measured.metrics() if measured is not None else {}
    same_python = record.python_version.split(".")[:2] == platform.python_version().split(".")[:2]
    names = sorted(name for name in told.keys() | now.keys() if same_python or name not in _OF_PYTHON)
    return [
        f"{within}.{name}: recorded {told.get(name)}, now {now.get(name)}"
        for name in names
        if told.get(name) != now.get(name)
    ]


_EXAMPLES = """\
  python -m parsimony.contribute export results.jsonl --agent AGENT --output contributions/AGENT
  python -m parsimony.contribute validate contributions
  python -m parsimony.contribute verify contributions --dataset verified.jsonl --sample 20"""


def main(words: Sequence[str]) -> int:
    """The commands."""
    root = parser("parsimony.contribute", __doc__, _EXAMPLES)
    root.epilog = f"{root.epilog}, 1 invalid or different, 3 something could not be checked"
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    told = "make a bundle of one agent's records"
    made = commands.add_parser("export", help=told, description=f"{told[0].upper()}{told[1:]}.")
    made.add_argument("records", metavar="RECORDS", help="a results file of `parsimony analyze`")
    made.add_argument("--agent", required=True, help="whose records")
    made.add_argument("--output", metavar="DIR", required=True, help="the bundle; must not be there yet")
    told = "check that bundles are consistent with themselves"
    checked = commands.add_parser("validate", help=told, description=f"{told[0].upper()}{told[1:]}.")
    told = "measure the patches of bundles again and compare every number"
    again = commands.add_parser("verify", help=told, description=f"{told[0].upper()}{told[1:]}.")
    for command in (checked, again):
        command.add_argument(
            "root", metavar="ROOT", nargs="?", default="contributions", help="bundles (default: %(default)s)"
        )
    again.add_argument("--dataset", metavar="FILE", required=True, help="what `parsimony dataset` wrote")
    again.add_argument("--sample", metavar="N", type=count, help="so many records of each bundle (default: all)")
    again.add_argument("--seed", type=int, default=42, help="of the sample (default: %(default)s)")
    again.add_argument("--cache", metavar="DIR", default=".parsimony-cache", help="default: %(default)s")
    again.add_argument("--output", metavar="FILE", help="where the JSON goes (default: stdout)")
    options = root.parse_args(words)
    return {"export": _export, "validate": _validate, "verify": _verify}[options.command](options)


def _export(options: argparse.Namespace) -> int:
    bundle = export(Path(options.records), options.agent, Path(options.output))
    write_json(_summary(bundle), None)
    return DONE


def _summary(bundle: Bundle) -> dict[str, object]:
    return {"agent": bundle.agent, "folder": str(bundle.folder), "records": len(bundle.records)}


def _validate(options: argparse.Namespace) -> int:
    """All bundles are looked at, so that one report tells all that is wrong."""
    valid, wrong = [], []
    for folder in find(Path(options.root)):
        try:
            valid.append(_summary(read(folder)))
        except InputError as error:
            wrong.append(str(error))
    write_json({"invalid": wrong, "valid": valid}, None)
    return NO if wrong else DONE


def _verify(options: argparse.Namespace) -> int:
    tasks, _ = dataset.read(Path(options.dataset))
    cache = Cache(Path(options.cache))
    bundles = [read(folder) for folder in find(Path(options.root))]
    found = [verify(bundle, tasks, cache, sample=options.sample, seed=options.seed) for bundle in bundles]
    write_json({"bundles": [one.to_json() for one in found], "seed": options.seed}, options.output)
    if any(one.different for one in found):
        return NO
    return PARTIAL if any(one.unavailable for one in found) else DONE


if __name__ == "__main__":
    run(main)
