"""A population: the tasks that a comparison is about, fixed before anyone saw who solves them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from parsimony.errors import InputError
from parsimony.measurements.record import Base, Record, read_base, required_text
from parsimony.tasks.fields import Fields

POPULATION_FORMAT: Final = "parsimony-beta-population-v1"

_KEYS: Final = frozenset(
    {
        "analyzer_commit",
        "dataset_sha256",
        "format",
        "measurement_track",
        "name",
        "python_version",
        "task_count",
        "tasks",
    }
)
_COMMIT = re.compile(r"[0-9a-fA-F]{40}")


@dataclass(frozen=True, slots=True)
class Population:
    """A frozen population.

    Attributes:
        dataset_sha256: hex, of the bytes of the dataset that the tasks were read from.
        analyzer_commit: 40 hex digits; the commit of the analyzer that measures.
        track: identity of the parsers; None for Python.
        tasks: {task id: its base}, sorted by id.
        extra: fields of the manifest that are not ours; they count in its digest.
    """

    name: str
    dataset_sha256: str
    analyzer_commit: str
    python_version: str
    track: Mapping[str, object] | None
    tasks: Mapping[str, Base]
    extra: Mapping[str, object] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Hex digest of the manifest as JSON with sorted keys and the separators `, ` and `: `."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def to_json(self) -> dict[str, object]:
        """The manifest."""
        track = {} if self.track is None else {"measurement_track": self.track}
        return {
            **self.extra,
            "analyzer_commit": self.analyzer_commit,
            "dataset_sha256": self.dataset_sha256,
            "format": POPULATION_FORMAT,
            "name": self.name,
            "python_version": self.python_version,
            "task_count": len(self.tasks),
            "tasks": {task: base.to_json() for task, base in self.tasks.items()},
            **track,
        }

    @classmethod
    def from_json(cls, value: object) -> Population:
        """The population of a manifest.

        Raises:
            InputError: another format, or a field that cannot be; names the field.
        """
        if not isinstance(value, dict) or value.get("format") != POPULATION_FORMAT:
            mend = "give what `python -m parsimony.release freeze` wrote"
            raise InputError(f"is no population manifest of format {POPULATION_FORMAT}", mend=mend, field="format")
        fields = Fields(value)
        track = value.get("measurement_track")
        if track is not None and not isinstance(track, dict):
            raise fields.wrong("measurement_track", "an object, or absent for Python")
        tasks = read_bases(value.get("tasks"), "tasks")
        if fields.integer("task_count") != len(tasks):
            raise fields.wrong("task_count", f"{len(tasks)}, the number of tasks")
        return cls(
            name=required_text(fields, "name"),
            dataset_sha256=required_text(fields, "dataset_sha256"),
            analyzer_commit=check_commit(fields.text("analyzer_commit")),
            python_version=required_text(fields, "python_version"),
            track=track,
            tasks=tasks,
            extra={key: told for key, told in value.items() if key not in _KEYS},
        )

    def require_base(self, record: Record) -> None:
        """Check that the record is about a task of the population, at the population's base.

        Raises:
            InputError: it is not.
        """
        if record.task_id not in self.tasks:
            raise record.error("is outside the population", "leave it out, or freeze a new population", "task_id")
        if record.base != self.tasks[record.task_id]:
            told = self.tasks[record.task_id]
            mend = f"the population has {told.repo} at {told.base_commit}; measure at that base"
            raise record.error("was measured at another base", mend, "provenance.base_commit")


def check_commit(commit: str | None) -> str:
    """The commit, if it is one in full.

    Raises:
        InputError: it is not 40 hex digits.
    """
    if commit is None or not _COMMIT.fullmatch(commit):
        raise InputError.wrong("analyzer_commit", commit, "a commit in full, 40 hex digits")
    return commit


def read_bases(value: object, within: str) -> dict[str, Base]:
    """{task id: its base} from an object of objects, sorted by id.

    Raises:
        InputError: no object, or an entry without repository or base commit.
    """
    if not isinstance(value, dict) or not value:
        raise InputError.wrong(within, value, "an object of at least one task id with its base")
    bases = {}
    for task, entry in sorted(value.items()):
        base = read_base(entry, f"{within}.{task}") if isinstance(entry, dict) else None
        if base is None:
            raise InputError.wrong(f"{within}.{task}", entry, "an object with repo and base_commit")
        bases[task] = base
    return bases
