"""Measurement tracks: what the units of a language are counted with. Units of two tracks are never compared.

Python has no track in its records, because its parser is the interpreter's and `python_version` names it. The others
carry language, version of the unit rules and exact versions of the parsers, and a frozen population pins all three.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from parsimony.errors import InputError

PYTHON: Final = "python"

_TYPESCRIPT: Final = ("typescript-compiler-units-v1", {"typescript": "5.9.3"})
_TREE_SITTER: Final = {"tree-sitter": "0.26.0"}
_OURS: Final = "named-nodes-v1"
_PINNED: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "go": ("tree-sitter-units-v1", {**_TREE_SITTER, "tree-sitter-go": "0.25.0"}),
    "javascript": _TYPESCRIPT,
    "typescript": _TYPESCRIPT,
    "java": (_OURS, {**_TREE_SITTER, "tree-sitter-java": "0.23.5"}),
    "rust": (_OURS, {**_TREE_SITTER, "tree-sitter-rust": "0.24.2"}),
    "c": (_OURS, {**_TREE_SITTER, "tree-sitter-c": "0.24.2"}),
    "cpp": (_OURS, {**_TREE_SITTER, "tree-sitter-cpp": "0.23.4"}),
}


def track_of(language: str) -> Mapping[str, object] | None:
    """The identity that records of a language carry; None for Python.

    Raises:
        InputError: there is no track for the language.
    """
    if language == PYTHON:
        return None
    unit_version, versions = _pinned(language)
    return {"language": language, "unit_version": unit_version, "versions": dict(versions)}


def pinned_parsers(language: str) -> Mapping[str, str]:
    """{package: version} of the parsers of a language; the interpreter's own, Python's, is not one.

    Raises:
        InputError: there is no track for the language.
    """
    return _pinned(language)[1]


def _pinned(language: str) -> tuple[str, Mapping[str, str]]:
    if language not in _PINNED:
        raise InputError.wrong("language", language, f"one of {PYTHON}, {', '.join(_PINNED)}")
    return _PINNED[language]
