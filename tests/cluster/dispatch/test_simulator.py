"""The simulator of benchmarks/, on worlds small enough for a test: near to the bound, with few pulls."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

PATH = Path(__file__).parents[3] / "benchmarks" / "scheduling_simulator.py"


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Any:
    spec = importlib.util.spec_from_file_location("scheduling_simulator", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "scheduling_simulator", module)  # dataclasses look their module up
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "TASKS", 60)
    return module


@pytest.mark.parametrize("nodes", [1, 4])
@pytest.mark.parametrize("seed", range(3))
def test_near_to_the_bound_and_few_pulls(simulator: Any, nodes: int, seed: int) -> None:
    world = simulator.World.drawn(seed)
    simulation = simulator.Simulation(world, nodes, slots=4, prefetch=2)
    makespan = simulation.run()
    assert 1.0 <= makespan / world.bound(nodes, 4) < 1.1
    assert simulation.pulls <= 1.2 * max(60, nodes)
