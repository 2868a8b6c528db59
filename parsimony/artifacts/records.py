"""Records of results files (schema version 2): what is known about one agent's attempt at one task, as JSON."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from parsimony.artifacts.dataset import Task
from parsimony.artifacts.examine import Finding, Rules, encode
from parsimony.artifacts.submission import Submission, evaluation_result, sha256
from parsimony.errors import InputError
from parsimony.footprint import ANALYZER_VERSION, DEFAULT_TRACK, Footprint, load_track, source_sha256
from parsimony.measurements import PYTHON, track_of
from parsimony.measurements.record import SCHEMA_VERSION
from parsimony.release import head_of_clean_checkout

Raw = dict[str, object]


@dataclass(frozen=True, slots=True)
class Identity:
    """What measures.

    Attributes:
        analyzer_commit: None where the code is in no checkout, or in one with changes.
        track: None for Python by the default rules; see `parsimony.measurements.track_of`.
    """

    analyzer_version: str
    python_version: str
    analyzer_commit: str | None
    analyzer_source_sha256: str
    track: Mapping[str, object] | None

    @classmethod
    def current(cls, rules: Rules) -> Identity:
        """Of this program in this interpreter.

        Raises:
            InputError: there is no such track, or its parser is not installed.
        """
        load_track(rules.track, language=rules.language)
        track = record_track(rules.track, rules.language)
        return cls(ANALYZER_VERSION, platform.python_version(), analyzer_commit(), source_sha256(), track)

    def to_json(self) -> Raw:
        """The fields of a record that say what measured it."""
        track = {} if self.track is None else {"measurement_track": dict(self.track)}
        return {
            "analyzer_commit": self.analyzer_commit,
            "analyzer_source_sha256": self.analyzer_source_sha256,
            "analyzer_version": self.analyzer_version,
            "python_version": self.python_version,
            "schema_version": SCHEMA_VERSION,
            **track,
        }


def record_track(name: str, language: str) -> Mapping[str, object] | None:
    """The identity of a track in records; None for Python by the default rules.

    Records of the default rules have the identity that is published; others must never be taken for these.
    """
    if name == DEFAULT_TRACK or language != PYTHON:
        return track_of(language)
    return {"language": language, "unit_version": name, "versions": {"python": platform.python_version()}}


@lru_cache(maxsize=1)
def analyzer_commit() -> str | None:
    """The commit of this code, if it is that of a clean checkout which holds it."""
    package = Path(__file__).resolve().parent
    command = ["git", "-C", str(package), "ls-files", "--error-unmatch", "--", Path(__file__).name]
    try:
        # An environment inside of somebody's checkout is not part of it.
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
        return head_of_clean_checkout()
    except (OSError, InputError):
        return None


@dataclass(frozen=True, slots=True)
class Publication:
    """A submission beside the dataset that it is about.

    Attributes:
        benchmark_tasks: what the published rate is a share of.
    """

    submission: Submission
    benchmark_tasks: int


def record(identity: Identity, publication: Publication, task_id: str, task: Task | None, finding: Finding) -> Raw:
    """The record of one attempt.

    Args:
        task: its row in the dataset; None where there is no dataset.
    """
    submission = publication.submission
    categories = submission.categories.get(task_id, ())
    resolved = task_id in submission.resolved
    error = {} if finding.error is None else {"analysis_error": finding.error}
    human_error = {} if finding.human_error is None else {"human_error": finding.human_error}
    reasons = dict(finding.metrics.exclusions) if finding.metrics is not None else {}
    return {
        **identity.to_json(),
        "agent": submission.agent,
        "analysis_status": finding.status,
        "benchmark_tasks": publication.benchmark_tasks,
        "evaluation_result": evaluation_result(categories, resolved=resolved),
        "human_metrics": _metrics(finding.human),
        "metrics": _metrics(finding.metrics),
        "model_human_ratio": finding.ratio,
        "provenance": _provenance(submission, task_id, task, finding),
        "published_resolved_count": len(submission.resolved),
        "published_result_categories": list(categories),
        "resolve_rate": len(submission.resolved) / publication.benchmark_tasks,
        "resolved": resolved,
        "task_id": task_id,
        **error,
        **human_error,
        **({"exclusion_reasons": reasons} if reasons else {}),
    }


def _metrics(footprint: Footprint | None) -> Raw | None:
    return None if footprint is None else footprint.metrics()


def _provenance(submission: Submission, task_id: str, task: Task | None, finding: Finding) -> Raw:
    source = submission.patch(task_id)
    digest, restored = finding.patch_sha256, finding.newline_restored
    if digest is None and source.text is not None:  # at hand, though nothing was measured
        digest = sha256(encode(source.text))
    row: Raw = {}
    if task is not None:
        row = {
            "base_commit": None if task.base is None else task.base.base_commit,
            "reference_patch_sha256": None if task.patch is None else sha256(encode(task.patch)),
            "repo": None if task.base is None else task.base.repo,
        }
    return {
        **submission.provenance,
        **row,
        "instance_id": task_id,
        "patch_final_newline_restored": restored,
        "patch_location": source.location,
        "patch_sha256": digest,
    }


def to_line(raw: Raw) -> bytes:
    """The line of a record in a results file."""
    return (json.dumps(raw, sort_keys=True, allow_nan=False) + "\n").encode()
