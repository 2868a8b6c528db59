"""Runs in tests draw no plots: the page is written all the same, and plots have tests of their own."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes half a second, and a run has three."""

    def drawn(figure: Any, title: str) -> str:
        return f"<svg><title>{title}</title></svg>"

    for module in ("plots", "graded_footprints"):
        monkeypatch.setattr(f"parsimony.report.{module}.svg_of", drawn)
