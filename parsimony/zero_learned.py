"""The zero-L rule as a check: no learned component and no network on any way of imports from a patch to a verdict.

The walk reads source files and follows every import in them, wherever it stands, also `import_module("name")`. It runs
nothing and loads nothing (build spec §4; `parsimony invariants`, tests/test_zero_learned.py).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
"""The folder that holds the package."""

SCORING_PATH: Final = (
    "parsimony.canonical", "parsimony.errors", "parsimony.execution", "parsimony.patches", "parsimony.records",
    "parsimony.reference", "parsimony.runner", "parsimony.scorer", "parsimony.statistics", "parsimony.strict_json",
    "parsimony.tasks", "parsimony.testreports",
)  # fmt: skip
MECHANISMS: Final = tuple(
    f"parsimony.{room}"
    for room in ("runner", "scorer", "scorecard", "sets", "contamination", "ab", "cost_ledger", "audit")
    if (ROOT / "parsimony" / room).is_dir() or (ROOT / "parsimony" / f"{room}.py").is_file()
)
"""The mechanisms of the build spec, by its names."""

LEARNED: Final = frozenset(
    {
        "anthropic", "catboost", "cohere", "dspy", "fasttext", "flair", "gensim", "google.genai", "groq",
        "google.generativeai", "gpt4all", "huggingface_hub", "jax", "keras", "langchain", "langchain_core", "lightgbm",
        "litellm", "llama_cpp", "llama_index", "mistralai", "mlx", "nltk", "ollama", "onnxruntime", "openai",
        "replicate", "sentence_transformers", "sklearn", "spacy", "tensorflow", "tiktoken", "together", "tokenizers",
        "torch", "transformers", "vertexai", "vllm", "xgboost",
    }
)  # fmt: skip
NETWORK: Final = frozenset(
    {
        "aiohttp", "boto3", "ftplib", "grpc", "http.client", "http.server", "httpx", "imaplib", "paramiko", "poplib",
        "requests", "smtplib", "socket", "socketserver", "ssl", "telnetlib", "urllib.request", "urllib3", "websockets",
        "xmlrpc",
    }
)  # fmt: skip
# What the scoring path may load besides the standard library: numbers, Arrow where a Parquet file is named, and the
# parsers of the footprint with its exact edit distance, from which scorecards tell which symbols a patch touches.
ALLOWED: Final = frozenset({"numpy", "pyarrow", "rapidfuzz", "scipy", "tree_sitter"})


def source_of(module: str, root: Path = ROOT) -> Path | None:
    """The file of a module below `root`, None when it is not there."""
    base = root.joinpath(*module.split("."))
    return next((path for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()), None)


def imports_of(module: str, root: Path = ROOT) -> Iterator[str]:
    """Every name that the module's file imports, wherever in the file, as absolute dotted names."""
    path = source_of(module, root)
    if path is None:
        return
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


@lru_cache(maxsize=8)
def reached_from(starts: tuple[str, ...], root: Path = ROOT) -> dict[str, tuple[str, ...]]:
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


def submodules(start: str, root: Path = ROOT) -> list[str]:
    """`start` and, when it is a package, all modules in it; what is sent into images is never loaded here."""
    folder = root.joinpath(*start.split("."))
    inner = [
        ".".join(path.relative_to(root).with_suffix("").parts)
        for path in folder.rglob("*.py")
        if "inimage" not in path.parts
    ]
    return [start, *(name.removesuffix(".__init__") for name in inner)]


def offences(
    denied: frozenset[str], starts: tuple[str, ...] = SCORING_PATH + MECHANISMS, root: Path = ROOT
) -> list[str]:
    """Ways from `starts` to something denied, each as text."""
    ways = reached_from(starts, root)
    return sorted(
        " -> ".join(way)
        for name, way in ways.items()
        if any(name == bad or name.startswith(f"{bad}.") for bad in denied)
    )
