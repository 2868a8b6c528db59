from __future__ import annotations

import gzip
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.tasks import read_rows

ROWS: list[dict[str, Any]] = [{"instance_id": "a", "n": 1}, {"instance_id": "b", "n": 2}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
KEYED = {row["instance_id"]: {"n": row["n"]} for row in ROWS}


def rows_of(path: Path) -> list[Any]:
    """Rows with their numbers; an error as its text without the path."""
    return [
        (number, str(row).replace(str(path), "FILE") if isinstance(row, InputError) else row)
        for number, row in read_rows(path)
    ]


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        list(read_rows(path))
    return str(caught.value).replace(str(path), "FILE")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.jsonl", LINES),
        ("t.ndjson", LINES),
        ("t.json", LINES),
        ("t.txt", LINES),
        ("t", LINES),
        ("t.jsonl", "\ufeff" + LINES),
        ("t.jsonl", LINES.replace("\n", "\r\n").rstrip()),
        ("t.json", json.dumps(ROWS)),
        ("t.json", "\ufeff\n" + json.dumps(ROWS, indent=2)),
        ("t", json.dumps(ROWS)),
        ("t.json", json.dumps(KEYED)),
        ("t.json", json.dumps(KEYED, indent=2)),
        ("t.json", json.dumps({row["instance_id"]: row for row in ROWS})),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_of_a_table_gives_the_same_rows(tmp_path: Path, name: str, text: str, packed: bool) -> None:
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert rows_of(path) == [(1, ROWS[0]), (2, ROWS[1])]


@pytest.mark.parametrize("text", [json.dumps(ROWS[0]), json.dumps(ROWS[0], indent=2), "\n" + json.dumps(ROWS[0])])
def test_one_object_is_one_row(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    assert rows_of(path) == [(1, ROWS[0])]


@pytest.mark.parametrize("text", ["[]", "{}", "[ \n ]"])
def test_an_empty_table_has_no_rows(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    assert rows_of(path) == []


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b'{"instance_id": "a", ', "FILE:2: is not JSON: "),
        (b'{"instance_id": "a', "FILE:2: is not JSON: Unterminated string"),
        (b'{"a": 1, "a": 2}', "FILE:2: has the key 'a' twice; keep one of the two"),
        (b'{"a": NaN}', "FILE:2: holds NaN"),
        (b'{"a": "\xe9"}', "FILE:2: is not UTF-8: byte 0xe9 at offset 7"),
        (b"\x00\xff\xfe", "FILE:2: is not UTF-8"),
        (b"[1, 2]", "FILE:2: is no object: '[1, 2]'"),
        (b"7", "FILE:2: is no object: '7'"),
        (b"[" * 100_000, "FILE:2: is nested too deeply"),
    ],
)
def test_one_damaged_line_does_not_stop_the_rest(tmp_path: Path, name: str, line: bytes, problem: str) -> None:
    path = tmp_path / name
    path.write_bytes(b'{"n": 1}\n' + line + b'\n\n{"n": 4}\n')
    first, second, last = rows_of(path)
    assert (first, last) == ((1, {"n": 1}), (4, {"n": 4}))
    assert second[0] == 2
    assert second[1].startswith(problem)


def test_damage_in_the_first_line_does_not_hide_the_form(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"n": 1\n{"n": 2}\n')
    assert [number for number, _ in rows_of(path)] == [1, 2]


def test_a_bad_element_of_an_array_does_not_stop_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('[{"n": 1},\n {"a": 1, "a": 1},\n "x",\n {"n": 4}]')
    assert rows_of(path) == [
        (1, {"n": 1}),
        (2, "FILE:2: has the key 'a' twice; keep one of the two"),
        (3, "FILE:3: is no object: 'x'; a row is an object of fields and values"),
        (4, {"n": 4}),
    ]


def test_bad_members_of_a_keyed_object(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"a": {"n": 1}, "b": null, "c": {"instance_id": "d"}, "a": {"n": 2}, "e": {"n": 5}}')
    found = rows_of(path)
    assert found[0] == (1, {"instance_id": "a", "n": 1})
    assert found[1][1].startswith("FILE:2: is no object")
    assert found[2][1] == "FILE:3: instance_id: is 'd' under the key 'c'; make them equal"
    assert found[3][1].startswith("FILE:4: the key 'a' is there twice")
    assert found[4] == (5, {"instance_id": "e", "n": 5})


def test_one_object_with_a_key_twice_is_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"instance_id": "a",\n "instance_id": "b"}')
    assert rows_of(path) == [(1, "FILE:1: has the key 'instance_id' twice; keep one of the two")]


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("t.jsonl", b"", "FILE: is empty"),
        ("t.jsonl", b" \n\n", "FILE: is empty"),
        ("t.jsonl.gz", gzip.compress(b"", mtime=0), "FILE: is empty"),
        ("t.json", b'[{"n": 1},\n {"n": 2}', "FILE:2: is not JSON: Expecting ',' delimiter at column 10"),
        ("t.json", b'[{"n": 1}, {"n": "\xff"}]', "FILE: is not UTF-8"),
        ("t.json", b'{\n "a": {\n', "FILE:3: is not JSON"),
        ("t.png", b"\x89PNG\r\n\x1a\n", "FILE: is no table; give JSON, JSON lines or Parquet"),
        ("t.csv", b"instance_id,patch\n", "FILE: is no table"),
        ("t.jsonl.gz", gzip.compress(LINES.encode(), mtime=0)[:-12], "FILE: is damaged gzip"),
        ("t.gz", gzip.compress(LINES.encode(), mtime=0)[:10] + b"\xff" * 40, "FILE: is damaged gzip"),
        ("t.gz", b"\x1f\x8b\x07garbage", "FILE: is damaged gzip"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert refusal(path).startswith(problem)


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no.jsonl") == "FILE: does not exist; check the path"
    assert refusal(tmp_path) == "FILE: is a directory; name a file in it"


def test_a_file_that_fails_while_it_is_read() -> None:
    assert refusal(Path("/proc/self/mem")).startswith("FILE: cannot be read: ")


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(LINES,))
    writer.start()
    assert rows_of(path) == [(1, ROWS[0]), (2, ROWS[1])]
    writer.join()


@given(data=st.binary(max_size=200) | st.text(alphabet='[]{}",:\n 1aNul', max_size=60).map(str.encode))
def test_any_bytes_are_rows_or_an_input_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("t") / "t"
    path.write_bytes(data)
    try:
        rows = list(read_rows(path))
    except InputError as error:
        assert str(path) in str(error)  # noqa: PT017
        return
    for number, row in rows:
        assert number >= 1
        assert isinstance(row, (dict, InputError))


# Parquet


def test_parquet_rows(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    table = pa.table(
        {
            "instance_id": ["a", "b", "c"],
            "FAIL_TO_PASS": [["t1", "t2"], None, []],
            "created_at": pa.array([0, None, 86_400_000_000], pa.timestamp("us")),
            "model_patch": [b"\xff", None, b""],
            "usage": [{"model": "m", "calls": 3}, None, {"model": None, "calls": None}],
        }
    )
    pq.write_table(table, path)
    assert rows_of(path) == [
        (
            1,
            {
                "instance_id": "a",
                "FAIL_TO_PASS": ["t1", "t2"],
                "created_at": "1970-01-01T00:00:00",
                "model_patch": b"\xff",
                "usage": {"model": "m", "calls": 3},
            },
        ),
        (2, {"instance_id": "b", "FAIL_TO_PASS": None, "created_at": None, "model_patch": None, "usage": None}),
        (
            3,
            {
                "instance_id": "c",
                "FAIL_TO_PASS": [],
                "created_at": "1970-01-02T00:00:00",
                "model_patch": b"",
                "usage": {"model": None, "calls": None},
            },
        ),
    ]


def test_a_bad_parquet_value_does_not_stop_the_rest(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "renamed"
    texts = pa.array([b"a", b"\xff", b"c"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"instance_id": texts}), path)
    first, second, third = rows_of(path)
    assert (first, third) == ((1, {"instance_id": "a"}), (3, {"instance_id": "c"}))
    assert second[1].startswith("FILE:2: holds a value that cannot be read: 'utf-8' codec can't decode byte 0xff")


@pytest.mark.parametrize("data", [b"PAR1", b"PAR1" + b"x" * 100, b"no parquet at all"])
def test_damaged_parquet(tmp_path: Path, data: bytes) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    path.write_bytes(data)
    assert refusal(path).startswith("FILE: is damaged Parquet")


def test_parquet_with_two_columns_of_one_name(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table([pa.array(["x"]), pa.array(["y"])], names=["a", "a"]), path)
    assert refusal(path).startswith("FILE: has two columns of one name")
