"""Times from files, runs of an arm, families."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsimony.errors import InputError
from parsimony.horizon import Minutes, observe, read_minutes
from parsimony.runs import Run, Settings, Trial
from parsimony.scorer import Outcome
from parsimony.tasks import Task


def made(verdicts: dict[str, list[list[bool | None]]], repos: int = 1) -> Run:
    """A run of one arm: by task, the verdicts of the repeats of each seed."""
    outcomes = {None: Outcome.MISSING, True: Outcome.RESOLVED, False: Outcome.NOT_RESOLVED}
    trials = [
        Trial(name, "arm", seed, repeat, outcomes[verdict])
        for name, seeds in verdicts.items()
        for seed, repeats in enumerate(seeds, 1)
        for repeat, verdict in enumerate(repeats)
    ]
    tasks = {
        name: Task(name, f"owner/r{place % repos}", "c", ("a",), (), "pytest") for place, name in enumerate(verdicts)
    }
    return Run("run", "made", "runs/made", tasks, {"arm": Settings()}, tuple(trials))


def test_a_run_of_a_task_is_a_candidate_and_its_repeats_are_one_score() -> None:
    seen = observe(made({"a": [[True, False], [True]], "b": [[False]]}), "arm", {"a": Minutes(2), "b": Minutes(4)})
    assert [(task.task_id, task.minutes, task.scores) for task in seen.tasks] == [
        ("a", 2, (0.5, 1.0)),
        ("b", 4, (0.0,)),
    ]
    assert (seen.missing_runs, seen.untimed) == (0, ())


def test_what_is_missing_is_no_failure_and_what_has_no_time_takes_no_part() -> None:
    run = made({"a": [[None], [True], [None, False]], "b": [[None]], "c": [[True]]})
    seen = observe(run, "arm", {"a": Minutes(2), "b": Minutes(4)})
    assert [(task.task_id, task.scores) for task in seen.tasks] == [("a", (1.0, 0.0))]
    assert seen.untimed == ("c",)
    assert seen.missing_runs == 2
    assert [(task.task_id, task.scores) for task in seen.filled(1.0)] == [("a", (1.0, 0.0, 1.0)), ("b", (1.0,))]
    assert [(task.task_id, task.scores) for task in seen.filled(0.0)] == [("a", (1.0, 0.0, 0.0)), ("b", (0.0,))]


def test_families_are_told_or_repositories_or_tasks() -> None:
    names = [f"t{n}" for n in range(12)]
    verdicts: dict[str, list[list[bool | None]]] = {name: [[True]] for name in names}
    times = dict.fromkeys(names, Minutes(1))
    for repos, families in ((5, 12), (6, 6)):
        seen = observe(made(verdicts, repos), "arm", times)
        assert len({task.family for task in seen.tasks}) == families
    told = observe(made(verdicts), "arm", times | {"t0": Minutes(1, "x"), "t1": Minutes(1, "x")})
    assert len({task.family for task in told.tasks}) == 11


def written(folder: Path, text: str, name: str = "minutes.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_times_are_read_from_both_kinds_of_tables(tmp_path: Path) -> None:
    table = written(tmp_path, 'task_id,minutes,family\na,1.5,x\n"b,b",2e2,\n')
    lines = written(
        tmp_path, '{"task_id": "a", "minutes": 1.5, "family": "x"}\n\n{"task_id": "b,b", "minutes": 200}\n', "m.jsonl"
    )
    for path in (table, lines):
        assert read_minutes(path) == ({"a": Minutes(1.5, "x"), "b,b": Minutes(200)}, [])


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ("b,0", "minutes"),
        ("b,-1", "minutes"),
        ("b,1e-300", "minutes"),
        ("b,nan", "minutes"),
        ("b,inf", "minutes"),
        ("b,1e400", "minutes"),
        ("b,1e301", "minutes"),
        ("b,1e12", "minutes"),
        ("b,1_0", "minutes"),
        ("b,", "minutes"),
        (",1", "task_id"),
        ("  ,1", "task_id"),
        ("a,1", "task_id"),
        ("b", ""),
        ("b,1,2", ""),
    ],
)
def test_a_bad_row_is_rejected_in_its_place_and_the_rest_is_taken(tmp_path: Path, row: str, field: str) -> None:
    found, rejected = read_minutes(written(tmp_path, f"task_id,minutes\na,1\n{row}\nc,2\n"))
    assert sorted(found) == ["a", "c"]
    (error,) = rejected
    assert (error.place.row, error.place.field or "") == (3, field)
    assert error.place.file is not None


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"task_id": "b", "minutes": true}', "minutes"),
        ('{"task_id": "b", "minutes": NaN}', "NaN"),
        ('{"task_id": "b", "minutes": 1%s}' % ("0" * 400), "minutes"),
        ('{"task_id": 3, "minutes": 1}', "task_id"),
        ('{"task_id": "b", "minutes": 1, "minutes": 2}', "twice"),
        ('{"task_id": "b", "minutes": 1, "hours": 2}', "hours"),
        ('{"task_id": "b"}', "minutes"),
        ("[1]", "object"),
        ("{", "JSON"),
    ],
)
def test_bad_lines_of_json(tmp_path: Path, line: str, says: str) -> None:
    found, (error,) = read_minutes(written(tmp_path, f'{{"task_id": "a", "minutes": 1}}\n{line}\n', "m.jsonl"))
    assert list(found) == ["a"]
    assert error.place.row == 2
    assert says in str(error)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no rows"),
        ("task_id,minutes\n", "no rows"),
        ("task_id\na\n", "lacks 'minutes'"),
        ("task_id,minutes,hours\na,1,2\n", "unknown 'hours'"),
        ("task_id,minutes,minutes\na,1,2\n", "twice 'minutes'"),
        ('task_id,minutes\n"a,1\n', "no CSV"),
        ("task_id,minutes\na,0\n", "is '0'"),
    ],
)
def test_files_of_no_use(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read_minutes(written(tmp_path, text))


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        read_minutes(tmp_path / "no.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_minutes(tmp_path)
    path = tmp_path / "bytes.csv"
    path.write_bytes(b"task_id,minutes\n\xff,1\n")
    with pytest.raises(InputError, match="UTF-8"):
        read_minutes(path)
