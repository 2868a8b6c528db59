"""Forecasts: exact counts, intervals that hold as often as they say, and nothing where nothing is known."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from cluster.forecast import Capacity, Estimate, Forecast, Here, forecast, forecast_error, read_history
from cluster.forecast.draws import draw, makespans
from cluster.forecast.stored import complete_forecast, forecast_of_summary, write_forecast
from cluster.imagelock import LockedImage, make_lock
from cluster.ledger import Ledger, LedgerReader
from cluster.plan import Environment, Plan, load, make_plan
from cluster.sweep import Sweep
from parsimony.cost_ledger import ComputePrice, PriceTable
from parsimony.errors import InputError

PATCH = "diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-old\n+{}\n"
PRICES = PriceTable(compute=(ComputePrice(Fraction(1, 10), date(2020, 1, 1), source="a test"),))


def row(key: str, task: str, seconds: float, **more: Any) -> dict[str, Any]:
    return {
        "execution_key": key, "task_id": task, "environment_digest": "sha256:img", "sandbox": "docker",
        "outcome": "completed", "wall_seconds": seconds, "cpu_seconds": seconds / 2, "peak_memory_bytes": 1 << 20,
        "phases": json.dumps({"queue": 500.0, "create": 0.25 * seconds, "run": 0.75 * seconds}), **more,
    }  # fmt: skip


def past(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    with Ledger.open(path) as ledger:
        for one in rows:
            ledger.append("execution", one)
    return path


class Bench:
    """A sweep on `tasks` tasks with one image each, two arms, two seeds; seed 2 of arm y says what seed 1 says."""

    def __init__(self, root: Path, tasks: int = 4, **more: Any) -> None:
        common = {
            "repo": "o/r", "FAIL_TO_PASS": ["a"], "PASS_TO_PASS": [], "test_cmd": "pytest", "log_format": "pytest",
            "patch": PATCH.format("fix"), "test_patch": "",
        }  # fmt: skip
        rows = [{"instance_id": f"t-{n}", "image": f"img:{n}", **common} for n in range(tasks)]
        said = [
            {"instance_id": f"t-{n}", "arm": arm, "seed": seed, "model_patch": patch, **more}
            for n in range(tasks)
            for arm, seed, patch in (
                ("x", 1, PATCH.format("one")),
                ("x", 2, ""),
                ("y", 1, PATCH.format("two")),
                ("y", 2, PATCH.format("two")),
            )
        ]
        for name, lines in (("tasks", rows), ("predictions", said)):
            (root / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.sweep = Sweep.model_validate({"tasks": "tasks.jsonl", "predictions": "predictions.jsonl"}).resolved(root)
        self.inputs = load(self.sweep)
        images = [task.image for task in self.inputs.tasks.values()]
        self.plan: Plan = make_plan(self.sweep, self.inputs, {x: Environment("sha256:img") for x in images})

    def forecast(self, *paths: Path, sizes: dict[str, int] | None = None, **more: Any) -> Forecast:
        given: dict[str, Any] = {
            "history": read_history(paths), "here": Here({}, sizes), "capacity": Capacity(1, 2), "prices": PRICES,
            **more,
        }  # fmt: skip
        done = given.pop("done", set())
        return forecast(self.sweep, self.inputs, self.plan, done, **given)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_counts_are_exact(bench: Bench) -> None:
    done = {next(iter(bench.plan.work))}
    jobs = bench.forecast(done=done).jobs
    assert (jobs.candidates, jobs.units, dict(jobs.settled), jobs.shared) == (16, 16, {"empty_patch": 4}, 4)
    assert (jobs.distinct, jobs.done, jobs.pending) == (8, 1, 7)


def test_without_history_only_the_time_limits_bound(bench: Bench) -> None:
    made = bench.forecast()
    limits = [work.limits for work in bench.plan.work.values()]
    deadline = sum(x.deadline_s for x in limits)
    for estimate in (made.wall_seconds, made.cpu_hours, made.dollars):
        assert (estimate.expected, estimate.low, estimate.high) == (None, None, None)
        assert "--against" in estimate.why
    assert made.cpu_hours.at_most == pytest.approx(deadline / 3600)
    assert made.wall_seconds.at_most == pytest.approx(deadline / 2 + limits[0].deadline_s)
    assert made.dollars.at_most == pytest.approx(deadline / 3600 / 10)
    assert made.sources == {"unknown": 8}


def test_the_nearest_records_are_taken_and_the_wait_for_a_processor_is_not(bench: Bench, tmp_path: Path) -> None:
    rows = [row(f"k{n}", "t-0", 10.0) for n in range(6)]
    ledger = past(tmp_path / "past", rows)
    made = bench.forecast(ledger)
    assert made.sources == {"task": 2, "image": 6}
    assert made.history == {str(ledger): 6}
    assert made.cpu_hours.expected == pytest.approx(8 * 5 / 3600, rel=0.1)
    assert made.wall_seconds.expected == pytest.approx(40, rel=0.1)
    assert made.dollars.expected == pytest.approx(8 * 5 / 3600 / 10, rel=0.1)
    assert any("no two past runs" in text for text in made.assumed)
    other = past(tmp_path / "other", [row("k", "z-1", 10.0, environment_digest="sha256:else")])
    assert bench.forecast(other).sources == {"all": 8}
    known = read_history([other], {"z-1": "o/r"})
    assert bench.forecast(history=known).sources == {"repository": 8}


def test_the_interval_holds_as_often_as_it_says(tmp_path: Path) -> None:
    """Runs simulated by other rules than those of the model: lognormal tasks, executions, and a factor of the run."""
    random_ = random.Random(7)
    inside = 0
    trials = 40
    for trial in range(trials):
        root = tmp_path / str(trial)
        root.mkdir()
        bench = Bench(root, tasks=12)
        means = [random_.gauss(3.0, 0.8) for _ in range(12)]

        def run(name: str, means: list[float] = means, root: Path = root) -> list[float]:
            speed = random_.gauss(0.0, 0.15)
            found = [math.exp(m + speed + random_.gauss(0.0, 0.2)) for m in means for _ in range(2)]
            rows = (row(f"{name}{n}", f"t-{n // 2}", seconds) for n, seconds in enumerate(found))
            past(root / name, rows)
            return found

        for name in ("a", "b", "c"):
            run(name)
        made = bench.forecast(*(root / name for name in ("a", "b", "c")))
        truth = sum(run("truth")) / 2 / 3600
        inside += bool(made.cpu_hours.holds(truth))
    assert 30 <= inside <= 40, f"{inside} of {trials} inside a 90 % interval"


def test_a_schedule_is_as_long_as_its_longest_job_at_least(bench: Bench, tmp_path: Path) -> None:
    ledger = past(tmp_path / "past", [row(f"k{n}", f"t-{n % 4}", 1.0 + 9 * (n % 4 == 0)) for n in range(24)])
    courses = draw(list(bench.plan.work.values()), read_history([ledger]))
    assert courses is not None
    for slots in (1, 3, 8, 100):
        ends = makespans(courses, slots)
        some = courses.busy[: len(ends)]
        assert (ends >= some.max(axis=1) - 1e-9).all()
        assert (ends >= some.sum(axis=1) / slots - 1e-9).all()
        assert (ends <= some.sum(axis=1) / slots + some.max(axis=1) + 1e-9).all()
    assert makespans(courses, 1) == pytest.approx(courses.busy[: len(makespans(courses, 1))].sum(axis=1))


def test_sizes_are_told_by_the_engine_or_unknown(bench: Bench) -> None:
    nobody = bench.forecast(here=Here({}, None, "no engine"))
    assert nobody.images.here is None
    assert nobody.images.pulls.expected is None
    assert nobody.images.bytes_per_node.expected is None
    some = bench.forecast(sizes={"img:0": 1000}).images
    assert (some.distinct, some.here, some.pulls.expected, some.unknown_sizes) == (4, 1, 3, 3)
    assert some.bytes_per_node.expected is None
    every = {f"img:{n}": 1000 for n in range(4)}
    assert bench.forecast(sizes=every).images.bytes_per_node.expected == 0
    spread = bench.forecast(sizes=every, capacity=Capacity(8, 1)).images
    assert (spread.pulls.low, spread.pulls.high) == (8, 9)
    assert spread.bytes_per_node.expected == 1000


def test_dollars_are_unknown_without_a_price_or_a_peak(bench: Bench, tmp_path: Path) -> None:
    assert "--price-per-cpu-hour" in bench.forecast(prices=PriceTable()).dollars.why
    memory = PriceTable(compute=(ComputePrice(Fraction(0), date(2020, 1, 1), gib_hour=Fraction(1)),))
    blind = past(tmp_path / "blind", [row("k", "t-0", 10.0, peak_memory_bytes=None)])
    assert bench.forecast(blind, prices=memory).dollars.expected is None
    seen = past(tmp_path / "seen", [row("k", "t-0", 10.0)])
    assert bench.forecast(seen, prices=memory).dollars.expected is not None


def test_producing_is_what_the_rows_tell(tmp_path: Path) -> None:
    told = Bench(tmp_path, usage={"model": "m", "input_tokens": 10, "output_tokens": 5, "dollars": 0.5})
    spent = told.forecast().producing
    assert (spent.tokens, spent.dollars, spent.without_usage) == (240, 8.0, 0)
    (tmp_path / "b").mkdir()
    untold = Bench(tmp_path / "b", usage={"model": "m", "input_tokens": 10})
    assert untold.forecast().producing.dollars is None


def test_its_own_error_is_told_when_every_job_was_recorded(bench: Bench, tmp_path: Path) -> None:
    ledger = past(tmp_path / "past", [row(f"k{n}", "t-0", 10.0) for n in range(6)])
    made = bench.forecast(ledger)
    path = tmp_path / "plan.json"
    assert forecast_of_summary(path) is None
    write_forecast(path, made)
    assert forecast_of_summary(path) is None
    keys = list(bench.plan.work)
    run = past(tmp_path / "run", [row(key, "t-0", 11.0) for key in [*keys, "another"]])
    complete_forecast(path, LedgerReader(run), set(keys), 5000.0, PRICES)
    found = forecast_of_summary(path)
    assert found is not None
    assert (found["jobs"], found["recorded"]) == (8, 8)
    assert found["wall_seconds"]["inside"] is False
    assert found["wall_seconds"]["error"] == pytest.approx(5000 / made.as_json()["wall_seconds"]["expected"] - 1)
    assert found["cpu_hours"]["actual"] == pytest.approx(8 * 5.5 / 3600)
    assert found["cpu_hours"]["inside"] is True
    assert found["dollars"]["actual"] == pytest.approx(8 * 5.5 / 36000, abs=1e-5)
    part = forecast_error(made.as_json(), [row(keys[0], "t-0", 1.0)], 10.0, PRICES)
    assert part["wall_seconds"]["error"] is None, "a run that stopped early was not forecast too long"
    path.write_text("{")
    with pytest.raises(InputError, match="damaged"):
        forecast_of_summary(path)


def test_no_history_where_there_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no ledger"):
        read_history([tmp_path])
    empty = past(tmp_path / "empty", [row("k", "t-0", 0.0, phases=None, wall_seconds=None)])
    assert not read_history([empty]).tasks


def test_an_estimate_without_interval_says_nothing() -> None:
    assert Estimate(3.0).holds(3.0) is None
    assert Estimate(3.0, 2.0, 4.0).holds(None) is None


def test_a_lock_tells_the_bytes_of_images_that_are_not_here(bench: Bench) -> None:
    base, *own = ("sha256:" + f"{n:064x}" for n in range(5))
    images = {
        f"img:{n}": LockedImage(
            digest=layer, source="registry", platform="linux/amd64", size=900, packed=True, layers=(base, layer)
        )
        for n, layer in enumerate(own)
    }
    lock = make_lock(images, {base: 100, **{layer: 10 * n for n, layer in enumerate(own)}})
    one = bench.forecast(here=Here({}, {"img:0": 900}, lock=lock)).images
    assert (one.pulls.expected, one.bytes_per_node.expected) == (3, 100 + 10 + 20 + 30)
    two = bench.forecast(here=Here({}, {}, lock=lock), capacity=Capacity(2, 2)).images
    assert (two.bytes_per_node.expected, two.bytes_per_node.at_most) == (160, 160), (
        "two of them: 130 + 120, at most all"
    )
    four = bench.forecast(here=Here({}, {}, lock=lock), capacity=Capacity(4, 2)).images
    assert (four.bytes_per_node.expected, four.bytes_per_node.at_most) == (130, 160)
    unasked = bench.forecast(here=Here({}, None, "a cluster", lock)).images
    assert unasked.bytes_per_node.expected == 160
