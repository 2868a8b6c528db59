"""The sweep file: what is graded, how and with what, as a typed, closed schema (`parsimony schema sweep` prints it)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from cluster.sandboxchoice import AnySandbox, DockerSandbox
from cluster.schema import Cap, Closed, Duration, Size
from cluster.yamlfile import read_yaml
from parsimony.execution import Limits
from parsimony.runner import Policy


def _with_shorthands(schema: dict[str, Any]) -> None:
    """What may be written short in a file is short in its JSON Schema too."""
    fields = schema["properties"]
    fields["tasks"] = {"anyOf": [{"type": "string"}, fields["tasks"]]}
    for name in ("predictions", "prices", "against"):
        fields[name] = {**fields[name], "type": ["array", "string"]}
    names = {"type": "array", "items": {"type": "string"}}
    fields["arms"] = {**fields["arms"], "anyOf": [names, *fields["arms"]["anyOf"]]}


class TaskSource(Closed):
    """Where tasks come from.

    Attributes:
        file: JSON, JSONL or Parquet; relative to the sweep file.
        defaults: fields laid under every row; `{instance_id}` and other fields of the row may stand in texts.
        only: instance ids to take; None = all.
    """

    file: Path
    defaults: dict[str, Any] = Field(default_factory=dict)
    only: tuple[str, ...] | None = None


class LimitsOverride(Closed):
    """Limits laid over those of every row; what is left out stays as the row has it."""

    timeout_s: float | None = Field(None, gt=0)
    overhead_s: float | None = Field(None, gt=0)
    cpus: float | None = Field(None, gt=0)
    memory: Size | None = None
    pids: int | None = Field(None, gt=0)
    disk: Size | None = None
    output: Size | None = None
    artifacts: Size | None = None
    network: bool | None = None

    def over(self, limits: Limits) -> Limits:
        """`limits` with these in place."""
        names = {
            "memory": "memory_bytes",
            "disk": "disk_bytes",
            "output": "output_bytes",
            "artifacts": "artifact_bytes",
        }
        values = {f: getattr(limits, f) for f in Limits.__dataclass_fields__}
        for name, value in self.model_dump(exclude_none=True).items():
            values[names.get(name, name)] = value
        return Limits(**values)


class LocalEngine(Closed):
    """The agent runs in the driver's process."""

    kind: Literal["local"] = "local"


class RayEngine(Closed):
    """An agent on each node of a Ray cluster."""

    kind: Literal["ray"] = "ray"
    address: str | None = None


class PolicyChoice(Closed):
    """What may be done, and what is asked of evidence.

    Attributes:
        three_way, fuzz: which of the later strategies may apply a patch that `git apply` refuses.
        evidence: the least grade that counts: `report` refuses tasks that only have a log.
        reference: `use` it where it is, `require` it, or `ignore` it.
        max_attempts: how often infrastructure may fail a job before it is missing.
    """

    three_way: bool = True
    fuzz: bool = True
    evidence: Literal["log", "report"] = "log"
    reference: Literal["use", "require", "ignore"] = "use"
    max_attempts: int = Field(3, ge=1, le=20)

    @property
    def runner(self) -> Policy:
        """The part that changes what an execution does."""
        return Policy(three_way=self.three_way, fuzz=self.fuzz)


class Frozen(Closed):
    """What both sides of a comparison hold fixed in producing (build spec §5.4). Recorded, never used to grade."""

    model: str | None = None
    temperature: float | None = Field(None, ge=0)
    token_budget: int | None = Field(None, ge=0)
    tool_budget: int | None = Field(None, ge=0)
    candidate_count: int | None = Field(None, ge=1)


class Arm(Closed):
    """A side of a comparison.

    Attributes:
        harness_version: what produced its candidates, named in every result.
        predictions: files whose candidates all belong to this arm, whatever they say themselves.
    """

    harness_version: str | None = None
    predictions: tuple[Path, ...] = ()


class Team(Closed):
    """A team whose budget several runs share (docs/planning.md).

    Attributes:
        label: the team's name, as its folder has it too.
        folder: where `team.yaml` has its caps and `spending.jsonl` what its runs have spent.
    """

    label: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")
    folder: Path


class Budget(Closed):
    """Caps at which nothing more is started; what runs finishes, and the run can be resumed.

    Attributes:
        dollars, tokens: of this run, over all commands that worked on it.
        wall_time: seconds (or `2h`) of all those commands together.
        counts: `all` is producing and grading; `grading` leaves out what producing the candidates cost.
        team: whose budget the run spends as well.
    """

    dollars: Cap | None = None
    tokens: Annotated[int, Field(gt=0)] | None = None
    wall_time: Duration | None = None
    counts: Literal["all", "grading"] = "all"
    team: Team | None = None

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.counts == "grading" and self.tokens is not None:
            raise ValueError("grading takes no tokens, so that `tokens` could never be reached; say `counts: all`")
        return self


class Sweep(Closed):
    """One sweep: tasks × arms × seeds × repeats, graded under one policy.

    Attributes:
        name: for people and labels.
        tasks: the task file, or a `TaskSource`.
        predictions: files of candidates; relative to the sweep file.
        arms, seeds: what is planned. When either is given, every task × arm × seed is planned, and one without a
            candidate is missing. When neither is given, the candidates that are there are the plan.
        repeats: executions of each candidate, for the flake rate.
        concurrency: executions in flight per node, of which as many run as its processors carry; `auto` = just those.
        variants: conditions under which every resolved candidate is graded once more, beside its task's own fix: what
            holds only under one hash seed, order of tests, locale or time zone is not robust.
        footprint: the track by which the footprint of every candidate is measured (`units-v1`, `units-v2`; a task of
            another language takes the first track of its own), or `off`.
        prices: price files (docs/costs.md). With them every candidate must have a price, and results tell dollars where
            predictions tell tokens only.
        reference: the reference file; default: beside the task file, `.reference.json` in place of its suffix.
        budget: caps at which the run stops scheduling; None = none.
        against: folders of past runs, or their ledgers, that the forecast of a run rests on (docs/planning.md).
        images_lock: the lock file that says what each image of the tasks is (docs/images.md); None = whatever its
            reference means when the run is planned.
        registries: the file that says by which mirrors and certificates registries are reached (docs/images.md).
    """

    model_config = ConfigDict(json_schema_extra=_with_shorthands)

    name: str = Field("sweep", pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,62}$")
    tasks: Annotated[TaskSource, BeforeValidator(lambda v: {"file": v} if isinstance(v, str | Path) else v)]
    predictions: tuple[Path, ...] = ()
    arms: dict[str, Arm] | None = None
    seeds: tuple[int, ...] | None = None
    repeats: int = Field(1, ge=1, le=100)
    frozen: Frozen = Frozen()
    limits: LimitsOverride = LimitsOverride()
    sandbox: Annotated[AnySandbox, Field(discriminator="kind")] = DockerSandbox()
    engine: Annotated[LocalEngine | RayEngine, Field(discriminator="kind")] = LocalEngine()
    concurrency: Annotated[int, Field(ge=1, le=4096)] | Literal["auto"] = "auto"
    policy: PolicyChoice = PolicyChoice()
    variants: tuple[Literal["hash-seed", "order", "locale", "timezone"], ...] = ()
    footprint: Literal["units-v1", "units-v2", "off"] = "units-v1"
    prices: tuple[Path, ...] = ()
    reference: Path | None = None
    against: tuple[Path, ...] = ()
    budget: Budget | None = None
    images_lock: Path | None = None
    registries: Path | None = None

    @model_validator(mode="before")
    @classmethod
    def _shorthands(cls, data: Any) -> Any:
        """`arms: [a, b]` is short for the mapping; one path is short for a list where the field takes several."""
        if isinstance(data, dict):
            data = dict(data)
            if isinstance(data.get("arms"), list):
                data["arms"] = {str(name): {} for name in data["arms"]}
            for name in ("predictions", "prices", "against"):
                if isinstance(data.get(name), str):
                    data[name] = [data[name]]
        return data

    @model_validator(mode="after")
    def _some_candidates(self) -> Self:
        if not self.predictions and not any(arm.predictions for arm in (self.arms or {}).values()):
            raise ValueError("there is nothing to grade; name files of candidates under `predictions:`")
        if self.seeds is not None and len(set(self.seeds)) != len(self.seeds):
            raise ValueError("`seeds` names one twice; name each once")
        return self

    def resolved(self, base: Path) -> Self:
        """With every path absolute: relative ones are taken from `base`."""
        data = self.model_dump()
        data["tasks"]["file"] = base / self.tasks.file
        for name in ("predictions", "prices", "against"):
            data[name] = [base / p for p in data[name]]
        if data["sandbox"].get("kubeconfig") is not None:
            data["sandbox"]["kubeconfig"] = base / data["sandbox"]["kubeconfig"]
        for name in ("images_lock", "registries"):
            if data[name] is not None:
                data[name] = base / data[name]
        if self.budget is not None and self.budget.team is not None:
            data["budget"]["team"]["folder"] = base / self.budget.team.folder
        for arm in (data["arms"] or {}).values():
            arm["predictions"] = [base / p for p in arm["predictions"]]
        data["reference"] = (
            base / self.reference
            if self.reference is not None
            else (base / self.tasks.file).with_suffix(".reference.json")
        )
        return type(self).model_validate(data)


def read_sweep(path: Path) -> Sweep:
    """The sweep of a file, its paths resolved against the file's folder.

    Raises:
        InputError: see `read_yaml`.
    """
    return read_yaml(path, Sweep).resolved(path.resolve().parent)
