"""`dataset` and `analyze` as a person types them, with a cache that holds everything they ask for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from parsimony.artifacts import Cache, Fetcher, Places
from parsimony.artifacts import dataset as datasets
from parsimony.errors import InputError

COMMIT = "c" * 40


def run(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "parsimony", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def page(offset: int, rows: int = 100) -> dict[str, Any]:
    listed = [{"row": {"instance_id": f"t{offset + at}", "patch": "é"}, "truncated_cells": []} for at in range(rows)]
    return {"features": [], "num_rows_total": 500, "rows": listed}


@pytest.fixture
def filled(tmp_path: Path, world: Any) -> Path:
    """A folder with a cache of what the public addresses would give."""
    world.legacy({"resolved": ["t1"], "failed": ["t2"]})
    world.tasks = [f"t{number}" for number in range(500)]
    world.write_dataset()
    cache, places = Cache(tmp_path / ".parsimony-cache"), Places()
    predictions = world.site.files["/bucket/verified/20250101_agent/all_preds.jsonl"]
    cache.store(places.stored("verified/20250101_agent/all_preds.jsonl"), predictions)
    cache.store(places.submission("main", "20250101_agent", "results/results.json"), b'{"resolved": ["t1"]}')
    cache.store(places.file("o/r", COMMIT, "pkg/core.py"), b"def f(a):\n    return a\n")
    for offset in range(0, 500, 100):
        cache.store(places.page(offset), json.dumps(page(offset)).encode())
    return tmp_path


def test_dataset(filled: Path) -> None:
    done = run(filled, "dataset", "--offline")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "wrote 500 tasks to verified.jsonl\n")
    lines = (filled / "verified.jsonl").read_text().splitlines()
    assert len(lines) == 500
    assert json.loads(lines[42]) == {"instance_id": "t42", "patch": "é"}


@pytest.mark.parametrize("words", [("--cache", "kept", "analyze"), ("analyze", "--cache", "kept")])
def test_analyze(filled: Path, words: tuple[str, ...]) -> None:
    (filled / ".parsimony-cache").rename(filled / "kept")
    done = run(filled, *words, "20250101_agent", "--dataset", "dataset.jsonl", "--offline")
    told = "wrote 500 records to results.jsonl: 499 not_resolved, 1 ok\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", told)
    board = run(filled, "leaderboard", "results.jsonl")
    assert json.loads(board.stdout)[0]["successful_tasks_analyzed"] == 1


def test_a_failure_of_the_network_is_done_in_part(filled: Path) -> None:
    Cache(filled / ".parsimony-cache").path(Places().file("o/r", COMMIT, "pkg/core.py")).unlink()
    words = ("analyze", "20250101_agent", "--dataset", "dataset.jsonl", "--offline")
    done = run(filled, *words)
    assert done.returncode == 3
    assert "1 fetch_error" in done.stderr
    assert "with --resume" in done.stderr
    Cache(filled / ".parsimony-cache").store(Places().file("o/r", COMMIT, "pkg/core.py"), b"def f(a):\n    return a\n")
    assert run(filled, *words, "--resume").returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("analyze",), "SUBMISSION: no submission is named"),
        (("analyze", "x"), "--dataset: is needed"),
        (("analyze", "x", "--patch-only", "--offline"), "all_preds.jsonl is not in the cache"),
        (("analyze", "x", "--patch-only", "--offline", "--refresh"), "--refresh: needs the network"),
        (("analyze", "x", "--limit", "0"), "--limit"),
        (("dataset", "--offline", "--cache", "none"), "is not in the cache none"),
        (("dataset", "--offline", "--output", "none/x"), "none/x: cannot be written"),
    ],
)
def test_what_cannot_run_is_said_in_a_line(filled: Path, words: tuple[str, ...], told: str) -> None:
    done = run(filled, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda told: told["rows"].pop(), "499 rows of 499 tasks came"),
        (lambda told: told["rows"].__setitem__(0, told["rows"][1]), "500 rows of 499 tasks came"),
        (lambda told: told["rows"][7].update(truncated_cells=["patch"]), "row 8|:8: truncated_cells"),
        (lambda told: told["rows"].__setitem__(3, {"row": 3}), ":4: is no row"),
        (lambda told: told.update(rows={}), "it must be a list of rows"),
        (lambda told: told["rows"][0]["row"].update(instance_id=3), "instance_id: is 3"),
    ],
)
def test_pages_that_are_not_the_dataset(fetcher: Fetcher, change: Any, told: str) -> None:
    places = Places()
    for offset in range(0, 500, 100):
        content = page(offset)
        if offset == 200:
            change(content)
        fetcher.cache.store(places.page(offset), json.dumps(content).encode())
    with pytest.raises(InputError, match=told):
        datasets.download(fetcher, places)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no task"),
        ("{}\n", ":1: instance_id"),
        ('{"instance_id": "a"}\n\n{"instance_id": "a"}\n', ":3: instance_id: a is there twice"),
        ('{"instance_id": "a"}\n{"instance_id": "b", "language": "go"}\n', ":2: language: is go"),
        ('{"instance_id": "a", "patch": 1}\n', "patch: is 1"),
        ('{"instance_id": "a", "repo": []}\n', r"repo: is \[\]"),
        ("[]\n", "is no object"),
        ('{"instance_id": "a", "instance_id": "b"}\n', "has the key"),
    ],
)
def test_datasets_that_cannot_be_used(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "d.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        datasets.read(path)
