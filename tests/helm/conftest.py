"""The chart, its values and, where helm is, what it renders."""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "parsimony"
CASES = tuple(sorted(path.name for path in (CHART / "ci").glob("*.yaml")))
KUBERNETES = "1.31.0"

Json = dict[str, Any]


def merged(base: Any, over: Any) -> Any:
    """Values laid over values as Helm does it: maps are merged, all else is replaced."""
    if isinstance(base, dict) and isinstance(over, dict):
        return {**base, **{key: merged(base.get(key), value) for key, value in over.items()}}
    return over


def read(path: Path) -> Json:
    found: Json = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


class Chart:
    """What tests want of the chart."""

    root = CHART
    cases = CASES

    @functools.cached_property
    def values(self) -> Json:
        return read(CHART / "values.yaml")

    @functools.cached_property
    def schema(self) -> Json:
        found: Json = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
        return found

    def case(self, name: str) -> Json:
        found: Json = merged(self.values, read(CHART / "ci" / name))
        return found

    def script(self, name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"chart_{name}", CHART / "files" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module


class Helm:
    """The command. Renderings are kept: one takes a second."""

    def __init__(self, program: str, scratch: Path) -> None:
        self.program = program
        self.scratch = scratch
        self._rendered: dict[str, list[Json]] = {}

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        home = {name: str(self.scratch) for name in ("HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME")}
        return subprocess.run(
            [self.program, *words], capture_output=True, text=True, check=False, env={**os.environ, **home}
        )

    def template(self, case: str, *words: str, release: str = "grading") -> subprocess.CompletedProcess[str]:
        values = ("--values", str(CHART / "ci" / case)) if case else ()
        where = ("--namespace", "grading", "--kube-version", KUBERNETES)
        return self.run("template", release, str(CHART), *values, *where, *words)

    def objects(self, case: str, *words: str, release: str = "grading") -> list[Json]:
        key = json.dumps([case, words, release])
        if key not in self._rendered:
            done = self.template(case, *words, release=release)
            assert done.returncode == 0, done.stderr
            found = [item for item in yaml.safe_load_all(done.stdout) if item]
            nights = [item["data"]["rayjob.json"] for item in found if "rayjob.json" in item.get("data", {})]
            self._rendered[key] = found + [json.loads(text) for text in nights]
        return self._rendered[key]


@pytest.fixture(scope="session")
def chart() -> Chart:
    return Chart()


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    program = os.environ.get("PARSIMONY_HELM") or shutil.which("helm")
    if not program:
        pytest.skip("there is no helm on this machine; PARSIMONY_HELM names one")
    return Helm(program, tmp_path_factory.mktemp("helm"))


@pytest.fixture(scope="session")
def schemas() -> Path:
    named = os.environ.get("PARSIMONY_SCHEMAS")
    if not named:
        pytest.skip("PARSIMONY_SCHEMAS names no folder with the CRDs of KubeRay and of the Prometheus operator")
    return Path(named)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" in metafunc.fixturenames:
        metafunc.parametrize("case", CASES)
