"""`parsimony value` and `parsimony medals` as a person types them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parsimony import cli
from tests.parsimony.value.conftest import Command

VALUES = "task_id,dollars,kind\ncsvsniff-2,1000.50,ic_swe\nttlcache-3,250,swe_manager\n"


@pytest.fixture
def values(tmp_path: Path) -> Path:
    path = tmp_path / "values.csv"
    path.write_text(VALUES)
    return path


@pytest.fixture
def folder(graded: Path, tmp_path: Path) -> Path:
    """A copy of the graded run."""
    return Path(shutil.copytree(graded, tmp_path / "run"))


def change_lines(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path = folder / "outcomes.jsonl"
    lines = [change(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_what_is_told_is_what_the_run_resolved(graded: Path, values: Path, parsimony: Command) -> None:
    status, out, _ = parsimony("value", graded, "--values", values, "--json")
    told = json.loads(out)
    assert status == cli.DONE
    pays = {"csvsniff-2": 1_000_500_000, "ttlcache-3": 250_000_000}
    lines = [json.loads(line) for line in (graded / "outcomes.jsonl").read_text().splitlines()]
    for arm in told["arms"]:
        assert arm["available"] == "1250.500000"
        for seed in arm["seeds"]:
            wanted = sum(
                pays[line["task_id"]]
                for line in lines
                if (line["arm"], line["seed"], line["outcome"]) == (arm["arm"], seed["seed"], "resolved")
            )
            assert seed["earned"] == f"{wanted // 10**6}.{wanted % 10**6:06d}"
            assert seed["bounds"] == [seed["earned"]] * 2
        assert [one["kind"] for one in arm["kinds"]] == ["ic_swe", "swe_manager"]
        total = sum(float(seed["earned"]) for seed in arm["seeds"])
        assert arm["earned_per_dollar"] == pytest.approx(total / arm["spent_dollars"])
    (difference,) = told["differences"]
    means = {arm["arm"]: arm["mean_earned"] for arm in told["arms"]}
    assert difference["difference"] == pytest.approx(means["candidate"] - means["baseline"])


def test_the_terminal_fits_and_the_page_is_one_file(
    graded: Path, values: Path, tmp_path: Path, parsimony: Command
) -> None:
    page = tmp_path / "value.html"
    status, out, _ = parsimony("value", graded, "--values", values, "--page", page)
    assert status == cli.DONE
    assert all(len(line) <= 100 for line in out.splitlines())
    assert "$1,250.50" in out
    html = page.read_text(encoding="utf-8")
    assert "<script" not in html
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', html)
    assert "$1,250.50" in html


def test_missing_verdicts_are_bounds_and_status_3(folder: Path, values: Path, parsimony: Command) -> None:
    def lose(line: dict[str, Any]) -> dict[str, Any]:
        gone = line["arm"] == "candidate" and line["seed"] == 1 and line["task_id"] == "csvsniff-2"
        return {**line, "outcome": "missing", "score": None} if gone else line

    change_lines(folder, lose)
    status, out, _ = parsimony("value", folder, "--values", values, "--json")
    arm = next(one for one in json.loads(out)["arms"] if one["arm"] == "candidate")
    assert status == cli.PARTIAL
    assert (arm["mean_earned"], arm["missing"], arm["seeds"][0]["earned"]) == (None, 1, None)
    low, high = arm["mean_earned_bounds"]
    assert high - low == pytest.approx(1000.50 / len(arm["seeds"]))
    assert parsimony("value", folder, "--values", values)[0] == cli.PARTIAL


def test_a_task_without_a_value_is_named_and_status_3(graded: Path, tmp_path: Path, parsimony: Command) -> None:
    path = tmp_path / "v.csv"
    path.write_text("task_id,dollars\ncsvsniff-2,3\nelsewhere,4\n")
    status, out, _ = parsimony("value", graded, "--values", path, "--json")
    assert (status, json.loads(out)["unvalued"]) == (cli.PARTIAL, ["ttlcache-3"])


def test_a_bad_row_is_rejected_and_the_rest_counts(graded: Path, values: Path, parsimony: Command) -> None:
    values.write_text(VALUES + "csvsniff-2,7,ic_swe\n")
    status, out, err = parsimony("value", graded, "--values", values, "--json")
    assert status == cli.PARTIAL
    assert "values.csv:4" in err
    assert json.loads(out)["arms"][0]["available"] == "1250.500000"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no task with a value"),
        (["--values", "nowhere.csv"], "does not exist"),
        (["--values", "VALUES", "--baseline", "nobody"], "no arm 'nobody'"),
        (["--values", "VALUES", "--as-of", "soon"], "--as-of"),
        (["--values", "VALUES", "--page", "nowhere/x.html"], "folder that is not there"),
        (["--values", "VALUES", "--prices", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_bad_requests_are_one_line(
    graded: Path, values: Path, parsimony: Command, words: list[str], message: str
) -> None:
    status, _, err = parsimony("value", graded, *[values if word == "VALUES" else word for word in words])
    assert status == cli.CANNOT
    assert message in err
    assert len(err.strip().splitlines()) == 1


@pytest.fixture
def boards(tmp_path: Path) -> Path:
    """Two competitions of ten teams: in `up` higher is better, in `down` lower."""
    folder = tmp_path / "boards"
    (folder / "down").mkdir(parents=True)
    (folder / "up.csv").write_text("score\n" + "".join(f"{n}\n" for n in range(10, 0, -1)))
    (folder / "down" / "leaderboard.csv").write_text("score\n" + "".join(f"{n}\n" for n in range(1, 11)))
    return folder


def scores(path: Path, *rows: tuple[str, int, float | None]) -> Path:
    path.write_text(
        "".join(
            json.dumps({"competition_id": name, "seed": seed, "score": score, "valid": score is not None}) + "\n"
            for name, seed, score in rows
        )
    )
    return path


def test_medals(boards: Path, tmp_path: Path, parsimony: Command) -> None:
    rows = [("up", 1, 10.0), ("down", 1, 2.0), ("up", 2, 7.0), ("down", 2, None), ("up", 3, 6.0), ("down", 3, 5.0)]
    path = scores(tmp_path / "s.jsonl", *rows)
    status, out, _ = parsimony("medals", path, "--leaderboards", boards, "--json")
    (arm,) = json.loads(out)["arms"]
    assert status == cli.DONE
    assert [one["medal"] for one in arm["submissions"]] == ["gold", "silver", "bronze", "none", "none", "none"]
    assert [one["any_medal"] for one in arm["seeds"]] == [1.0, 0.5, 0.0]
    assert (arm["any_medal"], arm["standard_error"]) == (0.5, pytest.approx(0.5 / 3**0.5))
    status, out, _ = parsimony("medals", path, "--leaderboards", boards)
    assert "50.0 ± 28.9 %" in out
    assert all(len(line) <= 100 for line in out.splitlines())


def test_a_submission_that_is_not_there_is_a_bound(boards: Path, tmp_path: Path, parsimony: Command) -> None:
    path = scores(tmp_path / "s.jsonl", ("up", 1, 10.0))
    assert parsimony("medals", path, "--leaderboards", boards)[0] == cli.DONE
    status, out, _ = parsimony("medals", path, "--leaderboards", boards, "--all", "--json")
    (arm,) = json.loads(out)["arms"]
    assert (status, arm["any_medal"], arm["any_medal_bounds"]) == (cli.PARTIAL, None, [0.5, 1.0])


def test_a_competition_without_a_leaderboard_is_rejected(boards: Path, tmp_path: Path, parsimony: Command) -> None:
    path = scores(tmp_path / "s.jsonl", ("up", 1, 10.0), ("other", 1, 1.0))
    status, out, err = parsimony("medals", path, "--leaderboards", boards, "--json")
    assert (status, json.loads(out)["competitions"]) == (cli.PARTIAL, ["up"])
    assert "no leaderboard of 'other'" in " ".join(err.split())


def test_bad_requests_of_medals(boards: Path, tmp_path: Path, parsimony: Command) -> None:
    path = scores(tmp_path / "s.jsonl", ("other", 1, 1.0))
    empty = tmp_path / "empty"
    empty.mkdir()
    for words, message in (
        ((path, "--leaderboards", boards), "no row that can be used"),
        ((path, "--leaderboards", tmp_path / "nowhere"), "is no folder"),
        ((path, "--leaderboards", empty), "has no leaderboard"),
        ((tmp_path / "nowhere.jsonl", "--leaderboards", boards), "does not exist"),
    ):
        status, _, err = parsimony("medals", *words)
        assert status == cli.CANNOT
        assert message in err
