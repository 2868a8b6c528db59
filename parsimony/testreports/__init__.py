"""Readers of test results: `channel` for what our own reporters send, one module per format for everything else.

`FORMATS` maps the names that a task's `log_format` may have to their readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from parsimony.testreports import cargo, gotest, jest, junit, logs, swebench, tap
from parsimony.testreports.model import Canaries, Format, Report

__all__ = ["FORMATS", "Canaries", "Format", "Report"]


def _index(*groups: Iterable[Format]) -> Mapping[str, Format]:
    formats: dict[str, Format] = {}
    for entry in (entry for group in groups for entry in group):
        if formats.setdefault(entry.name, entry) is not entry:
            raise ValueError(f"two readers are called {entry.name}")
    return MappingProxyType(formats)


FORMATS: Mapping[str, Format] = _index(
    logs.FORMATS, tap.FORMATS, jest.FORMATS, junit.FORMATS, gotest.FORMATS, cargo.FORMATS, swebench.FORMATS
)
