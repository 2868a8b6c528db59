"""The patches of the real tasks and candidates (PARSIMONY_TASKS names their folder)."""

import base64
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from parsimony.patches import is_blank, prepare

pytestmark = pytest.mark.shared

# What becomes of each byte-level case: its forms, and the first repair of the second.
EDGES = {
    "edge_crlf": (["raw", "lf"], "CR LF line ends made LF"),
    "edge_no_final_newline": (["raw", "mended", "crlf"], "final line feed added"),
    "edge_binary_no_data": (["raw", "mended", "crlf"], "binary file without data left out: docs/logo.png"),
    "edge_binary_git": (["raw", "crlf"], "LF line ends made CR LF"),
    "edge_latin1": (["raw", "crlf"], "LF line ends made CR LF"),
    "edge_rename": (["raw", "crlf"], "LF line ends made CR LF"),
    "edge_mode": (["raw", "crlf"], "LF line ends made CR LF"),
    "edge_empty_file": (["raw", "crlf"], "LF line ends made CR LF"),
}


@pytest.fixture
def folder() -> Path:
    named = os.environ.get("PARSIMONY_TASKS")
    if not named:
        pytest.skip("PARSIMONY_TASKS does not name the folder of the real tasks")
    return Path(named)


def rows(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.glob("predictions/*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            exact = row.get("model_patch_base64")
            yield (
                row["model_name_or_path"],
                (base64.b64decode(exact) if exact else row["model_patch"].encode("utf-8", "surrogateescape")),
            )


def test_patches_of_tasks_have_nothing_wrong(folder: Path) -> None:
    for line in (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines():
        task = json.loads(line)
        for field in ("patch", "test_patch"):
            prepared = prepare(task[field].encode())
            assert prepared.patch.problems == ()
            assert prepared.refused == ()
        assert set(task["test_files"]) == {path.decode() for path in prepared.touched}


def test_every_candidate_has_a_form_to_apply(folder: Path) -> None:
    for name, data in rows(folder):
        prepared = prepare(data)
        assert prepared.refused == (), name
        assert is_blank(data) or prepared.applicable, name


def test_the_byte_level_cases(folder: Path) -> None:
    found = {name: prepare(data) for name, data in rows(folder) if name.startswith("edge_")}
    assert found.keys() == EDGES.keys()
    for name, (forms, repair) in EDGES.items():
        assert [variant.name for variant in found[name].variants] == forms
        assert found[name].variants[1].repairs[0].startswith(repair)
