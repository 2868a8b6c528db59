from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

Script = Callable[[str], ModuleType]
ARM = {"planned": 4, "resolved": 2, "missing": 0, "tasks": 2, "seeds": {"1": {}, "2": {}}, "rate": 0.5,
       "wilson_95": [0.15, 0.85], "bounds": [0.5, 0.5], "outcomes": {"resolved": 2, "tampered": 2}}  # fmt: skip
SUMMARY = {
    "name": "demo",
    "arms": {"baseline": ARM},
    "census": {"planned": 4, "recorded": 4, "missing": 0, "rejected_rows": 0, "complete": True},
    "cost": {"kinds": {}, "llm_rows_without_dollars": 0},
}


@pytest.fixture
def update(script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with a README and a run of its own."""
    module = script("update_readme")
    monkeypatch.setattr(module, "README", tmp_path / "README.md")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "summary.json").write_text(json.dumps(SUMMARY))
    return module


def run(module: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", ["update_readme.py", str(folder)])
    status: int = module.main()
    return status


def test_only_the_block_changes(update: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, after = "# Title\n\n<!-- scoreboard:begin (by hand) -->\n", "<!-- scoreboard:end -->\n\nRest.\n"
    update.README.write_text(f"{before}old\n{after}")
    assert run(update, tmp_path / "run", monkeypatch) == 0
    text = update.README.read_text()
    assert text.startswith(before)
    assert text.endswith(after)
    assert "old" not in text
    assert "baseline" in text
    assert "tampered 2" in text
    assert "4 planned = 4 with a verdict + 0 missing" in text
    assert run(update, tmp_path / "run", monkeypatch) == 0
    assert update.README.read_text() == text


def test_no_run(update: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SystemExit) as ended:
        run(update, tmp_path, monkeypatch)
    assert ended.value.code == 2


def test_no_block(update: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    update.README.write_text("# Title\n")
    with pytest.raises(SystemExit) as ended:
        run(update, tmp_path / "run", monkeypatch)
    assert ended.value.code == 2
    assert update.README.read_text() == "# Title\n"


def test_our_readme_has_the_block(script: Script) -> None:
    module = script("update_readme")
    assert module.BLOCK.search(module.README.read_text(encoding="utf-8")) is not None
