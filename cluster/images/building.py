"""Build the images of an environment. What is there already, by its content, is not built again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, Protocol

from cluster.images import dockerfiles
from cluster.images.context import Context
from cluster.images.repository import Pack, Repository
from cluster.images.spec import Environment, TaskSpec
from cluster.images.store import Stored
from cluster.sandboxes import labels
from parsimony.canonical import digest_bytes, digest_json
from parsimony.errors import InputError, ParsimonyError, SandboxUnavailable

RULES: Final = 1
"""Version of how images are built: another one builds all of them again."""

INSTANCE: Final = "parsimony.dev/instance"
COMMIT: Final = "parsimony.dev/base-commit"
ENVIRONMENT: Final = "parsimony.dev/environment"


class Maker(Protocol):
    """What is needed of an engine (`Store`)."""

    def find(self, reference: str) -> Stored | None:
        """See `Store`."""
        ...

    def pull(self, reference: str, told: Callable[[int], None] | None = None) -> None:
        """See `Store`."""
        ...

    def tag(self, image: str, reference: str) -> None:
        """See `Store`."""
        ...

    def build(self, context: BinaryIO, tag: str, *, arguments: Mapping[str, str], labels: Mapping[str, str]) -> str:
        """See `Store`."""
        ...


@dataclass(frozen=True, slots=True)
class Built:
    """What became of a task's image.

    Attributes:
        image: its name. id: None where it failed.
        fresh: it was built now, and not found.
        text: why it failed. notes: what a person should know.
    """

    instance_id: str
    image: str
    id: str | None
    fresh: bool
    seconds: float
    size: int = 0
    text: str = ""
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Builder:
    """Builds the images of one environment.

    Attributes:
        brought: hears the id, the name and the origin (`pulled`, `built`) of each image that comes to be here.
        told: hears what is done.
        variables: those that the specification's `arguments` are taken from.
    """

    store: Maker
    environment: Environment
    repository: Repository
    brought: Callable[[str, str, str], None]
    told: Callable[[str], None]
    variables: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def build(self) -> Iterator[Built]:
        """Build the environment, the common past, and then each task that was chosen; tell of each as it is done. A
        task that fails does not stop the others.

        Raises:
            InputError: the specification names what is not there. PermanentError: a shared stage cannot be built.
        """
        spec, tasks = self.environment.spec, self.environment.tasks
        own = {task.instance_id: self.repository.commit(task.commit) for task in tasks}
        shared = None
        if spec.repository.history == "none":
            commits = {name: self.repository.alone(commit) for name, commit in own.items()}
        else:
            commits = own
            shared = self.repository.common_past(sorted(set(own.values())))
        below, key = self._environment()
        parent, key = self._past(below, key, shared)
        for task in self.environment.chosen:
            image = self.environment.image(task)
            started = time.monotonic()
            try:
                yield self._task(task, image, parent, key, (own[task.instance_id], commits[task.instance_id], shared))
            except SandboxUnavailable:
                raise
            except ParsimonyError as error:
                yield Built(task.instance_id, image, None, False, time.monotonic() - started, text=str(error))

    # ---- stages

    def _environment(self) -> tuple[str, str]:
        """The first stage: its name, and the key of its content."""
        spec, files = self.environment.spec, self.environment.files()
        base = self.store.find(spec.base)
        if base is None:
            self.told(f"pulling {spec.base}")
            self.store.pull(spec.base)
            base = self.store.find(spec.base)
            if base is None:
                raise SandboxUnavailable(f"{spec.base} was pulled and is gone", retry_after=30.0)
            self.brought(base.id, spec.base, "pulled")
        text = dockerfiles.environment(spec, files=bool(files))
        data = {f"environment/{name}": path.read_bytes() for name, path in files}
        runs = frozenset(f"environment/{name}" for name, path in files if os.access(path, os.X_OK))
        contents = {name: [digest_bytes(content), name in runs] for name, content in data.items()}
        key = digest_json({"rules": RULES, "base": base.id, "text": text, "files": contents})
        return self._stage("environment", key, text, data, {ENVIRONMENT: spec.name}, executable=runs), key

    def _past(self, parent: str, key: str, shared: str | None) -> tuple[str, str]:
        """The second stage."""
        spec = self.environment.spec
        text = dockerfiles.past(spec, parent)
        key = digest_json({"below": key, "shared": shared, "workdir": spec.workdir})
        files = {
            "repository/HEAD": (f"{shared}\n" if shared else "ref: refs/heads/main\n").encode(),
            "repository/config": dockerfiles.GIT_CONFIG.encode(),
        }
        if self.store.find(self._name("past", key)) is None and shared is not None:
            files |= _files(self.repository.pack([shared]))
        folders = (
            "repository/objects/info",
            "repository/objects/pack",
            "repository/refs/heads",
            "repository/refs/tags",
        )
        return self._stage("past", key, text, files, {}, folders=folders), key

    def _task(self, task: TaskSpec, image: str, parent: str, key: str, commits: tuple[str, str, str | None]) -> Built:
        """The third stage, under its own name too."""
        started, spec = time.monotonic(), self.environment.spec
        own, commit, shared = commits
        install = dockerfiles.script(spec.install if task.install is None else task.install)
        past = spec.repository.history == "ancestors"
        tags = self.repository.tags(own) if past and spec.repository.tags else {}
        key = digest_json({"below": key, "commit": commit, "install": install, "tags": tags, "seal": dockerfiles.SEAL})
        name = self._name("task", key)
        here = self.store.find(name)
        if here is None:
            refs = "# pack-refs with: peeled fully-peeled sorted\n"
            refs += "".join(f"{target} {ref}\n" for ref, target in tags.items())
            files = {
                "build/install.sh": install.encode(),
                "build/seal.sh": dockerfiles.SEAL.encode(),
                "repository/packed-refs": refs.encode(),
                **_files(self.repository.pack([commit], [shared] if shared else [])),
            }
            text = dockerfiles.task(spec, parent, commit)
            self._stage("task", key, text, files, {INSTANCE: task.instance_id, COMMIT: own})
        built = self.store.find(name)
        if built is None:
            raise SandboxUnavailable(f"{name} was built and is gone", retry_after=30.0)
        self.store.tag(built.id, image)
        self.brought(built.id, image, "built")
        modules = self.repository.modules(own)
        notes = (f"has no submodules ({', '.join(modules[:3])}): install them yourself",) if modules else ()
        seconds = time.monotonic() - started
        return Built(task.instance_id, image, built.id, here is None, seconds, built.size, notes=notes)

    def _stage(
        self,
        stage: str,
        key: str,
        text: str,
        files: Mapping[str, bytes],
        marks: Mapping[str, str],
        *,
        folders: tuple[str, ...] = (),
        executable: frozenset[str] = frozenset(),
    ) -> str:
        """The name of a stage's image, which is built where it is not here."""
        name = self._name(stage, key)
        here = self.store.find(name)
        if here is not None:
            self.brought(here.id, name, "built")
            return name
        self.told(f"building {name}")
        context = Context()
        try:
            context.add("Dockerfile", text.encode())
            for folder in folders:
                context.folder(folder)
            for path, data in sorted(files.items()):
                context.add(path, data, executable=path in executable)
            ident = self.store.build(
                context.finish(), name, arguments=self._arguments(), labels={labels.MANAGED_BY: labels.OURS, **marks}
            )
        finally:
            context.close()
        self.brought(ident, name, "built")
        return name

    def _name(self, stage: str, key: str) -> str:
        return f"parsimony-build/{self.environment.spec.name}.{stage}:{key.removeprefix('sha256:')[:16]}"

    def _arguments(self) -> dict[str, str]:
        """Values of the specification's arguments, and of `APT_MIRROR`, where the builder has them."""
        wanted: Any = ("APT_MIRROR", *self.environment.spec.arguments)
        return {name: self.variables[name] for name in wanted if name in self.variables}


def _files(pack: Pack | None) -> dict[str, bytes]:
    """A pack as files of a context."""
    if pack is None:
        return {}
    place = f"repository/objects/pack/{pack.name}"
    return {f"{place}.pack": pack.pack, f"{place}.idx": pack.index}


def missing_arguments(environment: Environment, variables: Mapping[str, str]) -> None:
    """Raise InputError when a variable that the specification wants is not set."""
    lacking = [name for name in environment.spec.arguments if name not in variables]
    if lacking:
        mend = "set it where you build, or take it out of `arguments`"
        raise InputError(f"{lacking[0]} is not set", mend=mend, field="arguments")
