from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.tasks import Candidate, CandidateFile, Trace, Usage, read_predictions

ROW: dict[str, Any] = {"instance_id": "a", "model_name_or_path": "m", "model_patch": "diff\n"}


def write(tmp_path: Path, *rows: Any, name: str = "p.jsonl") -> Path:
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def identities(found: CandidateFile) -> list[tuple[str, str, int]]:
    return [(candidate.instance_id, candidate.arm, candidate.seed) for candidate in found.candidates]


def rejection(tmp_path: Path, row: Any, **options: Any) -> str:
    path = write(tmp_path, row)
    found = read_predictions(path, **options)
    assert found.candidates == ()
    return found.rejected[0].problem.replace(str(path), "FILE")


def test_a_prediction_of_swe_bench(tmp_path: Path) -> None:
    path = write(tmp_path, {**ROW, "cost": 1})
    (candidate,) = read_predictions(path).candidates
    assert candidate == Candidate(instance_id="a", arm="m", seed=0, patch=b"diff\n", model="m")
    assert candidate.source == f"{path}:1"
    assert candidate.patch_ref.startswith("sha256:")


def test_a_prediction_with_everything(tmp_path: Path) -> None:
    usage = {"model": "m-1", "input_tokens": 10, "output_tokens": 2, "calls": 3, "cpu_seconds": 1, "dollars": 0.5}
    trace = {"files": ["a.py", "b.py", "a.py"], "symbols": '["f"]', "obligations": None}
    row = {**ROW, "arm": "candidate", "seed": 7, "usage": usage, "trace": trace}
    (candidate,) = read_predictions([write(tmp_path, row)]).candidates
    assert candidate == Candidate(
        instance_id="a",
        arm="candidate",
        seed=7,
        patch=b"diff\n",
        model="m",
        usage=Usage(model="m-1", input_tokens=10, output_tokens=2, calls=3, cpu_seconds=1.0, dollars=0.5),
        trace=Trace(files=("a.py", "b.py", "a.py"), symbols=("f",)),
    )


@pytest.mark.parametrize(
    ("changes", "patch"),
    [
        ({"model_patch": ""}, b""),
        ({"model_patch": None}, b""),
        ({"model_patch": " \n\t"}, b" \n\t"),
        ({"model_patch": "caf\udce9\r\n"}, b"caf\xe9\r\n"),
        ({"model_patch": "\N{GRINNING FACE}"}, "\N{GRINNING FACE}".encode()),
        ({"model_patch": None, "model_patch_base64": "/wA="}, b"\xff\x00"),
        ({"model_patch": "\udcff\0", "model_patch_base64": "/wA="}, b"\xff\x00"),
        ({"model_patch": None, "model_patch_base64": ""}, b""),
    ],
)
def test_a_patch_is_its_exact_bytes(tmp_path: Path, changes: dict[str, Any], patch: bytes) -> None:
    assert read_predictions(write(tmp_path, {**ROW, **changes})).candidates[0].patch == patch


def test_a_patch_may_be_missing(tmp_path: Path) -> None:
    row = {"instance_id": "a", "model_name_or_path": "m"}
    assert read_predictions(write(tmp_path, row)).candidates[0].patch == b""


def test_an_object_keyed_by_id(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(
        json.dumps({"a": {"model_name_or_path": "m", "model_patch": "x"}, "b": ROW, "c": {**ROW, "instance_id": "c"}})
    )
    found = read_predictions(path)
    assert identities(found) == [("a", "m", 0), ("c", "m", 0)]
    assert found.rejected[0].problem == f"{path}:2: instance_id: is 'a' under the key 'b'; make them equal"


@pytest.mark.parametrize(
    ("told", "seeds"),
    [
        ([None, None, None], [0, 1, 2]),
        ([5, None, None], [5, 1, 2]),
        ([1, None, None], [1, 2, 3]),
        ([0, 1, None], [0, 1, 2]),
        ([3, 2, None, None], [3, 2, 4, 5]),
        ([1, 1, None], [1, 2]),
        ([None, 0], [0]),
    ],
)
def test_seeds(tmp_path: Path, told: list[int | None], seeds: list[int]) -> None:
    found = read_predictions(write(tmp_path, *({**ROW, "seed": seed} for seed in told)))
    assert [candidate.seed for candidate in found.candidates] == seeds
    assert len(found.rejected) == len(told) - len(seeds)


def test_seeds_count_by_task_and_arm_across_files(tmp_path: Path) -> None:
    first = write(tmp_path, ROW, {**ROW, "instance_id": "b"}, {**ROW, "arm": "x"}, name="1.jsonl")
    second = write(tmp_path, ROW, {**ROW, "arm": "x"}, name="2.jsonl")
    assert identities(read_predictions([first, second])) == [
        ("a", "m", 0),
        ("b", "m", 0),
        ("a", "x", 0),
        ("a", "m", 1),
        ("a", "x", 1),
    ]


def test_an_arm_given_from_outside_is_the_arm_of_every_row(tmp_path: Path) -> None:
    path = write(tmp_path, ROW, {**ROW, "arm": "x"}, {"instance_id": "a"})
    assert identities(read_predictions(path, arm="main")) == [("a", "main", 0), ("a", "main", 1), ("a", "main", 2)]


def test_a_rejected_row_takes_no_seed(tmp_path: Path) -> None:
    found = read_predictions(
        write(tmp_path, {**ROW, "usage": 3}, ROW, {**ROW, "seed": 4, "trace": 1}, {**ROW, "seed": 4})
    )
    assert [candidate.seed for candidate in found.candidates] == [0, 4]


def test_the_second_of_two_equal_identities_is_rejected(tmp_path: Path) -> None:
    path = write(tmp_path, {**ROW, "seed": 1}, {**ROW, "seed": 1, "model_patch": "other"})
    (rejected,) = read_predictions(path).rejected
    assert rejected.source == f"{path}:2"
    assert rejected.instance_id == "a"
    assert rejected.problem == (
        f"{path}:2: seed: is 1, which 'm' already has for 'a' at {path}:1; "
        "give every candidate of a task and arm a seed of its own"
    )


@pytest.mark.parametrize(
    ("row", "field", "problem"),
    [
        ({**ROW, "instance_id": None}, "instance_id", "is missing; name the task that the patch is for"),
        ({**ROW, "instance_id": 3}, "instance_id", "is 3; it must be a text"),
        ({"instance_id": "a", "model_patch": ""}, "arm", "there is neither arm nor model_name_or_path; say whose"),
        ({**ROW, "model_name_or_path": 1}, "model_name_or_path", "it must be a text"),
        ({**ROW, "arm": ["x"]}, "arm", "it must be a text"),
        ({**ROW, "arm": "a\tb"}, "arm", "it must be a text of printable characters"),
        ({**ROW, "seed": -1}, "seed", "it must be an integer, 0 or more"),
        ({**ROW, "seed": "1"}, "seed", "it must be an integer"),
        ({**ROW, "seed": True}, "seed", "it must be an integer"),
        ({**ROW, "seed": 1.0}, "seed", "it must be an integer"),
        ({**ROW, "seed": 2**63}, "seed", "it must be an integer"),
        ({**ROW, "model_patch": {}}, "model_patch", "it must be a text or null"),
        ({**ROW, "model_patch": "\ud800"}, "model_patch", "holds the lone surrogate U+D800"),
        ({**ROW, "model_patch_base64": "AAAA"}, "model_patch", "holds other bytes than model_patch_base64"),
        ({**ROW, "model_patch": "", "model_patch_base64": "AAAA"}, "model_patch", "holds other bytes"),
        ({**ROW, "model_patch_base64": 1}, "model_patch_base64", "it must be base64 text"),
        ({**ROW, "usage": []}, "usage", "it must be an object"),
        ({**ROW, "usage": {"input_token": 3}}, "usage.input_token", "is no field of usage; use model, input_tokens"),
        ({**ROW, "usage": {"calls": -1}}, "usage.calls", "it must be an integer, 0 or more"),
        ({**ROW, "usage": {"dollars": -0.1}}, "usage.dollars", "it must be a number 0 or more"),
        ({**ROW, "usage": {"wall_seconds": "3"}}, "usage.wall_seconds", "it must be a number"),
        ({**ROW, "trace": {"files": ["a", 1]}}, "trace.files", "it must be a list of texts"),
        ({**ROW, "trace": {"steps": []}}, "trace.steps", "is no field of trace; use files, symbols, obligations"),
    ],
)
def test_rejected_predictions(tmp_path: Path, row: dict[str, Any], field: str, problem: str) -> None:
    text = rejection(tmp_path, row)
    assert text.startswith(f"FILE:1: {field}: ")
    assert problem in text


def test_a_prediction_for_an_unknown_task_is_rejected_and_the_rest_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, {**ROW, "instance_id": "zzz"}, ROW)
    found = read_predictions(path, known=["a"])
    assert identities(found) == [("a", "m", 0)]
    assert found.rejected[0].problem == (
        f"{path}:1: instance_id: 'zzz' is no task of this run; remove it or add the task"
    )


def test_a_column_of_structs_has_every_key_in_every_row(tmp_path: Path) -> None:
    row = {**ROW, "usage": {"model": None, "calls": 2, "not_ours": None}}
    assert read_predictions(write(tmp_path, row)).candidates[0].usage == Usage(calls=2)


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "p.parquet"
    rows = [{**ROW, "seed": 3, "model_patch": b"\xff"}, {**ROW, "seed": None, "model_patch": None}]
    pq.write_table(pa.Table.from_pylist(rows), path)
    assert [(c.seed, c.patch) for c in read_predictions(path).candidates] == [(3, b"\xff"), (1, b"")]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = [*ROW, "arm", "seed", "usage", "trace", "model_patch_base64"]
parts = st.dictionaries(
    st.sampled_from(["model", "calls", "dollars", "files", "symbols", "x"]), json_values, max_size=2
)


@given(
    rows=st.lists(st.dictionaries(st.sampled_from(FIELDS), json_values | parts, max_size=3) | json_values, max_size=6)
)
def test_any_row_is_a_candidate_or_rejected(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = tmp_path_factory.mktemp("t") / "p.json"
    path.write_text(json.dumps([{**ROW, **row} if isinstance(row, dict) else row for row in rows]))
    found = read_predictions(path)
    assert len(found.candidates) + len(found.rejected) == len(rows)
    assert len(set(identities(found))) == len(found.candidates)
    for rejected in found.rejected:
        assert rejected.problem.startswith(rejected.source)


@given(patch=st.binary())
def test_any_bytes_come_through_both_ways(tmp_path_factory: pytest.TempPathFactory, patch: bytes) -> None:
    path = tmp_path_factory.mktemp("t") / "p.jsonl"
    text = patch.decode("utf-8", "surrogateescape")
    encoded = base64.b64encode(patch).decode()
    rows = [{**ROW, "model_patch": text}, {**ROW, "model_patch": text, "model_patch_base64": encoded}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert [candidate.patch for candidate in read_predictions(path).candidates] == [patch, patch]
