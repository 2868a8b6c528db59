"""160 commits of public repositories: every count is the exact one (PARSIMONY_COMMITS names the repositories)."""

import importlib.util
import os
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.shared, pytest.mark.slow]


def test_every_row_has_its_exact_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    named = os.environ.get("PARSIMONY_COMMITS")
    if not named:
        pytest.skip("PARSIMONY_COMMITS does not name the folder of the repositories of the real commits")
    script = Path(__file__).resolve().parents[3] / "benchmarks" / "footprint_rate.py"
    spec = importlib.util.spec_from_file_location("footprint_rate", script)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, benchmark)  # its dataclasses look there
    spec.loader.exec_module(benchmark)
    folder = benchmark.vectors_folder()
    if folder is None:
        pytest.skip("PARSIMONY_VECTORS does not name the folder of the shared vectors")
    commits = [benchmark.load(row, Path(named)) for row in benchmark.rows(folder)]
    found = [commit for commit in commits if commit is not None]
    assert found, "none of the repositories is there"
    assert [problem for commit in found for problem in benchmark.wrong(commit)] == []
