"""Pulls: patience where a registry asks for it, and an end with a mend where waiting does not help."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cluster.imagenames import Registries
from cluster.images.fetching import Fetched, Fetcher, Pace, State
from cluster.images.registry import Manifest, Refused
from cluster.images.store import Stored
from cluster.imageuse import ImageUse
from parsimony import cli
from parsimony.errors import DiskFull, ImagePullFailed, ParsimonyError, PermanentError
from tests.cluster.images.conftest import FakeRegistry, layer_of
from tests.cluster.images.test_pinning import parsimony, rows

NAME = "r.example.com/a:1"
SLOW = ImagePullFailed("toomanyrequests: slow down", retry_after=60.0)


class Bench:
    """An engine and a registry that do as they are told, and a clock that only sleeping moves."""

    platform = "linux/amd64"

    def __init__(self, *pulls: ParsimonyError | None, asked: ParsimonyError | None = None, **settings: Any) -> None:
        self.pulls, self.asked, self.now = list(pulls), asked, 100.0
        self.here: set[str] = set()
        self.began: list[tuple[float, str]] = []
        self.brought: list[str] = []
        self.guard = threading.Lock()
        self.registries = Registries.model_validate({"parallel": 1, "tries": 3, **settings})
        pace = Pace(self.registries.pulls_per_minute, clock=lambda: self.now, sleep=self.sleep)
        self.fetcher = Fetcher(
            self, self, self.registries, pace, lambda ident, name: self.brought.append(name), jitter=lambda: 0.5
        )

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        with self.guard:
            self.now += seconds

    def find(self, reference: str) -> Stored | None:
        return Stored(f"id-{reference}", size=7) if reference in self.here else None

    def pull(self, reference: str, told: Callable[[int], None] | None = None) -> None:
        self.began.append((self.now - 100.0, reference))
        fault = self.pulls.pop(0) if self.pulls else None
        if fault is not None:
            raise fault
        self.here.add(reference)

    def manifest(self, reference: str, platform: str) -> Manifest:
        if self.asked is not None:
            raise self.asked
        return Manifest("sha256:" + "0" * 64, platform, ())

    def fetch(self, *names: str) -> dict[str, Fetched]:
        return {one.reference: one for one in self.fetcher.fetch(names)}


def test_what_is_here_is_not_pulled() -> None:
    bench = Bench()
    bench.here.add(NAME)
    assert bench.fetch(NAME, NAME)[NAME].state is State.HERE
    assert (bench.began, bench.brought) == ([], [])


def test_a_pull_is_recorded_as_ours() -> None:
    bench = Bench()
    found = bench.fetch(NAME)[NAME]
    assert (found.state, found.tries, found.size) == (State.PULLED, 1, 7)
    assert bench.brought == [NAME]


def test_pauses_double_and_hold_a_random_part() -> None:
    bench = Bench(SLOW, SLOW, SLOW, tries=4)
    assert bench.fetch(NAME)[NAME].tries == 4
    assert [at for at, _ in bench.began] == [0.0, 1.5, 4.5, 10.5]


def test_the_registry_says_how_long_to_wait() -> None:
    bench = Bench(SLOW, asked=ImagePullFailed("slow", retry_after=90.0))
    bench.fetch(NAME)
    assert [at for at, _ in bench.began] == [0.0, 90.5]


def test_what_one_pull_was_told_holds_for_all_from_that_registry() -> None:
    bench = Bench(SLOW, asked=ImagePullFailed("slow", retry_after=90.0))
    bench.fetch(NAME, "r.example.com/b:1", "other.example.com/c:1")
    assert bench.began == [(0.0, NAME), (90.5, NAME), (90.5, "r.example.com/b:1"), (90.5, "other.example.com/c:1")]
    pace = Pace(None, clock=lambda: bench.now, sleep=bench.sleep)
    pace.close("r.example.com", 10)
    before = bench.now
    pace.wait("other.example.com")
    assert bench.now == before
    pace.wait("r.example.com")
    assert bench.now == before + 10


def test_pulls_begin_no_faster_than_allowed() -> None:
    bench = Bench(pulls_per_minute=6)
    bench.fetch(*(f"r.example.com/a:{n}" for n in range(4)))
    assert [at for at, _ in bench.began] == [0.0, 10.0, 20.0, 30.0]


def test_tries_end() -> None:
    bench = Bench(SLOW, SLOW, SLOW)
    found = bench.fetch(NAME)[NAME]
    assert (found.state, found.tries) == (State.FAILED, 3)
    assert found.text == "toomanyrequests: slow down (3 tries); try again later"


@pytest.mark.parametrize(
    ("fault", "asked", "said"),
    [
        (PermanentError("there is no image a"), None, "there is no image a; check the name and the tag"),
        (
            ImagePullFailed("denied"),
            Refused("r does not let this user see a (401); `docker login r`"),
            "`docker login r`",
        ),
        (ImagePullFailed("x509: unknown authority"), None, "/etc/docker/certs.d/r.example.com/ca.crt"),
        (DiskFull("no space left"), None, "`parsimony images gc`"),
    ],
)
def test_where_waiting_does_not_help(fault: ParsimonyError, asked: ParsimonyError | None, said: str) -> None:
    bench = Bench(fault, asked=asked)
    found = bench.fetch(NAME)[NAME]
    assert (found.state, found.tries) == (State.FAILED, 1)
    assert said in found.text


def test_who_stops_listening_does_not_wait_for_a_registry_that_is_closed() -> None:
    bench = Bench(SLOW, asked=ImagePullFailed("slow", retry_after=1e6), parallel=2)
    bench.fetcher.pace = Pace(None)
    bench.here.add("r.example.com/b:1")
    found = bench.fetcher.fetch(["r.example.com/b:1", NAME])
    assert next(found).state is State.HERE
    while not bench.began:
        time.sleep(0.001)
    found.close()  # type: ignore[attr-defined]
    assert len(bench.began) == 1


def test_an_id_cannot_be_pulled() -> None:
    bench = Bench()
    ident = "sha256:" + "1" * 64
    assert "build or load" in bench.fetch(ident)[ident].text
    assert bench.began == []


def test_one_that_fails_does_not_stop_the_others() -> None:
    bench = Bench(PermanentError("there is none"))
    found = bench.fetch(NAME, "r.example.com/b:1")
    assert [found[name].state for name in (NAME, "r.example.com/b:1")] == [State.FAILED, State.PULLED]


@pytest.mark.docker
def test_a_real_engine_and_a_registry_that_is_overrun(
    engine: Any,
    registry: FakeRegistry,
    own_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PARSIMONY_STATE", str(tmp_path / "state"))
    for tag in ("1", "2"):
        registry.image(f"{own_name}:{tag}", layer_of("shared", b"shared"), layer_of("own", tag.encode()))
    names = {tag: f"{registry.host}/{own_name}:{tag}" for tag in ("1", "2", "none")}
    registry.trouble[f"/v2/{own_name}/manifests/1"] = [(429, {"Retry-After": "1"})] * 3
    tasks = rows(tmp_path / "tasks.jsonl", one=names["1"], two=names["2"], three=names["none"])
    (tmp_path / "registries.yaml").write_text("parallel: 2\ntries: 6\n")
    words = ("prefetch", tasks, "--registries", tmp_path / "registries.yaml")
    status, found = parsimony(monkeypatch, capsys, *words)
    by_name = {one["reference"]: one for one in found["images"]}
    assert status == cli.NO
    assert [by_name[name]["state"] for name in names.values()] == ["pulled", "pulled", "failed"]
    assert by_name[names["1"]]["tries"] > 1
    assert "check the name and the tag" in by_name[names["none"]]["text"]
    assert by_name[names["none"]]["tries"] == 1, "what is not there is asked for once"
    uses = ImageUse(engine.info()["ID"]).entries()
    assert {name for use in uses.values() for name in use.references} == {names["1"], names["2"]}
    status, found = parsimony(monkeypatch, capsys, *words, "--task", "one", "--task", "two")
    assert (status, {one["state"] for one in found["images"]}) == (cli.DONE, {"here already"})


@pytest.mark.docker
def test_from_a_mirror_by_digest(
    engine: Any,
    registry: FakeRegistry,
    own_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The registry of the images is out of reach; its mirror has them, and the lock says what they are."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PARSIMONY_STATE", str(tmp_path / "state"))
    digest = registry.image(f"cache/{own_name}:1", layer_of("x", b"1"))
    name = f"far.example.com/{own_name}:1"
    tasks = rows(tmp_path / "tasks.jsonl", one=name)
    choice = {"registries": {"far.example.com": {"mirror": f"{registry.host}/cache"}}}
    (tmp_path / "registries.yaml").write_text(json.dumps(choice))
    more = ("--registries", tmp_path / "registries.yaml")
    status, found = parsimony(monkeypatch, capsys, "pin", tasks, *more)
    assert (status, found["images"][name]["digest"]) == (cli.DONE, digest)
    registry.tags.clear()  # from here on the digest alone leads to it
    status, found = parsimony(monkeypatch, capsys, "prefetch", tasks, *more)
    assert (status, found["images"][0]["state"]) == (cli.DONE, "pulled")
    assert found["images"][0]["reference"] == f"{registry.host}/cache/{own_name}@{digest}"
    status, found = parsimony(monkeypatch, capsys, "verify", tasks, *more, "--no-grade")
    assert (status, found["tasks"][0]["lock"]) == (cli.DONE, "here")
