from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Script = Callable[[str], ModuleType]
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def check(script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, looking at a small project of two dependencies."""
    module = script("check_dependencies")
    (tmp_path / "docs").mkdir()
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "x"\ndependencies = ["Left-Pad>=1"]\n[project.optional-dependencies]\nx = ["right[a]>=2"]\n'
    )
    (tmp_path / "constraints.txt").write_text("# comment\nleft_pad==1.2\nright==2.5\nbelow==0.1\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def row(check: ModuleType, name: str = "left-pad", version: str = "1.2", **other: str) -> Any:
    fields = {"released": "2026-11-01", "standing": "over 1,000 stars", "used_in": "`x`", "reason": "pads"} | other
    return check.Row(name, version, **fields)


def problems(check: ModuleType, rows: list[Any]) -> list[str]:
    pinned, wrong = check.pins()
    found: Iterator[str] = check.check_files(rows, pinned, NOW)
    return [*wrong, *found]


def test_files_that_agree(check: ModuleType) -> None:
    assert problems(check, [row(check), row(check, "right", "2.5")]) == []


def test_a_dependency_without_a_row(check: ModuleType) -> None:
    assert problems(check, [row(check)]) == [
        "docs/dependencies.md: no row for right, which pyproject.toml asks for",
    ]


def test_a_row_that_nobody_asks_for(check: ModuleType) -> None:
    rows = [row(check), row(check, "right", "2.5"), row(check, "below", "0.1")]
    assert problems(check, rows) == [
        "docs/dependencies.md: below is in the table, but pyproject.toml does not ask for it"
    ]


def test_a_row_with_another_version(check: ModuleType) -> None:
    rows = [row(check, version="1.1"), row(check, "right", "2.5")]
    assert problems(check, rows) == ["docs/dependencies.md: left-pad is 1.1 there and 1.2 in constraints.txt"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("right>=2", "constraints.txt:1: not name==version: right>=2"),
        ("right @ file:///x", "constraints.txt:1: not name==version: right @ file:///x"),
        ("right==1.9", "constraints.txt: right==1.9 is not >=2, as pyproject.toml asks"),
        ("left==1", "constraints.txt: no pin for right"),
    ],
)
def test_pins_that_do_not_fit(check: ModuleType, line: str, problem: str) -> None:
    (check.ROOT / "constraints.txt").write_text(f"{line}\nleft-pad==1.2\n")
    assert problem in problems(check, [row(check), row(check, "right", "2.5")])


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"released": "2026-11-28"}, "less than 72 hours old"),
        ({"standing": "over 9 stars"}, "neither 10 stars nor a reading"),
        ({"standing": "popular"}, "neither 10 stars nor a reading"),
        ({"reason": ""}, "needs a reason"),
    ],
)
def test_rows_that_break_the_rule(check: ModuleType, other: dict[str, str], words: str) -> None:
    found = list(check.check_row(row(check, **other), NOW))
    assert len(found) == 1
    assert words in found[0]


@pytest.mark.parametrize("standing", ["≥ 10 stars", "over 1,234 stars", "read: 157 lines"])
def test_standings_that_do(check: ModuleType, standing: str) -> None:
    assert list(check.check_row(row(check, standing=standing), NOW)) == []


def test_the_index_decides_about_ages(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    at = {"left-pad": datetime.now(UTC) - timedelta(hours=71), "right": datetime(2026, 1, 2, tzinfo=UTC), "below": None}
    monkeypatch.setattr(check, "index_url", lambda: "somewhere")
    monkeypatch.setattr(check, "pip_setting", lambda name: None)
    monkeypatch.setattr(check, "released", lambda index, name, version, tls: at[name])
    found = list(check.check_online([row(check, "right", "2.5")], check.pins()[0]))
    assert [line.split(":")[0] for line in found] == ["left-pad==1.2", "docs/dependencies.md", "below==0.1"]
    assert "right 2.5 was released on 2026-01-02, not 2026-11-01" in found[1]


def test_the_index_is_the_one_of_pip(check: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://packages.example.invalid/simple/")
    assert check.index_url() == "https://packages.example.invalid/simple"
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    assert check.index_url().startswith("https://")


def test_our_own_files_agree(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["check_dependencies.py"])
    module = script("check_dependencies")
    assert module.main() == 0
