"""What `kill_runs.py` kills, and how: runs in processes of their own, and a strike for each kind of victim."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from cluster.ledger import LedgerReader
from cluster.sandboxes import labels
from cluster.session import recorded_run_id

ROOT: Final = Path(__file__).resolve().parents[1]
TOKEN: Final = "PARSIMONY_KILLED"
"""Variable with the name of a run's place, in the environment of all that it starts."""

LIMIT_S: Final = 600.0
"""Seconds that a command may take."""

Key = tuple[str, str, int]


@dataclass(frozen=True)
class Bench:
    """What is graded, and what must come of it."""

    options: tuple[str, ...]
    expected: Mapping[Key, set[str]]


@dataclass
class Episode:
    """One run, its kills, and where it leaves what.

    Attributes:
        out: the run's folder. place: for temporary files; its name is in the environment of all that the run starts.
    """

    bench: Bench
    place: Path
    chance: random.Random
    out: Path = field(init=False)
    driver: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.out = self.place / "run"
        self.out.mkdir()

    def start(self) -> subprocess.Popen[bytes]:
        """The command, which resumes whatever there is."""
        command = [sys.executable, "-c", "from parsimony.cli import main; main()", "grade", *self.bench.options]
        environment = {**os.environ, TOKEN: str(self.place), "TMPDIR": str(self.place), "PYTHONPATH": str(ROOT)}
        with (self.place / "stderr").open("ab") as errors:
            self.driver = subprocess.Popen(
                [*command, "--out", str(self.out)],
                stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True, env=environment, cwd=self.place,
            )  # fmt: skip
        return self.driver

    def wait(self) -> int:
        """Until the command ends. Returns its status."""
        assert self.driver is not None
        return self.driver.wait(LIMIT_S)

    def wait_for(self, found: Callable[[], Any]) -> Any:
        """What `found` gives as soon as it gives something; None when the command has ended before."""
        assert self.driver is not None
        until = time.monotonic() + LIMIT_S
        while self.driver.poll() is None and time.monotonic() < until:
            if what := found():
                return what
            time.sleep(0.1)
        return None

    def told(self) -> str:
        """The end of what the commands wrote on stderr."""
        return (self.place / "stderr").read_text(errors="replace")[-1500:]

    def processes(self) -> list[psutil.Process]:
        """Everything that this run started, and that is still there."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            where = [process.cwd(), *process.cmdline(), process.environ().get(TOKEN, "")]
        except psutil.Error:
            return False
        return any(str(self.place) in word for word in where)

    def run_id(self) -> str | None:
        """The id that containers and pods carry; None before there is one."""
        try:
            return recorded_run_id(LedgerReader(self.out / "ledger"))
        except Exception:  # the driver writes it meanwhile
            return None

    def containers(self) -> list[str]:
        """Of this run."""
        if (run := self.run_id()) is None:
            return []
        command = ["docker", "ps", "-aq", "--filter", f"label={labels.RUN}={run}"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()


class Gone(Exception):
    """There was nothing to kill any more."""


def kill(process: psutil.Process | subprocess.Popen[bytes] | None) -> None:
    """SIGKILL."""
    if process is None:
        raise Gone
    with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)


def gets_through(episode: Episode) -> None:
    """The run ends well without another command."""
    if (status := episode.wait()) != 0:
        raise AssertionError(f"the run that lost something ended with status {status}: {episode.told()}")


def kill_driver(episode: Episode) -> None:
    """At any moment from its start on."""
    driver = episode.start()
    with contextlib.suppress(subprocess.TimeoutExpired):
        driver.wait(episode.chance.uniform(0.3, 7.0))
        raise Gone
    kill(driver)
    driver.wait()


def kill_agent(episode: Episode) -> None:
    """One that has begun to work; the run must get through without another command."""
    episode.start()
    kill(episode.wait_for(lambda: _named(episode, "ray::AgentActor") if _any_started(episode) else None))
    gets_through(episode)


def kill_raylet(episode: Episode) -> None:
    """The driver loses its node, and ends by itself."""
    episode.start()
    kill(episode.wait_for(lambda: _named(episode, "raylet") if _any_started(episode) else None))
    episode.wait()


def kill_container(episode: Episode) -> None:
    """One of a candidate; the run must get through without another command."""
    episode.start()
    time.sleep(episode.chance.uniform(0.0, 1.0))
    if not (found := episode.wait_for(episode.containers)):
        raise Gone
    subprocess.run(["docker", "kill", episode.chance.choice(found)], capture_output=True, check=False)
    gets_through(episode)


def kill_pod(episode: Episode) -> None:
    """One of a candidate, without grace; the run must get through without another command."""
    episode.start()
    time.sleep(episode.chance.uniform(0.0, 2.0))
    if not (found := episode.wait_for(lambda: pods(episode.run_id()))):
        raise Gone
    with contextlib.suppress(Exception):  # it may have ended meanwhile
        cluster().delete_namespaced_pod(*episode.chance.choice(found), grace_period_seconds=0)
    gets_through(episode)


@functools.cache
def cluster() -> Any:
    """The API of the cluster."""
    import urllib3  # noqa: PLC0415 -- as below
    from kubernetes import client, config  # noqa: PLC0415 -- takes a second

    urllib3.disable_warnings()  # test clusters have certificates of their own
    config.load_kube_config(os.environ["KUBECONFIG"])
    return client.CoreV1Api()


def pods(run: str | None) -> list[tuple[str, str]]:
    """Names and namespaces of the pods of a run."""
    if run is None:
        return []
    found = cluster().list_pod_for_all_namespaces(label_selector=f"{labels.RUN}={run}").items
    return [(pod.metadata.name, pod.metadata.namespace) for pod in found]


def fill_disk(episode: Episode) -> None:
    """At any moment: the command ends, says so, and there is room again."""
    filler = episode.out / "filler"
    driver = episode.start()
    with contextlib.suppress(subprocess.TimeoutExpired):
        driver.wait(episode.chance.uniform(0.3, 6.0))
        raise Gone
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as out:
        while True:
            out.write(bytes(1 << 16))
    status = episode.wait()
    filler.unlink()
    told = episode.told()
    if status != 0 and ("Traceback" in told or "no space left" not in told):
        raise AssertionError(f"a full disk ended with status {status} and {told}")


def _named(episode: Episode, name: str) -> psutil.Process | None:
    for process in episode.processes():
        with contextlib.suppress(psutil.Error):
            program = (process.cmdline() or [""])[0]
            if program.startswith(name) or Path(program).name == name:
                return process
    return None


def _any_started(episode: Episode) -> bool:
    return any(path.name.startswith("psm-") and any(path.iterdir()) for path in episode.place.iterdir())


def kill_engine(restart: str) -> Callable[[Episode], None]:
    """The Docker Engine, which `restart` starts again; the driver goes on, or ends and is started again."""

    def killer(episode: Episode) -> None:
        episode.start()
        if not episode.wait_for(episode.containers):
            raise Gone
        for process in psutil.process_iter(["name"]):
            if process.info["name"] == "dockerd":
                kill(process)
        time.sleep(episode.chance.uniform(0.0, 2.0))
        subprocess.run(shlex.split(restart), stdout=subprocess.DEVNULL, check=True)
        episode.wait()

    return killer
