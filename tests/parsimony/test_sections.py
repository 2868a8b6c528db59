"""The help text: every command once, in a section, on a line of its own in a terminal of 80 columns."""

from __future__ import annotations

from collections import Counter

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from parsimony.cli.app import app
from parsimony.cli.sections import SECTIONS

COMMANDS = tuple(get_command(app).commands)  # type: ignore[attr-defined]
GROUPS = tuple(name for name, one in get_command(app).commands.items() if hasattr(one, "commands"))  # type: ignore[attr-defined]
TEXTS = {name: text for texts in SECTIONS.values() for name, text in texts.items()}


def test_no_command_stands_in_two_sections() -> None:
    assert not [name for name, count in Counter(n for texts in SECTIONS.values() for n in texts).items() if count > 1]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_line(name: str) -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).output.splitlines()
    assert "Other commands:" not in shown
    lines = [line for line in shown if line.startswith(f"  {name} ")]
    assert len(lines) == 1
    assert lines[0].endswith(TEXTS[name]), "the text wraps: make it shorter"


@pytest.mark.parametrize("name", GROUPS)
def test_no_text_of_a_group_is_cut(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "80"}).output
    assert [line for line in shown.splitlines() if line.endswith("...")][:1] in ([], [shown.splitlines()[0]])


def test_a_command_without_a_section_is_shown_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SECTIONS["Grade"], "run")
    shown = CliRunner().invoke(app, ["--help"]).output
    assert "  run  Grade a sweep" in shown[shown.index("Other commands:") :]
