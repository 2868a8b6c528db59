"""Pins, with a real engine and a registry of our own; and what an engine's history tells of layers."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from cluster.imagelock import read_lock
from cluster.imagenames import Registries
from cluster.images.history import layer_sizes
from cluster.images.needs import pulls, read_need, weigh
from cluster.images.pinning import Pinner
from cluster.images.registry import RegistryClient
from cluster.images.store import Store, _made
from cluster.images.verifying import State, look_at
from parsimony import cli
from parsimony.errors import InputError
from tests.cluster.images.conftest import FakeRegistry, layer_of

BYTES = b"0123456789" * 10


def test_layers_are_the_steps_that_added_bytes() -> None:
    history = [
        {"Size": 0, "CreatedBy": "/bin/sh -c #(nop) CMD"},
        {"Size": 7, "CreatedBy": "/bin/sh -c two"},
        {"Size": 0, "CreatedBy": "/bin/sh -c #(nop) ENV"},
        {"Size": 5, "CreatedBy": ""},
    ]
    assert layer_sizes(["a", "b"], history) == {"a": 5, "b": 7}


def test_a_step_that_ran_and_added_nothing_may_be_a_layer() -> None:
    history = [{"Size": 7, "CreatedBy": "sh two"}, {"Size": 0, "CreatedBy": "sh -c true"}, {"Size": 5, "CreatedBy": ""}]
    assert layer_sizes(["a", "b", "c"], history) == {"a": 5, "b": 0, "c": 7}
    assert layer_sizes(["a", "b", "c", "d"], history) == {}, "what cannot be told is not told"


def test_steps_whose_image_is_here_divide_the_question() -> None:
    history = [
        {"Id": "c", "Size": 9, "CreatedBy": "sh three"},
        {"Id": "b", "Size": 0, "CreatedBy": "/bin/sh -c #(nop) WORKDIR /new"},
        {"Id": "a", "Size": 0, "CreatedBy": "/bin/sh -c #(nop) WORKDIR /old"},
        {"Id": "<missing>", "Size": 5, "CreatedBy": ""},
    ]
    assert layer_sizes(["x", "y", "z"], history, {"a": 1, "b": 2, "c": 3}) == {"x": 5, "y": 0, "z": 9}
    assert layer_sizes(["x", "y", "z"], history) == {}
    assert layer_sizes(["x"], history, {"a": 7}) == {}


@pytest.mark.docker
def test_layers_of_a_real_image_add_up(engine: Any) -> None:
    store = Store()
    lasting = [image for image in store.every() if not any("test" in name for name in image.references)]
    images = [found for image in lasting if (found := store.find(image.id)) is not None and len(found.layers) > 3]
    if not images:
        pytest.skip("the engine has no image of more than three layers")
    for image in images[:3]:
        assert sum(store.layer_sizes(image).values()) == image.size, image.references
    store.close()


@pytest.fixture
def pinner(engine: Any, registry: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pinner:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    store = Store()
    return Pinner(store, RegistryClient(Registries()), Registries(), store.platform)


def load(engine: Any, reference: str, *files: bytes) -> str:
    """An image that only the engine has; returns its id."""
    repository, _, tag = reference.rpartition(":")
    archive = io.BytesIO(layer_of("file", b"".join(files)))
    found = json.loads(engine.import_image_from_data(archive.getvalue(), repository=repository, tag=tag))
    return str(found["status"])


@pytest.mark.docker
def test_pins_of_registry_and_engine(pinner: Pinner, engine: Any, registry: FakeRegistry, own_name: str) -> None:
    far, near = f"{registry.host}/{own_name}:far", f"{registry.host}/{own_name}:near"
    shared = layer_of("shared", BYTES)
    digests = [registry.image(f"{own_name}:{tag}", shared, layer_of("own", tag.encode())) for tag in ("far", "near")]
    assert pinner.store is not None
    pinner.store.pull(near)
    local = f"{own_name}:local"
    ident = load(engine, local, BYTES)
    found = pinner.pin([far, near, local, f"{registry.host}/{own_name}:none", near])
    images = found.lock.images
    assert [images[name].source for name in (far, near, local)] == ["registry", "registry", "engine"]
    assert [images[name].digest for name in (far, near, local)] == [*digests, ident]
    assert [images[name].size is None for name in (far, near, local)] == [True, False, False]
    assert list(found.failed) == [f"{registry.host}/{own_name}:none"]
    assert "check its name and tag" in next(iter(found.failed.values()))
    weighed = weigh(found.lock, [far, near])
    each = [len(registry.content[digest][1]) for digest in {*images[far].layers, *images[near].layers}]
    assert len(each) == 3
    assert weighed.pulled == sum(each), "the shared layer once"
    assert weigh(found.lock, [local]).disk == images[local].size

    # A tag that moves is another image: said, and pinned anew.
    registry.image(f"{own_name}:far", layer_of("new", b"new"))
    again = pinner.pin([far], found.lock)
    assert again.changed == {far: (digests[0], registry.tags[f"{own_name}:far"])}
    assert set(again.lock.images) == {far, near, local}


@pytest.mark.docker
def test_a_lock_against_what_is_there(
    pinner: Pinner, engine: Any, registry: FakeRegistry, own_name: str, tmp_path: Path
) -> None:
    far, local, gone = f"{registry.host}/{own_name}:far", f"{own_name}:local", f"{own_name}:gone"
    registry.image(f"{own_name}:far", layer_of("x", BYTES))
    for name in (local, gone):
        load(engine, name, BYTES, name.encode())
    path = tmp_path / "lock.json"
    path.write_text(pinner.pin([far, local, gone]).lock.text())
    locked = read_lock(path)
    assert pinner.store is not None
    assert pinner.client is not None

    def states() -> list[State]:
        names = [far, local, gone, f"{own_name}:other"]
        return [look.state for look in look_at(names, locked, Registries(), pinner.store, pinner.client)]  # type: ignore[arg-type]

    assert states() == [State.REGISTRY, State.HERE, State.HERE, State.UNLOCKED]
    pinner.store.pull(f"{registry.host}/{own_name}@{locked.of(far).digest}")
    engine.remove_image(gone)
    engine.remove_image(local)
    load(engine, local, b"another")
    registry.image(f"{own_name}:far", layer_of("x", b"moved"))
    assert states() == [State.HERE, State.OTHER, State.ABSENT, State.UNLOCKED], "a tag that moved changes no pin"
    engine.remove_image(f"{registry.host}/{own_name}@{locked.of(far).digest}")
    registry.content.clear()
    assert states()[0] is State.ABSENT
    registry.trouble[f"/v2/{own_name}/manifests/{locked.of(far).digest}"] = [(503, {})]
    assert states()[0] is State.UNKNOWN


def rows(path: Path, **images: str) -> Path:
    common = {
        "repo": "o/r", "FAIL_TO_PASS": ["a"], "PASS_TO_PASS": [], "test_cmd": "pytest", "log_format": "pytest",
        "patch": "", "test_patch": "",
    }  # fmt: skip
    path.write_text("".join(json.dumps({"instance_id": n, "image": i, **common}) + "\n" for n, i in images.items()))
    return path


def parsimony(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, Any]:
    monkeypatch.setattr(sys, "argv", ["parsimony", "images", *map(str, words), "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out = capsys.readouterr().out
    return int(ended.value.code or 0), json.loads(out) if out else None


@pytest.mark.docker
def test_the_commands(
    engine: Any, own_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"{own_name}:1"
    ident = load(engine, name, BYTES)
    tasks = rows(tmp_path / "tasks.jsonl", one=name, two=f"{own_name}:2")
    status, found = parsimony(monkeypatch, capsys, "pin", tasks, "--from", "engine")
    assert status == cli.PARTIAL
    assert list(found["failed"]) == [f"{own_name}:2"]
    assert read_lock(tmp_path / "images.lock.json").of(name).digest == ident
    status, found = parsimony(monkeypatch, capsys, "verify", tasks, "--no-grade", "--task", "one")
    assert (status, found["ok"], found["tasks"][0]["lock"]) == (cli.DONE, True, "here")
    status, found = parsimony(monkeypatch, capsys, "verify", tasks, "--no-grade")
    assert (status, [task["lock"] for task in found["tasks"]]) == (cli.NO, ["here", "not in the lock"])


def test_what_an_input_needs(tmp_path: Path) -> None:
    tasks = rows(tmp_path / "tasks.jsonl", a="x:1", b="x:1", c="y:1")
    assert read_need(tasks).images == {"x:1": ("a", "b"), "y:1": ("c",)}
    assert read_need(tasks, ["c"]).images == {"y:1": ("c",)}
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text("tasks: {file: tasks.jsonl, only: [a]}\npredictions: p.jsonl\nimages_lock: other.json\n")
    need = read_need(sweep)
    assert (need.images, need.lock_path(None)) == ({"x:1": ("a",)}, tmp_path / "other.json")
    with pytest.raises(InputError, match="is not there"):
        need.lock(None)
    assert read_need(tasks).lock(None) is None
    with pytest.raises(InputError, match="there is no task 'nobody'; it holds 3 tasks"):
        read_need(tasks, ["a", "nobody"])
    tasks.write_text(tasks.read_text().replace('"image"', '"other"'))
    with pytest.raises(InputError, match=r"names no image; .* give rows an `image`"):
        read_need(tasks)


@pytest.mark.parametrize(
    ("images", "nodes", "expected"),
    [(0, 5, (0, 0)), (10, 1, (10, 10)), (10, 4, (10, 12)), (2, 100, (100, 120)), (1, 3, (3, 3))],
)
def test_pulls_of_a_run(images: int, nodes: int, expected: tuple[int, int]) -> None:
    assert pulls(images, nodes) == expected


@pytest.mark.docker
def test_a_plan_of_pulls_and_bytes(
    engine: Any,
    registry: FakeRegistry,
    own_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    shared = layer_of("shared", b"x" * 50_000)
    names = {tag: f"{registry.host}/{own_name}:{tag}" for tag in ("1", "2", "3")}
    for tag in names:
        registry.image(f"{own_name}:{tag}", shared, layer_of("own", tag.encode() * int(tag)))
    tasks = rows(tmp_path / "tasks.jsonl", a=names["1"], b=names["2"], c=names["3"], d=names["3"])
    status, found = parsimony(monkeypatch, capsys, "plan", tasks)
    assert (status, found["images"], found["tasks"], found["without_size"]) == (cli.DONE, 3, 4, 3)
    assert found["sent_bytes_per_node"]["most"] is None
    parsimony(monkeypatch, capsys, "pin", tasks)
    lock = read_lock(tmp_path / "images.lock.json").lock
    status, found = parsimony(monkeypatch, capsys, "plan", tasks)
    assert found["pulls"] == {"least": 3, "most": 3}
    assert found["sent_bytes_per_node"] == {
        "fair_share": sum(lock.layers.values()),
        "most": sum(lock.layers.values()),
        "packed": True,
    }
    status, found = parsimony(monkeypatch, capsys, "plan", tasks, "--nodes", "3")
    assert (found["pulls"], found["pulls_per_node"]) == ({"least": 3, "most": 3}, {"fair_share": 1, "most": 3})
    largest = max(sum(lock.layers[layer] for layer in image.layers) for image in lock.images.values())
    assert found["sent_bytes_per_node"]["fair_share"] == largest
    engine.pull(f"{registry.host}/{own_name}@{lock.images[names['1']].digest}")
    status, found = parsimony(monkeypatch, capsys, "plan", tasks)
    assert (found["here"], found["pulls"]["least"]) == (1, 2)


def test_images_that_a_failed_build_made() -> None:
    lines = ["Step 1/4 : FROM x", " ---> aaaaaaaaaaaa", "Step 2/4 : COPY", " ---> Using cache", " ---> bbbbbbbbbbbb",
             "Step 3/4 : COPY", " ---> cccccccccccc", "Step 4/4 : RUN", " ---> Running in dddddddddddd"]  # fmt: skip
    assert _made(lines) == ["cccccccccccc"]
