"""Cells made by hand, and the command line in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction

import pytest

from parsimony import cli
from parsimony.matrix import Cell, Place, PublishedRow, published

Command = Callable[..., tuple[int, str, str]]


def cell(
    model: str, benchmark: str, scaffold: str, accuracy: Fraction | str, dollars: int | None = None, n: int = 100
) -> Cell:
    """A published result; `dollars` for all n tasks."""
    micro = None if dollars is None else dollars * 1_000_000
    return published(PublishedRow(Place(model, benchmark, scaffold), Fraction(accuracy), n, micro))


@pytest.fixture
def parsimony(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command as a person types it: exit status, output, errors."""

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["parsimony", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call
