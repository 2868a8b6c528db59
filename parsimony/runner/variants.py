"""Conditions that must not matter: a fix that holds only under one hash seed, order of tests, locale or time zone is
no fix. Each is a set of variables laid over the pinned ones (docs/scorecard.md)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from parsimony.testreports import FORMATS

PLAIN: Final = ""
"""The variant of an ordinary grading: everything pinned."""

VARIANTS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "hash-seed": {"PYTHONHASHSEED": "20259"},
        "order": {"PARSIMONY_ORDER": "reverse"},
        "locale": {"LANG": "C", "LC_ALL": "C"},
        "timezone": {"TZ": "Asia/Kathmandu"},  # 5 h 45 min: no whole hours
    }
)


def applies(variant: str, log_format: str) -> bool:
    """Whether a variant changes anything for tests whose results are read as `log_format`."""
    form = FORMATS[log_format]
    if variant == "order":
        return form.framework == "pytest"
    return variant != "hash-seed" or form.language == "python"
