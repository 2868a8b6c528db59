"""A driver killed before any step, or in the middle of a write, and the same command again: the same verdicts, nothing
lost, nothing twice, nothing left behind."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from cluster.dispatch import RunEnding
from parsimony.errors import DiskFull
from tests.faults.killpoints import (
    Benchmark,
    Identity,
    Left,
    Snapshots,
    World,
    check,
    finish,
    on_a_full_disk,
    outcomes,
    watched,
)


class Scene:
    """A benchmark, what a run of it gives that nothing disturbs, and what kills leave of others.

    Attributes:
        steps: of the undisturbed run.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.benchmark = Benchmark(folder / "inputs", seed)
        self.folder = folder
        self.chance = random.Random(seed)
        self.expected: dict[Identity, str] = {}
        world = World(self.benchmark.faults)
        self.steps = self._watched("undisturbed", folder / "undisturbed", world, lambda _: False).steps
        self.expected = outcomes(folder / "undisturbed")
        check(folder / "undisturbed", world, self.expected, "undisturbed")

    def kills(self, rate: float) -> list[Left]:
        """What kills leave at a part of the steps of a run."""
        world = World(self.benchmark.faults)
        return self._watched("run", self.folder / "run", world, lambda _: self.chance.random() < rate).taken

    def kill_again(self, left: Left, number: int) -> Left | None:
        """What another kill leaves of the run that goes on from `left`; None when there was no step to kill it at."""
        last = self.chance.randrange(1, self.steps)
        taken = self._watched(f"again-{number}", left.folder, left.world, lambda step: step == last).taken
        return taken[-1] if taken else None

    def _watched(self, name: str, out: Path, world: World, wanted: Callable[[int], bool]) -> Snapshots:
        store = self.folder / f"kills-{name}"
        store.mkdir()
        snapshots = Snapshots(out, store, world, wanted, self.chance)
        assert watched(self.benchmark, out, world, snapshots).ending is RunEnding.COMPLETED
        return snapshots


@pytest.mark.parametrize("seed", range(3))
def test_some_kill_points(seed: int, tmp_path: Path) -> None:
    scene = Scene(tmp_path, seed)
    kills = scene.kills(0.1)
    assert kills
    for left in kills:
        finish(scene.benchmark, left, scene.expected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_every_kill_point(seed: int, tmp_path: Path) -> None:
    """Of twenty benchmarks: more than two thousand."""
    scene = Scene(tmp_path, seed)
    kills = scene.kills(1.0)
    assert len(kills) > scene.steps > 60
    assert any(left.torn for left in kills)
    assert any(left.world.containers for left in kills)
    for left in kills:
        finish(scene.benchmark, left, scene.expected)


@pytest.mark.parametrize("seed", [3, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(200, 215))])
def test_killed_again_and_again(seed: int, tmp_path: Path) -> None:
    """Up to five kills, each of the run that goes on after the one before."""
    scene = Scene(tmp_path, seed)
    left = scene.chance.choice(scene.kills(0.2))
    for number in range(4):
        following = scene.kill_again(left, number)
        if following is None:
            break
        left = following
    finish(scene.benchmark, left, scene.expected)


@pytest.mark.parametrize("seed", [4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(300, 305))])
def test_a_full_disk(seed: int, tmp_path: Path) -> None:
    """From any step on nothing can be made or renamed: the run says so, and goes on when there is room again."""
    scene = Scene(tmp_path, seed)
    for at in sorted(scene.chance.sample(range(scene.steps), 12)):
        out, world = tmp_path / f"full-{at}", World(scene.benchmark.faults)
        error = on_a_full_disk(scene.benchmark, out, world, at)
        assert isinstance(error, DiskFull | None), (at, repr(error))
        if error is not None or world.containers:
            finish(scene.benchmark, Left(at, out, world), scene.expected)
