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
_PINNED: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "go": ("tree-sitter-units-v1", {"tree-sitter": "0.26.0", "tree-sitter-go": "0.25.0"}),
    "javascript": _TYPESCRIPT,
    "typescript": _TYPESCRIPT,
}


def track_of(language: str) -> Mapping[str, object] | None:
    """The identity that records of a language carry; None for Python.

    Raises:
        InputError: there is no track for the language.
    """
    if language == PYTHON:
        return None
    if language not in _PINNED:
        raise InputError.wrong("language", language, f"one of {PYTHON}, {', '.join(_PINNED)}")
    unit_version, versions = _PINNED[language]
    return {"language": language, "unit_version": unit_version, "versions": dict(versions)}
