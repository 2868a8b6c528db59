"""What goes and what stays: rules on made-up images, the record of use, and a real engine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.images.collecting import collect
from cluster.images.eviction import Held, choose, resting
from cluster.images.store import Store
from cluster.imageuse import ImageUse, state_folder
from cluster.sandboxes.docker import DockerEngine
from parsimony import cli
from tests.cluster.images.conftest import FakeRegistry, layer_of
from tests.cluster.images.test_pinning import parsimony

SHARED = {"base": 100}


def held(name: str, used: float, spared: str = "", **layers: int) -> Held:
    return Held(name, (f"{name}:1",), layers, used, spared)


def test_the_least_recently_used_goes_first_and_only_as_much_as_must() -> None:
    images = [held("c", 3, base=100, c=5), held("a", 1, base=100, a=10), held("b", 2, base=100, b=7)]
    found = choose(images, (), budget=110)
    assert ([x.id for x in found.evict], found.held_bytes, found.freed, found.short) == (["a", "b"], 122, 17, 0)
    assert found.frees == {"a": 10, "b": 7}
    assert choose(images, (), budget=122).evict == ()
    assert choose(images, ()).evict == ()


def test_a_shared_layer_goes_with_its_last_image() -> None:
    images = [held("a", 1, base=100, a=10), held("b", 2, base=100, b=7)]
    found = choose(images, (), budget=0)
    assert found.frees == {"a": 10, "b": 107}
    others = choose(images, {"base"}, budget=0)
    assert (others.held_bytes, others.frees) == (17, {"a": 10, "b": 7}), "a layer of somebody else's image stays"


def test_what_is_spared_stays_and_the_rest_is_said() -> None:
    found = choose([held("a", 1, "a container", a=10), held("b", 2, b=7)], (), budget=5)
    assert ([x.id for x in found.evict], found.freed, found.short) == (["b"], 7, 5)


def test_what_others_rest_on_goes_after_them_and_stays_with_them() -> None:
    stage = held("stage", 1, base=100)
    old, new = held("old", 2, base=100, a=10), held("new", 9, base=100, b=7)
    assert [x.id for x in choose([stage, old, new], (), budget=107).evict] == ["old"]
    assert [x.id for x in choose([stage, old, new], (), budget=0).evict] == ["old", "new", "stage"]
    used = held("new", 9, "a container", base=100, b=7)
    assert [x.id for x in choose([stage, old, used], (), budget=0).evict] == ["old"]
    assert resting([stage, used])[1]["stage"] == "an image that stays rests on it"


@given(
    images=st.lists(
        st.tuples(st.integers(0, 9), st.booleans(), st.sets(st.integers(0, 6), min_size=1)), min_size=1, max_size=8
    ),
    others=st.sets(st.integers(0, 6)),
    budget=st.integers(0, 200),
)
def test_the_books_balance(images: list[tuple[int, bool, set[int]]], others: set[int], budget: int) -> None:
    ours = [
        Held(str(n), (), {str(layer): 3**layer for layer in layers}, used, "in use" if spared else "")
        for n, (used, spared, layers) in enumerate(images)
    ]
    found = choose(ours, {str(layer) for layer in others}, budget=budget)
    gone = {image.id for image in found.evict}
    left = {k: v for image in ours if image.id not in gone for k, v in image.layers.items() if int(k) not in others}
    assert sum(left.values()) == found.held_bytes - found.freed
    uses, spared = resting(ours)
    assert not any(spared[image.id] for image in found.evict)
    assert found.short == 0 or all(spared[image.id] for image in ours if image.id not in gone)
    assert found.short > 0 or sum(left.values()) <= budget
    if found.evict:
        before = found.freed - found.frees[found.evict[-1].id]
        assert found.held_bytes - before > budget, "the last one had to go as well"
        unspared = [uses[image.id] for image in ours if not spared[image.id] and image.id not in gone]
        assert all(uses[image.id] <= min(unspared, default=99) for image in found.evict)


def test_the_record_of_use(tmp_path: Path) -> None:
    use, other = ImageUse("one", tmp_path / "state"), ImageUse("two", tmp_path / "state")
    assert use.entries() == {}
    use.used("a", now=1)
    assert not use.path.exists(), "what is nobody's is not written down"
    use.brought("a", "x:1", "pulled", now=10)
    use.brought("a", "y:1", "built", now=20)
    other.brought("b", "z:1", "pulled", now=5)
    entry = use.entries()["a"]
    assert (entry.references, entry.origin, entry.since, entry.used) == (("x:1", "y:1"), "pulled", 10, 20)
    use.used("a", now=100)
    use.used("a", now=130)
    use.used("b", now=130)
    assert use.entries()["a"].used == 100, "at most once a minute"
    use.forget(["a", "nobody"])
    assert (use.entries(), list(other.entries())) == ({}, ["b"])


def test_a_damaged_record_makes_images_nobodys(tmp_path: Path) -> None:
    use = ImageUse("one", tmp_path)
    for text in ("{", "[]", '{"schema": 9}', '{"schema": 1, "engines": {"one": {"a": {"used": "x"}}}}'):
        use.path.write_text(text)
        assert use.entries() == {}
    use.brought("a", "x:1", "pulled")
    assert list(use.entries()) == ["a"]


def test_a_record_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    use = ImageUse("one", tmp_path / "file" / "state")
    use.brought("a", "x:1", "pulled")
    assert use.entries() == {}


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from cluster.imageuse import ImageUse
use = ImageUse("one", Path(sys.argv[1]))
for n in range(20):
    use.brought(f"{sys.argv[2]}-{n}", "x:1", "pulled")
"""
    writers = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), name]) for name in "ab"]
    assert [writer.wait() for writer in writers] == [0, 0]
    assert len(ImageUse("one", tmp_path).entries()) == 40


def test_where_the_record_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PARSIMONY_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "parsimony"
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/somewhere")
    assert state_folder() == Path("/somewhere/.local/state/parsimony")
    monkeypatch.setenv("PARSIMONY_STATE", "/x")
    assert state_folder() == Path("/x")


@pytest.mark.docker
def test_a_real_engine(
    engine: Any,
    registry: FakeRegistry,
    own_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("PARSIMONY_STATE", str(tmp_path / "state"))
    names = {}
    for tag in ("old", "used", "renamed", "theirs", "new", "pinned"):
        registry.image(f"{own_name}:{tag}", layer_of("x", tag.encode() * 1000))
        names[tag] = f"{registry.host}/{own_name}:{tag}"
    names["pinned"] = f"{registry.host}/{own_name}@{registry.tags[f'{own_name}:pinned']}"
    store, grading = Store(), DockerEngine(1)
    use = ImageUse(store.engine_id)
    for tag in ("old", "used", "renamed", "new", "pinned"):
        grading.pull(names[tag])  # as a sweep does
    store.pull(names["theirs"])  # as anybody does
    idents = {tag: store.find(name).id for tag, name in names.items()}  # type: ignore[union-attr]
    assert set(use.entries()) == {idents[tag] for tag in ("old", "used", "renamed", "new", "pinned")}
    engine.tag(idents["renamed"], f"{own_name}-mine", "1")
    made = grading.create(f"{own_name}-c", {"Image": idents["used"], "Cmd": ["/x"]})
    try:
        entry = use.entries()[idents["used"]]
        assert entry.used > entry.since, "that a container was made from it is written down"
        found = collect(store, use, budget=0, free=0, spare_s=0, remove=False, now=9e9)
        assert {image.spared for image in found.held} == {
            "",
            "a container is made from it",
            "somebody gave it a name of their own",
        }
        assert {image.id for image in found.eviction.evict} == {idents["old"], idents["new"], idents["pinned"]}
        assert found.removed == []
        assert store.find(names["old"]) is not None

        status, told = parsimony(monkeypatch, capsys, "gc", "--budget", "1", "--remove")
        assert (status, told["removed"], told["evict"]) == (cli.NO, [], []), "what was used in the last hour is spared"
        status, told = parsimony(monkeypatch, capsys, "gc", "--budget", "1", "--spare", "0", "--remove")
        assert status == cli.NO, "two are still too many"
        assert sorted(told["removed"]) == sorted(names[tag] for tag in ("old", "new", "pinned"))
    finally:
        grading.remove(made)
    here = {tag: store.find(name) is not None for tag, name in names.items()}
    assert here == {"old": False, "used": True, "renamed": True, "theirs": True, "new": False, "pinned": False}
    assert set(use.entries()) == {idents["used"], idents["renamed"]}
    engine.remove_image(f"{own_name}-mine:1")
    status, told = parsimony(monkeypatch, capsys, "gc", "--budget", "1", "--spare", "0")
    assert (status, len(told["evict"]), told["removed"]) == (cli.NO, 2, None), "listed, and nothing else"
    assert parsimony(monkeypatch, capsys, "gc", "--budget", "1", "--spare", "0", "--remove")[0] == cli.DONE
    assert parsimony(monkeypatch, capsys, "gc", "--budget", "1", "--spare", "0")[0] == cli.DONE
    assert store.find(names["theirs"]) is not None
