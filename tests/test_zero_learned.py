"""The zero-L rule: no learned component and no network stands anywhere in the path from a patch to a verdict."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from parsimony.zero_learned import ALLOWED, LEARNED, MECHANISMS, NETWORK, ROOT, SCORING_PATH, offences, reached_from

CLUSTER_EXTRAS = (
    "aiohttp", "cluster", "docker", "grpc", "jinja2", "kubernetes", "matplotlib", "prometheus_client", "psutil",
    "pyarrow", "pydantic", "ray", "rich", "structlog", "typer", "yaml",
)  # fmt: skip


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_scoring_path_reaches_no_learned_component() -> None:
    assert offences(LEARNED) == []


def test_the_scoring_path_reaches_no_network() -> None:
    assert offences(NETWORK) == []


def test_the_scoring_path_needs_little_besides_the_standard_library() -> None:
    roots = {name.partition(".")[0] for name in reached_from(SCORING_PATH + MECHANISMS)}
    assert roots - sys.stdlib_module_names - {"parsimony"} <= ALLOWED


def test_the_walk_covers_the_rooms_that_matter() -> None:
    ways = reached_from(("parsimony.scorer",))
    assert {"parsimony.records", "parsimony.execution", "parsimony.errors"} <= ways.keys()


@pytest.mark.parametrize(
    "statement",
    [
        "import openai",
        "from openai import OpenAI",
        "def late():\n    import openai.types",
        "import importlib\nimportlib.import_module('openai')",
    ],
    ids=["at the top", "a name of it", "inside a function", "by its name"],
)
def test_the_walk_finds_what_is_hidden(tmp_path: Path, statement: str) -> None:
    package = tmp_path / "grader"
    package.mkdir()
    for name, text in {"__init__": "", "score": "from . import inner", "inner": "from .deep import x"}.items():
        (package / f"{name}.py").write_text(text)
    (package / "deep.py").write_text(f"{statement}\nx = 1\n")
    assert offences(LEARNED, ("grader.score",), tmp_path)[0].startswith("grader.score -> grader.inner -> grader.deep")


def test_a_fresh_interpreter_loads_neither_models_nor_the_cluster() -> None:
    modules = [name for name in (*SCORING_PATH, *MECHANISMS) if importlib.util.find_spec(name) is not None]
    loaded = run_python(f"import json, sys, {', '.join(modules)}; print(json.dumps(sorted(sys.modules)))")
    assert loaded.returncode == 0, loaded.stderr
    names = set(json.loads(loaded.stdout))
    assert names & LEARNED == set()
    assert {name.partition(".")[0] for name in names} & set(CLUSTER_EXTRAS) == set()


def test_the_first_two_mechanisms_are_there() -> None:
    assert {"parsimony.runner", "parsimony.scorer"} <= set(MECHANISMS)


@pytest.mark.parametrize("module", MECHANISMS)
def test_each_mechanism_imports_alone_and_without_the_cluster_extras(module: str) -> None:
    blocked = run_python(
        "import sys\n"
        f"for name in {CLUSTER_EXTRAS!r}: sys.modules[name] = None\n"
        f"import {module}\n"
    )  # fmt: skip
    assert blocked.returncode == 0, blocked.stderr


def test_blocking_a_module_blocks_it() -> None:
    assert run_python("import sys; sys.modules['yaml'] = None; import yaml").returncode == 1
