"""The frozen reference panel: for each task the successful patches that every candidate is compared with.

Entrants never change a panel, so their scores do not change either. A panel is made once (`freeze`), written to a new
file, and read back with every count checked again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from parsimony.errors import InputError
from parsimony.measurements import (
    FULL_FILE,
    Base,
    Metrics,
    Population,
    Record,
    by_agent,
    read_base,
    read_bases,
    require_one_analyzer,
    require_one_track,
)
from parsimony.scoring.rule import CHURN_WEIGHT, FAILURE_CAP, NET_WEIGHT, SCORE_VERSION, Scale
from parsimony.tasks.fields import Fields

COHORT_SCOPE: Final = "fixed-cohort-sample"
POPULATION_SCOPE: Final = "independently-frozen-full-population"
CALIBRATION_POLICY: Final = "full-population-uncalibrated-bounds-v1"


@dataclass(frozen=True, slots=True)
class Reference:
    """A successful patch of the panel."""

    agent: str
    metrics: Metrics
    provenance: Mapping[str, object]

    def to_json(self) -> dict[str, object]:
        """As the panel file holds it."""
        return {"agent": self.agent, "metrics": self.metrics.raw, "provenance": self.provenance}


@dataclass(frozen=True, slots=True)
class PopulationPart:
    """What a panel of an independently frozen population knows besides."""

    analyzer_commit: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A frozen panel.

    Attributes:
        tasks: {task: its references by agent}, sorted. Only with `population` may a task have none.
        bases: {task: the tree its patches are for}.
        population: None when the tasks are those that the records happened to hold.
    """

    name: str
    scope: str
    analyzer_version: str
    python_version: str
    track: Mapping[str, object] | None
    tasks: Mapping[str, tuple[Reference, ...]]
    bases: Mapping[str, Base]
    population: PopulationPart | None = None

    def scale(self, task: str, *, net_floor: int | None = None) -> Scale | None:
        """The scale of a task's references; None where there is none."""
        footprints = [units(reference.metrics) for reference in self.tasks[task]]
        return Scale.of(footprints, net_floor=net_floor) if footprints else None

    def require_comparable(self, record: Record) -> None:
        """Check that a candidate's record was made as the panel's were, and for the same base.

        Raises:
            InputError: it was not.
        """
        for field, told in (("analyzer_version", self.analyzer_version), ("python_version", self.python_version)):
            if getattr(record, field) != told:
                raise record.error(f"has {getattr(record, field)}, the panel {told}", _AGAIN, field)
        if record.track != self.track:
            raise record.error("was measured on another track than the panel", _AGAIN, "measurement_track")
        if record.task_id in self.bases:
            if record.base != self.bases[record.task_id]:
                raise record.error("was measured at another base than the panel", _AGAIN, "provenance.base_commit")
        elif self.population is not None:
            raise record.error("is outside the panel's population", "leave it out", "task_id")

    def to_json(self) -> dict[str, object]:
        """The panel file, without digests of the files it was made from."""
        told: dict[str, object] = {
            "analyzer_version": self.analyzer_version,
            "churn_weight": CHURN_WEIGHT,
            "failure_cap": FAILURE_CAP,
            "name": self.name,
            "net_weight": NET_WEIGHT,
            "python_version": self.python_version,
            "scope": self.scope,
            "score_version": SCORE_VERSION,
            "tasks": {task: [one.to_json() for one in references] for task, references in self.tasks.items()},
        }
        if self.track is not None:
            told["measurement_track"] = self.track
        if self.population is not None:
            told["analyzer_commit"] = self.population.analyzer_commit
            told["calibration_policy"] = CALIBRATION_POLICY
            told["population_sha256"] = self.population.sha256
            told["task_bases"] = {task: base.to_json() for task, base in self.bases.items()}
        return told

    @classmethod
    def from_json(cls, value: object) -> Panel:
        """The panel of a panel file.

        Raises:
            InputError: another rule's panel, a task without references, or counts that contradict each other.
        """
        if not isinstance(value, dict):
            raise InputError("is no panel", mend="give what `python -m parsimony.scoring freeze` wrote")
        fields = Fields(value)
        rule = {"score_version": SCORE_VERSION, "net_weight": NET_WEIGHT, "churn_weight": CHURN_WEIGHT}
        for field, told in (*rule.items(), ("failure_cap", FAILURE_CAP)):
            if value.get(field) != told:
                raise fields.wrong(field, f"{told}, as in {SCORE_VERSION}")
        population = _read_population(value)
        tasks = _read_tasks(value.get("tasks"), bounded=population is not None)
        bases = read_bases(value.get("task_bases"), "task_bases") if population else _bases(tasks)
        if bases.keys() != tasks.keys():
            raise InputError("names other tasks than `tasks`", mend="freeze the panel again", field="task_bases")
        return cls(
            name=fields.text("name") or "",
            scope=fields.text("scope") or COHORT_SCOPE,
            analyzer_version=fields.text("analyzer_version") or "",
            python_version=fields.text("python_version") or "",
            track=_read_track(value.get("measurement_track")),
            tasks=tasks,
            bases=bases,
            population=population,
        )


def freeze(records: Sequence[Record], name: str, population: Population | None = None) -> Panel:
    """Make a panel of the successful, measured, in-scope records.

    Args:
        population: tasks fixed beforehand, which all stay in the panel, also those that nobody solved. Without it, the
            tasks are those of the records, and each needs a reference.

    Raises:
        InputError: no records, one twice, records that were not made alike, a record outside the population, patch-only
            metrics, or a task without a reference.
    """
    if not records:
        raise InputError("there is no record to freeze", mend="give results of `parsimony analyze`")
    by_agent(records)
    track = require_one_track(records)
    analyzer_version, python_version = require_one_analyzer(records)
    if population is not None:
        for record in records:
            _require_member(population, record)
    tasks: dict[str, list[Reference]] = {
        task: [] for task in sorted(population.tasks if population else {record.task_id for record in records})
    }
    for record in sorted(records, key=lambda one: one.agent):
        if record.resolved and (metrics := measured_in_full(record)) is not None and not metrics.out_of_scope:
            tasks[record.task_id].append(Reference(record.agent, metrics, record.provenance))
    if population is None and (bare := [task for task, references in tasks.items() if not references]):
        raise InputError(
            f"no successful patch of {bare[0]} is measured and in scope"
            + (f" (and of {len(bare) - 1} more tasks)" if len(bare) > 1 else ""),
            mend="leave such tasks out, or freeze with --population",
        )
    frozen = {task: tuple(references) for task, references in tasks.items()}
    return Panel(
        name=name,
        scope=POPULATION_SCOPE if population else COHORT_SCOPE,
        analyzer_version=analyzer_version,
        python_version=python_version,
        track=track,
        tasks=frozen,
        bases=dict(population.tasks) if population else _bases_of_records(records),
        population=PopulationPart(population.analyzer_commit, population.sha256) if population else None,
    )


def measured_in_full(record: Record) -> Metrics | None:
    """The record's metrics where its units are known.

    Raises:
        InputError: they are estimates from hunks alone, which are never scored.
    """
    metrics = record.measured
    if metrics is not None and metrics.mode != FULL_FILE:
        mend = "measure again without --patch-only; estimates from hunks are not scored"
        raise record.error(f"has {metrics.mode} metrics", mend, "metrics.mode")
    return metrics


def units(metrics: Metrics) -> tuple[int, int]:
    """(net, churn) of metrics whose units are known."""
    assert metrics.net_units is not None
    assert metrics.churn is not None
    return metrics.net_units, metrics.churn


_AGAIN = "measure both with one analyzer at one base, or freeze a panel of a new name"


def _require_member(population: Population, record: Record) -> None:
    population.require_base(record)
    for field, here, there in (
        ("python_version", record.python_version, population.python_version),
        ("analyzer_commit", record.analyzer_commit, population.analyzer_commit),
        ("measurement_track", record.track, population.track),
    ):
        if here != there:
            raise record.error(f"has {here}, the population {there}", "measure with the analyzer it names", field)


def _bases_of_records(records: Sequence[Record]) -> dict[str, Base]:
    bases: dict[str, Base] = {}
    for record in records:
        if record.base is None:
            raise record.error("names no base", "measure with a dataset", "provenance.base_commit")
        if bases.setdefault(record.task_id, record.base) != record.base:
            mend = "all patches of a task must be for one base"
            raise record.error("has another base than the records before it", mend, "provenance.base_commit")
    return dict(sorted(bases.items()))


def _bases(tasks: Mapping[str, Sequence[Reference]]) -> dict[str, Base]:
    bases = {}
    for task, references in tasks.items():
        found = {read_base(reference.provenance, f"tasks.{task}.provenance") for reference in references}
        base = found.pop()
        if base is None or found:
            raise InputError("must name one base for all references", mend="freeze it again", field=f"tasks.{task}")
        bases[task] = base
    return bases


def _read_population(value: Mapping[str, object]) -> PopulationPart | None:
    fields = Fields(value)
    policy = fields.text("calibration_policy")
    if policy is None:
        return None
    if policy != CALIBRATION_POLICY:
        raise fields.wrong("calibration_policy", f"{CALIBRATION_POLICY}, or absent")
    return PopulationPart(fields.text("analyzer_commit") or "", fields.text("population_sha256") or "")


def _read_track(value: object) -> Mapping[str, object] | None:
    if value is not None and not isinstance(value, dict):
        raise InputError.wrong("measurement_track", value, "an object, or absent for Python")
    return value


def _read_tasks(value: object, *, bounded: bool) -> dict[str, tuple[Reference, ...]]:
    if not isinstance(value, dict) or not value:
        raise InputError.wrong("tasks", value, "an object of at least one task with its references")
    tasks = {}
    for task, entries in sorted(value.items()):
        if not isinstance(entries, list) or not (entries or bounded):
            raise InputError.wrong(f"tasks.{task}", entries, "a list of at least one reference")
        references = tuple(_read_reference(entry, f"tasks.{task}[{at}]") for at, entry in enumerate(entries))
        if len({one.agent for one in references}) != len(references):
            raise InputError("has one agent twice", mend="keep one of the two", field=f"tasks.{task}")
        tasks[task] = references
    return tasks


def _read_reference(value: object, within: str) -> Reference:
    if not isinstance(value, dict) or not isinstance(value.get("provenance"), dict):
        raise InputError.wrong(within, value, "an object with agent, metrics and provenance")
    fields = Fields(value, within)
    metrics = Metrics.from_json(value.get("metrics"), f"{within}.metrics")
    agent = fields.identifier("agent")
    if agent is None:
        raise fields.wrong("agent", "a text that is not blank")
    if metrics.net_units is None or metrics.churn is None or metrics.mode != FULL_FILE or metrics.out_of_scope:
        raise fields.wrong("metrics", f"complete {FULL_FILE} metrics of a patch in scope")
    return Reference(agent, metrics, value["provenance"])
