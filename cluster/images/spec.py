"""The environment specification: from what the images of a repository's tasks are built, as a typed, closed schema
(`parsimony schema environment` prints it)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from cluster.imagenames import parse
from cluster.images.languages import Language
from cluster.schema import Closed
from cluster.yamlfile import read_yaml
from parsimony.errors import InputError
from parsimony.tasks import read_tasks
from parsimony.testreports import FORMATS

_COMMIT = r"^[0-9a-f]{7,64}$"
_VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"


def _list(value: object) -> object:
    return [value] if isinstance(value, str) else value


Commands = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], BeforeValidator(_list)]
"""Shell commands, one after the other; one may be written without a list."""


class RepositorySpec(Closed):
    """Where the project comes from.

    Attributes:
        url: cloned once, into this user's folder of state. path: a repository on this machine; relative to the file.
        history: `ancestors`: each image has the base commit with its true past, and nothing later. `none`: one commit
            with the files of the base commit.
        tags: names of releases up to the base commit are there too; builds that take their version from git need them.
    """

    url: str | None = Field(None, min_length=1)
    path: Path | None = None
    history: Literal["ancestors", "none"] = "ancestors"
    tags: bool = True

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.url is None) == (self.path is None):
            raise ValueError("needs just one of `url` and `path`; say where the repository is")
        return self


class Dependencies(Closed):
    """What all tasks of the environment share.

    Attributes:
        files: files and folders beside the specification that `run` needs (lock files), as they lie beside it.
        run: commands in the folder of those files; they have the network, and install from locks.
    """

    files: tuple[Path, ...] = ()
    run: Commands = ()


class TaskSpec(Closed):
    """One task.

    Attributes:
        commit: on which its candidates are made.
        install: commands in its work tree, in place of the environment's.
    """

    instance_id: str = Field(min_length=1)
    commit: str = Field(pattern=_COMMIT)
    install: Commands | None = None


class EnvironmentSpec(Closed):
    """The file.

    Attributes:
        name: of the environment: small letters, digits, hyphens.
        language: decides which tools the image has (`images/tasks/`).
        base: the image to start from; by digest in production.
        packages: Debian packages beside the language's own.
        image: the name that an image gets, with `{name}` and `{instance_id}`; rows of tasks name it under `image`.
        workdir: where the work tree is.
        environment: variables of the image.
        arguments: variables of the builder that commands see while they run (where packages come from); the engine
            keeps them in the history of an image, so that no secret belongs here.
        install: commands in the work tree of each task, after the checkout. What they leave there must be ignored by
            git: it would be in every candidate's patch.
        tasks: tasks, or a file of rows with `instance_id` and `base_commit`.
    """

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=60)
    language: Language
    base: str = Field(min_length=1)
    packages: tuple[Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.+-]+$")], ...] = ()
    image: str = "parsimony/{name}.{instance_id}:1"
    workdir: str = Field("/testbed", pattern=r"^(/[A-Za-z0-9._-]+)+$")
    environment: dict[Annotated[str, Field(pattern=_VARIABLE)], str] = Field(default_factory=dict)
    arguments: tuple[Annotated[str, Field(pattern=_VARIABLE)], ...] = ()
    repository: RepositorySpec
    dependencies: Dependencies = Dependencies()
    install: Commands = ()
    tasks: tuple[TaskSpec, ...] | Path

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        if "{instance_id}" not in self.image:
            raise ValueError("`image` is the same for every task; put `{instance_id}` into it")
        return self


@dataclass(frozen=True, slots=True)
class Environment:
    """A specification that was read.

    Attributes:
        folder: of the file, from which its paths are taken.
        tasks: all of it. chosen: those that are to be built now.
    """

    spec: EnvironmentSpec
    folder: Path
    tasks: tuple[TaskSpec, ...]
    chosen: tuple[TaskSpec, ...]

    def image(self, task: TaskSpec) -> str:
        """The name of a task's image."""
        name = self.spec.image.replace("{name}", self.spec.name).replace("{instance_id}", task.instance_id.lower())
        parse(name)
        return name

    def files(self) -> list[tuple[str, Path]]:
        """The files of `dependencies`, by their path in the image's folder for them, sorted.

        Raises:
            InputError: one is not there, or lies elsewhere.
        """
        found: dict[str, Path] = {}
        for given in self.spec.dependencies.files:
            path = (self.folder / given).resolve()
            if not path.is_relative_to(self.folder.resolve()):
                raise InputError(
                    f"{given} lies elsewhere", mend="put it beside the specification", field="dependencies.files"
                )
            if not path.exists():
                raise InputError(f"{given} is not there", mend="name a file or a folder", field="dependencies.files")
            for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
                found[str(file.relative_to(self.folder.resolve()))] = file
        return sorted(found.items())


def read_environment(path: Path, only: Iterable[str] = ()) -> Environment:
    """The environment of a file.

    Args:
        only: just these tasks.

    Raises:
        InputError: see `read_yaml`; a task that is not there, or there twice, or has no commit.
    """
    spec = read_yaml(path, EnvironmentSpec)
    folder = path.resolve().parent
    tasks = spec.tasks if isinstance(spec.tasks, tuple) else _rows(folder / spec.tasks)
    names = [task.instance_id for task in tasks]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"has {twice!r} twice", mend="keep one", file=str(path), field="tasks")
    wanted = set(only)
    unknown = sorted(wanted - set(names))
    if unknown or not tasks:
        problem = f"has no task {unknown[0]!r}" if unknown else "has no task"
        raise InputError(problem, mend=f"it has {', '.join(names[:5]) or 'none'}", file=str(path), field="tasks")
    chosen = tuple(task for task in tasks if not wanted or task.instance_id in wanted)
    return Environment(spec, folder, tasks, chosen)


def _rows(path: Path) -> tuple[TaskSpec, ...]:
    file = read_tasks(path, formats=FORMATS)
    if file.rejected:
        raise InputError(file.rejected[0].problem, mend="mend the row", file=str(path))
    without = next((task for task in file.tasks if not task.base_commit), None)
    if without is not None:
        raise InputError(f"{without.instance_id} has no base_commit", mend="give its row one", file=str(path))
    return tuple(TaskSpec(instance_id=t.instance_id, commit=str(t.base_commit)) for t in file.tasks)


def environment_schema() -> dict[str, Any]:
    """The JSON Schema of the file."""
    return EnvironmentSpec.model_json_schema()
