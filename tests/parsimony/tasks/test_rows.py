from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.execution import GIB, MIB, Limits
from parsimony.tasks import Task, read_tasks

ROW: dict[str, Any] = {
    "repo": "pallets/flask",
    "instance_id": "pallets__flask-4992",
    "base_commit": "4c288bc97ea371817199908d0d9b12de9dae327e",
    "patch": "diff --git a/x b/x\n",
    "test_patch": "diff --git a/t b/t\n",
    "problem_statement": "It fails.",
    "hints_text": "",
    "created_at": "2023-02-22T14:00:17Z",
    "version": "2.3",
    "FAIL_TO_PASS": '["t.py::test_new"]',
    "PASS_TO_PASS": '["t.py::test_a[x y]", "t.py::test_b"]',
    "environment_setup_commit": "1",
    "test_cmd": "pytest -rA t.py",
    "log_format": "pytest",
    "image": "given/flask-4992:1",
}


def write(tmp_path: Path, *rows: Any) -> Path:
    path = tmp_path / "tasks.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def changed(**changes: Any) -> dict[str, Any]:
    """The row with these fields; `...` takes a field out."""
    return {name: value for name, value in {**ROW, **changes}.items() if value is not ...}


def read_one(tmp_path: Path, **changes: Any) -> Task:
    found = read_tasks(write(tmp_path, changed(**changes)))
    assert found.rejected == ()
    return found.tasks[0]


def rejection(tmp_path: Path, row: Any, **options: Any) -> str:
    path = write(tmp_path, row)
    found = read_tasks(path, **options)
    assert found.tasks == ()
    assert found.rejected[0].source == f"{path}:1"
    return found.rejected[0].problem.replace(str(path), "FILE")


def test_a_classic_row(tmp_path: Path) -> None:
    path = write(tmp_path, ROW)
    expected = Task(
        instance_id="pallets__flask-4992",
        repo="pallets/flask",
        base_commit="4c288bc97ea371817199908d0d9b12de9dae327e",
        fail_to_pass=("t.py::test_new",),
        pass_to_pass=("t.py::test_a[x y]", "t.py::test_b"),
        log_format="pytest",
        test_cmd="pytest -rA t.py",
        image="given/flask-4992:1",
        patch=b"diff --git a/x b/x\n",
        test_patch=b"diff --git a/t b/t\n",
        version="2.3",
        created_at="2023-02-22T14:00:17Z",
        problem_statement="It fails.",
    )
    (task,) = read_tasks(path).tasks
    assert task == expected
    assert task.row == ROW
    assert task.source == f"{path}:1"
    assert pickle.loads(pickle.dumps(task)) == task


def test_a_row_of_swe_bench_5(tmp_path: Path) -> None:
    task = read_one(
        tmp_path,
        test_cmd=...,
        log_format=...,
        eval_script="#!/bin/bash\npytest\n",
        log_parser="parse_log_pytest",
        eval_type="fail_only",
    )
    assert task.test_cmd is None
    assert task.eval_script == "#!/bin/bash\npytest\n"
    assert task.log_format == "parse_log_pytest"
    assert task.eval_type == "fail_only"


def test_the_fields_of_ours(tmp_path: Path) -> None:
    task = read_one(
        tmp_path,
        test_files=["t/a.py", "t/b.py"],
        test_files_new='["t/b.py", "t/c.py"]',
        timeout_s=30,
        memory="1.5g",
        cpus=2,
        pids=64,
        disk_bytes=10 * MIB,
        network=True,
        workdir="/src",
        build_cmd="make",
        language="Python",
    )
    assert task.test_files == ("t/a.py", "t/b.py", "t/c.py")
    assert task.limits == Limits(
        timeout_s=30, memory_bytes=3 * GIB // 2, cpus=2, pids=64, disk_bytes=10 * MIB, network=True
    )
    assert (task.workdir, task.build_cmd, task.language) == ("/src", "make", "python")


@pytest.mark.parametrize(
    "form",
    [
        ["a", "b c", "a"],
        '["a", "b c"]',
        "['a', 'b c']",
        "('a', \"b c\",)",
        " [ 'a',\n 'b c' ] ",
        r'["\u0061", "b c"]',
        r"['\x61', 'b c']",
    ],
)
def test_forms_of_a_list(tmp_path: Path, form: Any) -> None:
    assert read_one(tmp_path, FAIL_TO_PASS=form).fail_to_pass == ("a", "b c")


def test_quotes_and_escapes_in_literals(tmp_path: Path) -> None:
    names = ["t[it's]", 't["]', "t[\\d]", "t[\n]", "t[é]"]
    assert read_one(tmp_path, FAIL_TO_PASS=repr(names)).fail_to_pass == tuple(names)
    assert read_one(tmp_path, FAIL_TO_PASS=r"['t[\d]']").fail_to_pass == (r"t[\d]",)


@pytest.mark.parametrize(
    ("told", "size"),
    [
        ({"memory_bytes": 5 * MIB}, 5 * MIB),
        ({"memory": 5 * MIB}, 5 * MIB),
        ({"memory": "512m"}, 512 * MIB),
        ({"memory": "512MB"}, 512 * MIB),
        ({"memory": " 2 GiB "}, 2 * GIB),
        ({"memory": "1Ti"}, 1024 * GIB),
        ({"memory": "4096"}, 4096),
        ({"memory": "4096b"}, 4096),
        ({"memory": "1g", "memory_bytes": GIB}, GIB),
        ({"memory": None}, Limits().memory_bytes),
    ],
)
def test_sizes(tmp_path: Path, told: dict[str, Any], size: int) -> None:
    assert read_one(tmp_path, **told).limits.memory_bytes == size


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({}, "pytest"),
        ({"log_format": "unittest", "log_parser": "parse_log_django"}, "unittest"),
        ({"log_format": None, "log_parser": "parse_log_django"}, "parse_log_django"),
        ({"log_format": ...}, "pytest"),
        ({"log_format": "", "test_cmd": "cd x && python -m pytest"}, "pytest"),
    ],
)
def test_how_results_are_read(tmp_path: Path, told: dict[str, Any], expected: str) -> None:
    assert read_one(tmp_path, **told).log_format == expected


def test_patches_are_bytes(tmp_path: Path) -> None:
    data = b"-caf\xe9\r\n+\xf0\x9f\x98\x80"
    text = data.decode("utf-8", "surrogateescape")
    encoded = base64.b64encode(data).decode()
    assert read_one(tmp_path, patch=text, test_patch=None, test_patch_base64=encoded).test_patch == data
    assert read_one(tmp_path, patch=text).patch == data
    assert read_one(tmp_path, patch=text, patch_base64=encoded[:8] + "\n" + encoded[8:]).patch == data
    assert read_one(tmp_path, patch=..., test_patch=...).patch == b""


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"instance_id": ...}, "instance_id", "is missing; give every row a name of its own"),
        ({"instance_id": " "}, "instance_id", "is missing"),
        ({"instance_id": 7}, "instance_id", "is 7; it must be a text"),
        ({"instance_id": ["a"]}, "instance_id", "is ['a']"),
        ({"instance_id": "a\nb"}, "instance_id", "it must be a text of printable characters"),
        ({"instance_id": "a\udce9"}, "instance_id", "it must be a text of printable characters"),
        ({"FAIL_TO_PASS": ...}, "FAIL_TO_PASS", "is missing; list the tests that the fix makes pass"),
        ({"FAIL_TO_PASS": []}, "FAIL_TO_PASS", "is empty: every patch would pass it"),
        ({"FAIL_TO_PASS": "[]"}, "FAIL_TO_PASS", "is empty"),
        ({"FAIL_TO_PASS": "()"}, "FAIL_TO_PASS", "is empty"),
        ({"FAIL_TO_PASS": ["a", 1]}, "FAIL_TO_PASS", "it must be a list of texts"),
        ({"FAIL_TO_PASS": '["a", 1]'}, "FAIL_TO_PASS", "it must be a list of texts"),
        ({"FAIL_TO_PASS": {"a": 1}}, "FAIL_TO_PASS", "it must be a list of texts"),
        ({"FAIL_TO_PASS": '"a"'}, "FAIL_TO_PASS", "it must be a list of texts"),
        ({"FAIL_TO_PASS": "['a' 'b']"}, "FAIL_TO_PASS", "it must be a list of texts"),
        ({"FAIL_TO_PASS": "['a'\n 'b']"}, "FAIL_TO_PASS", "it must be a list of texts"),
        ({"FAIL_TO_PASS": "__import__('os')"}, "FAIL_TO_PASS", "it must be a list of texts"),
        ({"FAIL_TO_PASS": "['\\N{no such}']"}, "FAIL_TO_PASS", "it must be a list of texts"),
        ({"FAIL_TO_PASS": "[" * 90_000}, "FAIL_TO_PASS", "it must be a list of texts"),
        ({"FAIL_TO_PASS": ["a", " "]}, "FAIL_TO_PASS", "holds a blank text"),
        ({"PASS_TO_PASS": ...}, "PASS_TO_PASS", "is missing; list the tests that must still pass, [] where"),
        ({"PASS_TO_PASS": ["x", "t.py::test_new"]}, "PASS_TO_PASS", "holds 't.py::test_new', which FAIL_TO_PASS"),
        ({"test_cmd": ...}, "test_cmd", "there is neither test_cmd nor eval_script; add test_cmd, or give it as a"),
        ({"test_cmd": "x\0y"}, "test_cmd", "it must be a shell command without NUL"),
        ({"test_cmd": ["pytest"]}, "test_cmd", "it must be a text"),
        ({"log_format": ..., "test_cmd": "make test"}, "log_format", "is missing; say how the results are read"),
        ({"log_format": 1}, "log_format", "it must be a text"),
        ({"eval_type": "all"}, "eval_type", "it must be pass_and_fail or fail_only"),
        ({"image": ...}, "image", "there is neither image nor tree; add image, or give a default such as"),
        ({"image": "a b"}, "image", "it must be the name of a container image"),
        ({"image": "-v/:/x"}, "image", "it must be the name of a container image"),
        ({"image": "x.{repo}"}, "image", "all names in braces filled in"),
        ({"timeout_s": 0}, "timeout_s", "is 0; it must be a number above 0"),
        ({"timeout_s": -1.5}, "timeout_s", "it must be a number above 0"),
        ({"timeout_s": "30"}, "timeout_s", "it must be a number above 0"),
        ({"timeout_s": True}, "timeout_s", "it must be a number above 0"),
        ({"timeout_s": 1e300}, "timeout_s", "at most 2.592e+06"),
        ({"timeout_s": 10**400}, "timeout_s", "it must be a number above 0"),
        ({"cpus": 0}, "cpus", "it must be a number above 0"),
        ({"pids": 0}, "pids", "it must be an integer, 1 or more, at most 4194304"),
        ({"pids": 1.5}, "pids", "it must be an integer"),
        ({"memory": "lots"}, "memory", "it must be a size such as 3g"),
        ({"memory": 0}, "memory", "it must be a size such as 3g"),
        ({"memory": "0g"}, "memory", "it must be a size such as 3g"),
        ({"memory": "999999999999t"}, "memory", "it must be a size such as 3g"),
        ({"memory": True}, "memory", "it must be a size such as 3g"),
        ({"memory_bytes": "3g"}, "memory_bytes", "it must be an integer"),
        ({"disk": "1g", "disk_bytes": 7}, "disk", "is not the same as disk_bytes"),
        ({"network": "none"}, "network", "it must be true or false"),
        ({"workdir": "src"}, "workdir", "it must be an absolute path"),
        ({"workdir": "/a/../b"}, "workdir", "it must be an absolute path"),
        ({"test_files": ["/etc/passwd"]}, "test_files", "a path is relative to the root of the work tree"),
        ({"test_files_new": ["a/../../b"]}, "test_files_new", "a path is relative"),
        ({"test_files": "t.py"}, "test_files", "it must be a list of texts"),
        ({"patch": ["x"]}, "patch", "it must be a text or null"),
        ({"patch": "\ud83d"}, "patch", "holds the lone surrogate U+D83D at character 0"),
        ({"patch_base64": "!"}, "patch_base64", "it must be base64 text"),
        ({"patch_base64": "é"}, "patch_base64", "it must be base64 text"),
        ({"patch_base64": "AAAA"}, "patch", "holds other bytes than patch_base64"),
        ({"repo": 1}, "repo", "it must be a text"),
        ({"created_at": 0}, "created_at", "it must be a text"),
        ({"tree": "../x"}, "tree", "it must be a path below the folder of the task file"),
        ({"tree": "x"}, "tree", "there is no 'x'"),
    ],
)
def test_rejected_rows_say_where_what_and_how_to_mend(
    tmp_path: Path, changes: dict[str, Any], field: str, problem: str
) -> None:
    text = rejection(tmp_path, changed(**changes))
    assert text.startswith(f"FILE:1: {field}: ")
    assert problem in text
    assert "; " in text


def test_an_unknown_log_format_is_rejected_where_the_formats_are_known(tmp_path: Path) -> None:
    formats = {"pytest": 1, "tape": 2}
    assert rejection(tmp_path, changed(log_format="tap"), formats=formats) == (
        "FILE:1: log_format: is 'tap'; it must be one of pytest, tape"
    )
    row = changed(log_format=..., log_parser="parse_log_x")
    assert rejection(tmp_path, row, formats=formats).startswith("FILE:1: log_parser: is 'parse_log_x'")
    assert read_tasks(write(tmp_path, ROW), formats=formats).tasks[0].log_format == "pytest"


def test_the_second_of_two_rows_with_one_id_is_rejected(tmp_path: Path) -> None:
    path = write(tmp_path, ROW, changed(repo="other"), changed(instance_id="b"))
    found = read_tasks(path)
    assert [task.source for task in found.tasks] == [f"{path}:1", f"{path}:3"]
    assert found.rejected[0].instance_id == "pallets__flask-4992"
    assert found.rejected[0].problem == (
        f"{path}:2: instance_id: 'pallets__flask-4992' is already at {path}:1; remove or rename one of the two"
    )


def test_a_rejected_row_does_not_take_the_id(tmp_path: Path) -> None:
    found = read_tasks(write(tmp_path, changed(FAIL_TO_PASS=[]), ROW))
    assert len(found.tasks) == len(found.rejected) == 1


# Defaults


def test_defaults_are_laid_under_a_row(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        changed(image=..., test_cmd="", timeout_s=5),
        changed(instance_id="Django__django-1", image="own:1"),
    )
    defaults = {
        "image": "repo/x.{instance_id_docker}:{version}",
        "test_cmd": "pytest ${version} {unknown} {repo}",
        "timeout_s": 60,
    }
    first, second = read_tasks(path, defaults=defaults).tasks
    assert first.image == "repo/x.pallets_1776_flask-4992:2.3"
    assert first.test_cmd == "pytest ${version} {unknown} pallets/flask"
    assert first.limits.timeout_s == 5
    assert first.row == changed(image=..., test_cmd="", timeout_s=5)
    assert second.image == "own:1"
    assert second.test_cmd == ROW["test_cmd"]
    assert second.limits.timeout_s == 60


@pytest.mark.parametrize(
    ("changes", "defaults", "expected"),
    [
        ({"memory_bytes": 7}, {"memory": "1g"}, {"limits": Limits(memory_bytes=7)}),
        ({"disk": "1m"}, {"disk_bytes": 9}, {"limits": Limits(disk_bytes=MIB)}),
        ({"log_format": ..., "log_parser": "p"}, {"log_format": "tape"}, {"log_format": "p"}),
        ({"test_cmd": ..., "eval_script": "e"}, {"test_cmd": "pytest"}, {"test_cmd": None, "eval_script": "e"}),
        ({"log_format": ...}, {"log_format": "tape"}, {"log_format": "tape"}),
    ],
)
def test_a_default_gives_way_to_a_field_that_says_the_same_thing(
    tmp_path: Path, changes: dict[str, Any], defaults: dict[str, Any], expected: dict[str, Any]
) -> None:
    (task,) = read_tasks(write(tmp_path, changed(**changes)), defaults=defaults).tasks
    assert {name: getattr(task, name) for name in expected} == expected


def test_a_template_that_stays_open_is_rejected(tmp_path: Path) -> None:
    text = rejection(tmp_path, changed(image=...), defaults={"image": "x.{instance}:1"})
    assert text.startswith("FILE:1: image: is 'x.{instance}:1'")


# Trees


def test_a_tree_beside_the_task_file(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.py").write_text("a = 1\n")
    path = write(tmp_path, changed(image=..., tree="tree"), changed(instance_id="b", tree="tree"))
    first, second = read_tasks(path, defaults={"image": "base:1"}).tasks
    assert first.tree is not None
    assert first.tree is second.tree
    assert first.image == "base:1"
    alone = read_tasks(path).tasks[0]
    assert alone.image is None
    (tmp_path / "tree" / "a.py").write_text("a = 2\n")
    assert read_tasks(path).tasks[0].digest != alone.digest


# Anything

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = sorted(
    {
        *ROW,
        *("eval_script", "log_parser", "eval_type", "test_files", "test_files_new", "timeout_s", "memory", "cpus"),
        *("memory_bytes", "disk", "disk_bytes", "pids", "network", "workdir", "build_cmd", "language", "tree"),
        *("patch_base64", "test_patch_base64"),
    }
)


@given(rows=st.lists(st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=3) | json_values, max_size=4))
def test_any_row_is_a_task_or_rejected(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = tmp_path_factory.mktemp("t") / "tasks.json"
    whole = [{**ROW, "instance_id": str(i), **row} if isinstance(row, dict) else row for i, row in enumerate(rows)]
    path.write_text(json.dumps(whole))
    found = read_tasks(path, defaults={"image": "x:{instance_id}"}, formats=["pytest"])
    assert len(found.tasks) + len(found.rejected) == len(rows)
    for task in found.tasks:
        assert task.fail_to_pass
        assert not set(task.fail_to_pass) & set(task.pass_to_pass)
        assert task.limits.timeout_s > 0
        assert task.digest.startswith("sha256:")
    for rejected in found.rejected:
        assert rejected.problem.startswith(rejected.source)


@given(text=st.text(alphabet="[]()'\"\\, rbuN{}ax\n", max_size=40))
def test_any_text_is_a_list_or_rejected(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("t") / "tasks.json"
    path.write_text(json.dumps([{**ROW, "FAIL_TO_PASS": text}]))
    found = read_tasks(path)
    assert len(found.tasks) + len(found.rejected) == 1


@given(names=st.lists(st.text(min_size=1).filter(str.strip), min_size=1, unique=True))
def test_python_literals_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    path = tmp_path_factory.mktemp("t") / "tasks.json"
    path.write_text(json.dumps([{**ROW, "FAIL_TO_PASS": repr(names), "PASS_TO_PASS": []}]))
    assert read_tasks(path).tasks[0].fail_to_pass == tuple(names)
