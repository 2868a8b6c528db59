"""Every command that reads runs on a small one of the benchmark's making: it ends as it should, and what was made fast
gives what the slow way gives."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from cluster import plan
from parsimony import cli
from parsimony.cli.materials import open_run
from parsimony.scorecard import Measurer, python_delta

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "measures_at_scale.py"
REASON = "canary.exit-zero: a patch that ends the process is resolved"


def load_script() -> ModuleType:
    found = importlib.util.spec_from_file_location("measures_at_scale", SCRIPT)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


script = load_script()


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six tasks, three seeds, two arms."""
    folder = tmp_path_factory.mktemp("scale")
    script.build(folder, 6, 3, 2, 100)
    return folder


@pytest.fixture
def folder(built: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(built, tmp_path / "scale"))


@pytest.fixture
def parsimony(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command in this process: its exit status, standard output and standard error."""

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["parsimony", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


def test_every_command_ends_as_it_should(folder: Path, parsimony: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jinja2")
    monkeypatch.chdir(folder)
    for name, (words, ends) in script.commands(folder, folder / "run").items():
        status, out, err = parsimony(*words)
        assert status in ends, f"{name}: {out}{err}"


def notes_of(run: Path) -> list[dict[str, Any]]:
    found, materials, base = open_run(run)
    return [{**note.to_json(), "run_id": ""} for note, _ in Measurer(base).measure(found, materials)]


def test_what_is_read_by_differences_is_what_whole_files_give(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = notes_of(built / "run")
    monkeypatch.setattr(python_delta, "read_after", lambda *_: None)
    assert fast == notes_of(built / "run")
    assert {note["patching"]["parse"] for note in fast} == {True, False}
    assert len({note["structure"]["correct"] for note in fast}) > 1


def test_a_note_is_written_as_its_parts_are(built: Path) -> None:
    found, materials, base = open_run(built / "run")
    for note, _ in Measurer(base).measure(found, materials):
        assert note.to_json() == dataclasses.asdict(note)


# ---- quarantine


@pytest.fixture
def quarantined(monkeypatch: pytest.MonkeyPatch) -> str:
    """One task of the six fails its audit."""
    monkeypatch.setattr(plan, "quarantined", lambda file, tasks: {"owner__project1-1": (REASON,)})
    return "owner__project1-1"


LEFT_OUT = [{"task_id": "owner__project1-1", "planned": 6, "reasons": [REASON]}]


def test_scorecards_leave_a_quarantined_task_out_of_every_mean(folder: Path, parsimony: Any, quarantined: str) -> None:
    pytest.importorskip("jinja2")
    run = folder / "run"
    status, out, _ = parsimony("scorecard", run, "--prices", folder / "prices.yaml", "--json")
    found = json.loads(out)
    assert (status, found["candidates"], found["scorecards"]) == (cli.DONE, 30, 30)
    assert found["quarantined"] == LEFT_OUT
    assert found["arms"]["baseline"]["means"]["resolved"]["trials"] == 15
    assert len((run / "scorecards.jsonl").read_text().splitlines()) == 36, "their records are there all the same"
    page = (run / "scorecard.html").read_text()
    assert REASON in page
    assert "1 task is quarantined" in page
    _, out, _ = parsimony("scorecard", run, "--prices", folder / "prices.yaml", "--no-page")
    assert f"quarantined, in no rate: {quarantined} (6 planned): {REASON}" in " ".join(out.split())


def test_a_diagnosis_leaves_it_out(folder: Path, parsimony: Any, quarantined: str) -> None:
    pytest.importorskip("jinja2")
    page = folder / "diagnosis.html"
    status, out, _ = parsimony("diagnose", folder / "run", "--json", "--out", page)
    found = json.loads(out)
    assert status == cli.DONE
    assert found["quarantined"] == LEFT_OUT
    assert found["stages"][0]["tasks"] == 5
    assert found["funnels"]["candidate"]["placed"] == 15
    assert REASON in page.read_text()
    _, out, _ = parsimony("diagnose", folder / "run")
    assert quarantined in out


def test_costs_leave_it_out_and_the_reconciliation_does_not(folder: Path, parsimony: Any, quarantined: str) -> None:
    pytest.importorskip("jinja2")
    words = ("cost", folder / "run", "--prices", folder / "prices.yaml", "--page", folder / "c.html")
    status, out, _ = parsimony(*words, "--json")
    found = json.loads(out)
    assert status == cli.DONE
    assert found["quarantined"] == LEFT_OUT
    assert [arm["candidates"] for arm in found["arms"]] == [15, 15]
    assert [arm["compute_spent"]["rows"] for arm in found["arms"]] == [15, 15]
    assert found["reconciliation"]["llm"][0]["rows"] == 36
    assert (found["reconciliation"]["differences"], found["reconciliation"]["rows"]) == ([], [])
    assert REASON in (folder / "c.html").read_text()
    _, out, _ = parsimony(*words)
    assert f"{quarantined} (6 planned)" in out


def test_a_comparison_names_it_with_the_reason(folder: Path, parsimony: Any, quarantined: str) -> None:
    pytest.importorskip("jinja2")
    words = ("compare", folder / "run", "--details", folder / "d.json", "--no-record", "--page", folder / "p.html")
    status, out, _ = parsimony(*words)
    assert status == cli.DONE
    assert f"{quarantined} ({REASON})" in " ".join(out.split())
    (details,) = json.loads((folder / "d.json").read_text())
    assert details["quarantined"] == {quarantined: [REASON]}
    assert REASON in (folder / "p.html").read_text()


@pytest.mark.parametrize("command", ["scorecard", "diagnose", "compare", "cost"])
def test_where_nothing_counts_there_is_nothing_to_tell(
    folder: Path, parsimony: Any, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(plan, "quarantined", lambda file, tasks: {task.instance_id: (REASON,) for task in tasks})
    status, _, err = parsimony(command, folder / "run")
    assert status == cli.CANNOT
    assert "every task is quarantined" in err


# ---- prices


def test_a_scorecard_has_dollars_by_the_prices(folder: Path, parsimony: Any) -> None:
    run = folder / "run"
    status, out, _ = parsimony("scorecard", run, "--no-page", "--json")
    assert status == cli.PARTIAL
    assert any("--prices" in reason for reason in json.loads(out)["missing"])
    assert parsimony("scorecard", run, "--no-page", "--prices", folder / "prices.yaml")[0] == cli.DONE
    card = json.loads((run / "scorecards.jsonl").read_text().splitlines()[0])
    first = json.loads((folder / "predictions.jsonl").read_text().splitlines()[0])["usage"]
    assert card["economics"]["dollars"] > (0.25 * first["input_tokens"] + 2 * first["output_tokens"]) / 1e6 - 1e-6


def test_a_sweep_that_names_its_prices_needs_no_option(folder: Path, parsimony: Any) -> None:
    run = folder / "run"
    text = (run / "sweep.yaml").read_text().replace("prices: []", f"prices: [{folder / 'prices.yaml'}]")
    (run / "sweep.yaml").write_text(text)
    assert parsimony("scorecard", run, "--no-page")[0] == cli.DONE
    assert parsimony("cost", run, "--page", folder / "c.html")[0] == cli.DONE
    _, out, _ = parsimony("compare", run, "--no-record", "--page", folder / "p.html", "--json")
    assert json.loads(out)["arms"][0]["cost"]["dollars"] > 0


@pytest.mark.parametrize("command", ["scorecard", "cost"])
def test_a_model_without_a_price_is_an_error(folder: Path, parsimony: Any, command: str) -> None:
    prices = folder / "prices.yaml"
    prices.write_text(prices.read_text().replace("name: example", "name: another"))
    status, _, err = parsimony(command, folder / "run", "--prices", prices)
    assert status == cli.CANNOT
    assert "owner__project0-0, arm baseline, seed 1: no price of the model 'example'" in err
    assert f"add it with its dates to {prices}" in err
    assert err.count("\n") == 1


def test_costs_without_any_price_are_not_known(folder: Path, parsimony: Any) -> None:
    status, out, _ = parsimony("cost", folder / "run", "--json", "--page", folder / "c.html")
    found = json.loads(out)
    assert status == cli.PARTIAL
    assert [(arm["dollars"], arm["dollars_per_resolved"]) for arm in found["arms"]] == [(None, None)] * 2
