"""Bundles: made, found wrong where they are, and measured again."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parsimony.artifacts import Cache, dataset
from parsimony.artifacts.bundle import Bundle, export, find, read
from parsimony.contribute import Verification, verify
from parsimony.errors import InputError

AGENT = "20250101_agent"
Edit = Callable[[dict[str, Any]], Any]


@pytest.fixture
def bundle(world: Any, tmp_path: Path) -> Bundle:
    world.legacy({"resolved": ["t1", "t2"], "failed": ["t3"]})
    world.analyze(include_failed=True)
    return export(world.output, AGENT, tmp_path / "contributions" / AGENT)


def again(world: Any, folder: Path, **options: Any) -> Verification:
    tasks, _ = dataset.read(world.dataset)
    return verify(read(folder), tasks, options.pop("cache", world.fetcher.cache), places=world.places, **options)


def edit(folder: Path, change: Edit, *, sealed: bool = True) -> None:
    """Change the first record, and, if sealed, say its digest as an honest export would."""
    path = folder / "records.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    change(rows[0])
    path.write_text("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows))
    if sealed:
        manifest = json.loads((folder / "contribution.json").read_text())
        manifest["records_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
        (folder / "contribution.json").write_text(json.dumps(manifest))


def test_what_a_bundle_holds(world: Any, bundle: Bundle) -> None:
    assert (bundle.folder / "records.jsonl").read_bytes() == world.output.read_bytes()
    told = json.loads((bundle.folder / "contribution.json").read_text())
    assert told["format"] == "parsimony-contribution-v1"
    assert (told["agent"], told["records"], told["measured"], told["resolve_rate"]) == (AGENT, 4, 3, 0.5)
    assert told["analysis_status_counts"] == {"not_resolved": 1, "ok": 3}
    assert told["records_sha256"] == hashlib.sha256(world.output.read_bytes()).hexdigest()
    assert {path.name for path in bundle.folder.iterdir()} == {"contribution.json", "records.jsonl"}
    assert [path.name for path in bundle.folder.parent.iterdir()] == [AGENT]


def test_one_agent_of_several(world: Any, bundle: Bundle, tmp_path: Path) -> None:
    lines = world.output.read_text()
    world.output.write_text(lines.replace(f'"agent": "{AGENT}"', '"agent": "other"') + "\n" + lines)
    made = export(world.output, AGENT, tmp_path / "one")
    assert len(made.records) == 4
    assert read(bundle.folder).records[0].task_id == "t1"


def test_measured_again_every_number_is_the_same(world: Any, bundle: Bundle) -> None:
    found = again(world, bundle.folder)
    assert (found.same, found.different, found.unavailable) == (["t1", "t2", "t3"], {}, {})
    assert len(again(world, bundle.folder, sample=2).same) == 2
    assert again(world, bundle.folder, sample=2, seed=7).same == again(world, bundle.folder, sample=2, seed=7).same


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda row: row["metrics"].update(units_added=99, net_units=99, churn=99, units_deleted=0), "metrics.churn: "),
        (lambda row: row["metrics"].update(tokens_added=99), "metrics.tokens_added: "),
        (lambda row: row["metrics"].update(touched_files=[]), "metrics.touched_files: "),
        (lambda row: row["human_metrics"].update(complexity_delta=9), "human_metrics.complexity_delta: "),
        (lambda row: row.update(model_human_ratio=0.1), "model_human_ratio: "),
        (lambda row: row["provenance"].update(patch_sha256="0" * 64), "patch_sha256: "),
        (lambda row: row["provenance"].update(reference_patch_sha256="0" * 64), "reference_patch_sha256: "),
        (lambda row: row["provenance"].update(base_commit="d" * 40), "base_commit: "),
    ],
)
def test_numbers_that_were_changed_are_found(world: Any, bundle: Bundle, change: Edit, told: str) -> None:
    edit(bundle.folder, change)
    found = again(world, bundle.folder)
    assert list(found.different) == ["t1"]
    assert any(line.startswith(told) for line in found.different["t1"])
    assert found.same == ["t2", "t3"]


def test_diagnostics_of_another_python_are_not_compared(world: Any, bundle: Bundle) -> None:
    def change(row: dict[str, Any]) -> None:
        row["metrics"].update(tokens_added=99)

    text = (bundle.folder / "records.jsonl").read_text()
    version = json.loads(text.splitlines()[0])["python_version"]
    for name in ("records.jsonl", "contribution.json"):
        path = bundle.folder / name
        path.write_text(path.read_text().replace(f'"{version}"', '"3.8.1"'))
    edit(bundle.folder, change)
    assert again(world, bundle.folder).same == ["t1", "t2", "t3"]


@pytest.mark.parametrize("options", [{"track": "units-v2"}, {"patch_only": True}])
def test_other_tracks_and_modes_are_measured_again_alike(
    world: Any, bundle: Bundle, tmp_path: Path, options: dict[str, Any]
) -> None:
    before = bundle.records[0].metrics
    world.analyze(include_failed=True, **options)
    made = export(world.output, AGENT, tmp_path / "made")
    assert (made.records[0].track, made.records[0].metrics) != (None, before)
    assert again(world, made.folder).same == ["t1", "t2", "t3"]


def test_a_patch_that_no_longer_applies_is_different(world: Any, bundle: Bundle) -> None:
    world.fetcher.cache.store(world.places.file("o/r", "c" * 40, "pkg/core.py"), b"other\n")
    assert list(again(world, bundle.folder).different) == ["t1", "t2", "t3"]


def test_what_is_not_in_the_cache_is_told_and_nothing_is_downloaded(world: Any, bundle: Bundle, tmp_path: Path) -> None:
    asked = len(world.site.requests)
    found = again(world, bundle.folder, cache=Cache(tmp_path / "empty"))
    assert found.unavailable == {"t1": "patch", "t2": "patch", "t3": "patch"}
    world.fetcher.cache.path(world.places.file("o/r", "c" * 40, "pkg/core.py")).unlink()
    assert "is not in the cache" in again(world, bundle.folder).unavailable["t2"]
    world.tasks = ["t1"]
    world.write_dataset()
    assert again(world, bundle.folder).unavailable["t2"] == "task"
    assert len(world.site.requests) == asked


def test_another_analyzer_is_refused(world: Any, bundle: Bundle) -> None:
    for name in ("records.jsonl", "contribution.json"):
        path = bundle.folder / name
        version = json.loads((bundle.folder / "contribution.json").read_text())["analyzer_version"]
        path.write_text(path.read_text().replace(f'"analyzer_version": "{version}"', '"analyzer_version": "0.7"'))
    edit(bundle.folder, lambda _: None)
    with pytest.raises(InputError, match=r"was measured by 0\.7; verify with that version"):
        again(world, bundle.folder)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda row: row.update(agent="other"), "holds records of .* and other"),
        (lambda row: row.update(task_id="t2"), "is there twice"),
        (lambda row: row.update(analyzer_version="0.1"), "analyzer_version"),
        (lambda row: row.update(python_version="3.9.0"), "python_version"),
        (lambda row: row.update(measurement_track={"language": "go"}), "measurement_track"),
        (lambda row: row.update(resolve_rate=0.1), "resolve_rate"),
        (lambda row: row.update(human_metrics={"mode": "full_file", "churn": -1}), ":1: human_metrics.churn"),
        (lambda row: row.update(metrics={"mode": "guessed"}), "metrics.mode"),
        (lambda row: row["provenance"].update(results_sha256="0"), "provenance.results_sha256"),
        (lambda row: row["provenance"].update(patch_location="file:///x"), "where others cannot read it"),
        (lambda row: row["provenance"].update(patch_location=None), "where others cannot read it"),
        (lambda row: row["provenance"].update(patch_sha256=None), "no digest of its patch"),
        (lambda row: row["provenance"].update(base_commit=None), "no base"),
        (lambda row: row.update(analysis_status="error", metrics=None), "analysis_status_counts: "),
    ],
)
def test_bundles_that_are_not_consistent(bundle: Bundle, change: Edit, told: str) -> None:
    edit(bundle.folder, change)
    with pytest.raises(InputError, match=told):
        read(bundle.folder)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "is no contribution of format"),
        ("{", "is not JSON"),
        ('{"format": "parsimony-contribution-v1"}', "agent: "),
    ],
)
def test_manifests_that_are_not_consistent(bundle: Bundle, text: str, told: str) -> None:
    (bundle.folder / "contribution.json").write_text(text)
    with pytest.raises(InputError, match=told):
        read(bundle.folder)


def test_records_that_were_changed_after_the_export(bundle: Bundle) -> None:
    edit(bundle.folder, lambda row: row["metrics"].update(tokens_added=99), sealed=False)
    with pytest.raises(InputError, match="records_sha256: is "):
        read(bundle.folder)


def test_exports_that_cannot_be(world: Any, bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no record of nobody; it has those of: 20250101_agent"):
        export(world.output, "nobody", tmp_path / "x")
    with pytest.raises(InputError, match="is there already"):
        export(world.output, AGENT, bundle.folder)
    with pytest.raises(InputError, match="cannot be written"):
        export(world.output, AGENT, world.output / "x")
    with pytest.raises(InputError, match="holds no bundle"):
        find(tmp_path / "nowhere")


def test_by_name(world: Any, bundle: Bundle, tmp_path: Path) -> None:
    def run(*words: object) -> tuple[int, Any, str]:
        command = [sys.executable, "-m", "parsimony.contribute", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
        return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr

    assert run("export", world.output, "--agent", AGENT, "--output", "contributions/b")[0] == 0
    status, told, _ = run("validate")
    assert (status, len(told["valid"]), told["invalid"]) == (0, 2, [])
    verifying = ("verify", "--dataset", world.dataset)
    # Base files have the addresses of the test's server here, and the command asks for the public ones.
    status, told, _ = run(*verifying, "--cache", world.fetcher.cache.folder)
    assert (status, told["bundles"][0]["checked"], len(told["bundles"][0]["unavailable"])) == (3, 0, 3)
    edit(tmp_path / "contributions" / "b", lambda row: row["provenance"].update(patch_sha256="0" * 64))
    assert run(*verifying, "--cache", world.fetcher.cache.folder, "--output", "v.json")[0] == 1
    assert json.loads((tmp_path / "v.json").read_text())["bundles"][1]["different"].keys() == {"t1"}
    edit(tmp_path / "contributions" / "b", lambda row: row.update(agent="other"))
    status, told, _ = run("validate")
    assert (status, len(told["valid"]), len(told["invalid"])) == (1, 1, 1)
    status, told, error = run("verify", "--dataset", "none.jsonl")
    assert (status, told) == (2, None)
    assert error.startswith("error: none.jsonl: cannot be read")
