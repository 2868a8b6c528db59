"""The zero-L rule: no learned component and no network stands anywhere in the path from a patch to a verdict."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

SCORING_PATH = (
    "parsimony.canonical", "parsimony.errors", "parsimony.execution", "parsimony.patches", "parsimony.records",
    "parsimony.reference", "parsimony.runner", "parsimony.scorer", "parsimony.statistics", "parsimony.strict_json",
    "parsimony.tasks", "parsimony.testreports",
)  # fmt: skip
MECHANISMS = tuple(
    name
    for name in (f"parsimony.{room}" for room in ("runner", "scorer", "scorecard", "sets", "contamination", "ab",
                                                  "cost_ledger", "audit"))
    if importlib.util.find_spec(name) is not None
)  # fmt: skip

LEARNED = frozenset(
    {
        "anthropic", "catboost", "cohere", "dspy", "fasttext", "flair", "gensim", "google.genai", "groq",
        "google.generativeai", "gpt4all", "huggingface_hub", "jax", "keras", "langchain", "langchain_core", "lightgbm",
        "litellm", "llama_cpp", "llama_index", "mistralai", "mlx", "nltk", "ollama", "onnxruntime", "openai",
        "replicate", "sentence_transformers", "sklearn", "spacy", "tensorflow", "tiktoken", "together", "tokenizers",
        "torch", "transformers", "vertexai", "vllm", "xgboost",
    }
)  # fmt: skip
NETWORK = frozenset(
    {
        "aiohttp", "boto3", "ftplib", "grpc", "http.client", "http.server", "httpx", "imaplib", "paramiko", "poplib",
        "requests", "smtplib", "socket", "socketserver", "ssl", "telnetlib", "urllib.request", "urllib3", "websockets",
        "xmlrpc",
    }
)  # fmt: skip
# What the scoring path may load besides the standard library: numbers, Arrow where a Parquet file is named, and the
# parsers of the footprint with its exact edit distance, from which scorecards tell which symbols a patch touches.
ALLOWED = frozenset({"numpy", "pyarrow", "rapidfuzz", "scipy", "tree_sitter"})
CLUSTER_EXTRAS = (
    "aiohttp", "cluster", "docker", "grpc", "jinja2", "kubernetes", "matplotlib", "prometheus_client", "psutil",
    "pyarrow", "pydantic", "ray", "rich", "structlog", "typer", "yaml",
)  # fmt: skip


def source_of(module: str, root: Path) -> Path | None:
    """The file of a module below `root`, None when it is not there."""
    base = root.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def imports_of(module: str, root: Path) -> Iterator[str]:
    """Every name that the module's file imports, wherever in the file, as absolute dotted names."""
    path = source_of(module, root)
    assert path is not None
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            first = node.args[0] if node.args else None
            if called in {"import_module", "__import__"} and isinstance(first, ast.Constant):
                yield str(first.value)


def reached_from(starts: tuple[str, ...], root: Path) -> dict[str, tuple[str, ...]]:
    """Every name that is imported on some way from `starts`: name -> the way to it. Packages bring their submodules."""
    ways: dict[str, tuple[str, ...]] = {}
    todo: list[tuple[str, tuple[str, ...]]] = [(name, ()) for start in starts for name in submodules(start, root)]
    while todo:
        name, way = todo.pop()
        if name in ways:
            continue
        ways[name] = (*way, name)
        if source_of(name, root) is not None:
            parent = name.rpartition(".")[0]
            todo.extend((other, ways[name]) for other in (*imports_of(name, root), *([parent] if parent else [])))
    return ways


def submodules(start: str, root: Path) -> list[str]:
    """`start` and, when it is a package, all modules in it."""
    folder = root.joinpath(*start.split("."))
    inner = [".".join(path.relative_to(root).with_suffix("").parts) for path in folder.rglob("*.py")]
    return [start, *(name.removesuffix(".__init__") for name in inner)]


def offences(starts: tuple[str, ...], root: Path, denied: frozenset[str]) -> list[str]:
    """Ways from `starts` to something denied, each as text."""
    ways = reached_from(starts, root)
    return sorted(
        " -> ".join(way)
        for name, way in ways.items()
        if any(name == bad or name.startswith(f"{bad}.") for bad in denied)
    )


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_scoring_path_reaches_no_learned_component() -> None:
    assert offences(SCORING_PATH + MECHANISMS, ROOT, LEARNED) == []


def test_the_scoring_path_reaches_no_network() -> None:
    assert offences(SCORING_PATH + MECHANISMS, ROOT, NETWORK) == []


def test_the_scoring_path_needs_little_besides_the_standard_library() -> None:
    roots = {name.partition(".")[0] for name in reached_from(SCORING_PATH + MECHANISMS, ROOT)}
    assert roots - sys.stdlib_module_names - {"parsimony"} <= ALLOWED


def test_the_walk_covers_the_rooms_that_matter() -> None:
    ways = reached_from(("parsimony.scorer",), ROOT)
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
    assert offences(("grader.score",), tmp_path, LEARNED)[0].startswith("grader.score -> grader.inner -> grader.deep")


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
