"""What the tests of sandboxes share: a bench per sandbox, which also knows how to look behind it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest

from cluster.sandboxes import labels
from cluster.sandboxes.fake import FakeSandbox, ended
from cluster.sandboxes.protocol import Sandbox
from parsimony.execution import ExecutionRequest, Limits, SandboxResult

IMAGES = ("debian:bookworm-slim", "python:3.11-slim-bookworm")
RUN = f"test-{uuid.uuid4().hex[:8]}"
T = TypeVar("T")


@dataclass
class Bench:
    """A sandbox on a loop of its own.

    Attributes:
        abandon: leave behind what a dead driver would, under this name and with these labels.
        standing: names that are there at this moment, in any state, of this test session.
        exempt: tests that this sandbox cannot take, by name, with the reason.
    """

    kind: str
    loop: asyncio.Runner
    sandbox: Sandbox
    image: str | None
    abandon: Callable[[str, Mapping[str, str]], None]
    standing: Callable[[], set[str]]
    forget: Callable[[str], None]
    exempt: Mapping[str, str] = field(default_factory=dict)

    def request(
        self, script: str, *, files: Mapping[str, bytes] | None = None, name: str | None = None, **limits: Any
    ) -> ExecutionRequest:
        """A shell script as a request, with limits that suit tests."""
        name = name or f"psm-test-{uuid.uuid4().hex[:12]}"
        limits = {"timeout_s": 60.0, "overhead_s": 0.0, "memory_bytes": 512 << 20, "disk_bytes": 4 << 30} | limits
        return ExecutionRequest(
            execution_key=f"sha256:{name}",
            name=name,
            command=("/bin/sh", "-c", script),
            files=dict(files or {}),
            limits=Limits(**limits),
            image=self.image,
            labels={labels.RUN: RUN, labels.ATTEMPT: "1"},
        )

    def run(self, script: str, **options: Any) -> SandboxResult:
        """Run one request to its end."""
        return self.do(self.sandbox.run(self.request(script, **options)))

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the bench's loop."""
        # Not as the runner's own task: it prints that one's result, however large, when it asks for signal handlers.
        results: list[T] = []

        async def keep() -> None:
            results.append(await work)

        self.loop.run(keep())
        return results.pop()


def alive(marker: str) -> list[int]:
    """Processes of this machine, containers included, whose command line holds `marker`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if marker.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


async def until(condition: Callable[[], object], patience_s: float = 30.0) -> None:
    """Wait for something to become true."""
    give_up = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < give_up, "it did not happen"
        await asyncio.sleep(0.02)


@pytest.fixture(scope="session")
def docker_image() -> str:
    """An image with a shell that is on this machine, or a skip that says why there is none."""
    docker = pytest.importorskip("docker")
    try:
        client = docker.APIClient(timeout=20)
    except docker.errors.DockerException as error:
        pytest.skip(f"no Docker Engine answers here: {error}")
    with contextlib.closing(client):
        for image in IMAGES:
            with contextlib.suppress(docker.errors.ImageNotFound):
                client.inspect_image(image)
                return image
    pytest.skip(f"none of {IMAGES} is on this machine")


def _docker(loop: asyncio.Runner, image: str) -> Bench:
    from cluster.sandboxes.docker import DockerSandbox

    sandbox = loop.run(DockerSandbox.open(slots=4))
    engine = sandbox._engine

    def abandon(name: str, marks: Mapping[str, str]) -> None:
        engine.start(engine.create(name, {"Image": image, "Cmd": ["sleep", "600"], "Labels": dict(marks)}))

    def forget(name: str) -> None:
        for found in engine.find({}, name):
            engine.remove(found.id)

    return Bench(
        kind="docker",
        loop=loop,
        sandbox=sandbox,
        image=image,
        abandon=abandon,
        standing=lambda: {found.name for found in engine.find({}) if found.name.startswith("psm-test-")},
        forget=forget,
    )


def _process(loop: asyncio.Runner, root: Path, isolation: str) -> Bench:
    from cluster.sandboxes.places import Owner, Places, _furnish
    from cluster.sandboxes.process import ProcessSandbox
    from parsimony.errors import PermanentError

    try:
        sandbox = loop.run(ProcessSandbox.open(slots=4, isolation=isolation, root=root))  # type: ignore[arg-type]
    except PermanentError as error:
        pytest.skip(str(error))
    places = Places(root)

    def abandon(name: str, marks: Mapping[str, str]) -> None:
        request = ExecutionRequest("", name, ("true",), {})
        place = places.make(request)
        place.remove()
        place.path.mkdir()
        _furnish(place.path, Owner(name, marks, place.owner.token, 2**22 + 1, 1))

    def forget(name: str) -> None:
        for place in places.found():
            if place.owner.name == name:
                place.remove()

    return Bench(
        kind="process" if isolation == "namespaces" else "process-plain",
        loop=loop,
        sandbox=sandbox,
        image=None,
        abandon=abandon,
        standing=lambda: {place.owner.name for place in places.found()},
        forget=forget,
    )


@pytest.fixture(scope="session")
def kubernetes_image() -> str:
    """An image that the cluster's node has, or a skip that says why no cluster is there to be asked."""
    if not (os.environ.get("PARSIMONY_KUBECONFIG") or os.environ.get("KUBECONFIG")):
        pytest.skip("neither PARSIMONY_KUBECONFIG nor KUBECONFIG names a Kubernetes cluster")
    pytest.importorskip("kubernetes")
    return os.environ.get("PARSIMONY_KUBERNETES_IMAGE", IMAGES[0])


def _kubernetes(loop: asyncio.Runner, image: str) -> Bench:
    from cluster.sandboxes.kubernetes.pod import marks as metadata
    from cluster.sandboxes.kubernetes.sandbox import KubernetesSandbox
    from parsimony.errors import ParsimonyError

    try:
        # A cluster for tests may be small: what runs beside the candidates reserves no processor there.
        sandbox = loop.run(KubernetesSandbox.open(slots=4, courier_cpus=0.0))
    except ParsimonyError as error:
        pytest.skip(f"no Kubernetes cluster answers here: {error}")
    api = sandbox._api

    def abandon(name: str, marks: Mapping[str, str]) -> None:
        container = {"name": "candidate", "image": image, "command": ["sleep", "600"]}
        spec = {"containers": [container], "restartPolicy": "Never", "automountServiceAccountToken": False}
        api.create({"apiVersion": "v1", "kind": "Pod", "metadata": metadata(name, marks), "spec": spec})

    def standing() -> set[str]:
        names = {pod["metadata"]["name"] for pod in api.list("")[0]}
        return {name for name in names if name.startswith("psm-test-")}

    return Bench(
        kind="kubernetes",
        loop=loop,
        sandbox=sandbox,
        image=image,
        abandon=abandon,
        standing=standing,
        forget=lambda name: api.delete(name, None, 0),
    )


def _fake(loop: asyncio.Runner) -> Bench:
    """The fake with a script that really runs a request's command, without limits and without killing anything."""
    sandbox = FakeSandbox(_interpret)
    kills = "it runs nothing, so there is nothing to kill"

    def forget(name: str) -> None:
        sandbox.abandoned.pop(name, None)

    return Bench(
        kind="fake",
        loop=loop,
        sandbox=sandbox,
        image=None,
        abandon=lambda name, marks: sandbox.abandoned.update({name: marks}),
        standing=lambda: set(sandbox.abandoned) | sandbox.running,
        forget=forget,
        exempt={
            "test_a_deadline_kills_the_whole_tree": kills,
            "test_nothing_survives_the_command": kills,
            "test_a_tree_that_keeps_forking_is_caught_up_with": kills,
            "test_more_memory_than_allowed": "it has no limits",
            "test_more_disk_than_allowed": "it has no limits",
            "test_a_gibibyte_of_output_in_constant_memory": "its results are whole by nature",
            "test_a_neighbour_is_untouched": kills,
            "test_an_outbox_full_of_tricks": "its outbox is what the script says",
            "test_an_outbox_that_is_gone": "its outbox is what the script says",
            "test_an_outbox_beyond_its_cap": "it has no limits",
            "test_a_name_that_is_taken": "it keeps nothing under a name",
            "test_a_command_that_is_not_there": "whether a command is there is up to the script",
            "test_an_inbox_that_cannot_be": "it takes any inbox",
            "test_declared_isolation_holds": "it declares what the test at hand needs",
            "test_usage_is_told_even_of_short_runs": "its usage is what the script says",
            "test_cancellation_leaves_nothing": "it starts nothing that could be seen from outside",
            "test_two_at_once": "it starts nothing that could be seen from outside",
        },
    )


def _interpret(request: ExecutionRequest) -> SandboxResult:
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        places = {"PARSIMONY_IN": base / "in", "PARSIMONY_OUT": base / "out", "PARSIMONY_WORK": base / "work"}
        for folder in places.values():
            folder.mkdir()
        for path, data in request.files.items():
            (base / "in" / path).parent.mkdir(parents=True, exist_ok=True)
            (base / "in" / path).write_bytes(data)
        done = subprocess.run(
            request.command,
            env={"PATH": "/usr/bin:/bin", "TZ": "UTC", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0", **request.environment}
            | {key: str(folder) for key, folder in places.items()},
            cwd=places["PARSIMONY_WORK"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        out = places["PARSIMONY_OUT"]
        outputs = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    code = done.returncode
    return ended(outputs, log=done.stdout, exit_status=code if code >= 0 else 128 - code)


@pytest.fixture(
    params=[
        pytest.param("docker", marks=pytest.mark.docker),
        pytest.param("kubernetes", marks=pytest.mark.kubernetes),
        "process",
        "process-plain",
        "fake",
    ],
)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    """Each sandbox in turn."""
    yield from opened(request.param, request, tmp_path)


def opened(kind: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[Bench]:
    """A bench, for a fixture. Whatever a test did, nothing of it may be left when the sandbox is closed."""
    with asyncio.Runner() as loop:
        match kind:
            case "docker":
                made = _docker(loop, request.getfixturevalue("docker_image"))
            case "kubernetes":
                made = _kubernetes(loop, request.getfixturevalue("kubernetes_image"))
            case "fake":
                made = _fake(loop)
            case _:
                made = _process(loop, folder / "places", "namespaces" if kind == "process" else "process")
        if reason := made.exempt.get(request.function.__name__):
            pytest.skip(f"the {made.kind} sandbox is exempt: {reason}")
        before = made.standing()
        yield made
        loop.run(made.sandbox.close())
        if made.kind in {"docker", "kubernetes"}:
            reopened = _docker if made.kind == "docker" else _kubernetes
            with asyncio.Runner() as another:
                again = reopened(another, str(made.image))
                left = again.standing() - before
                another.run(again.sandbox.close())
        else:
            left = made.standing() - before
        assert not left, "left behind"
