"""Lists of patterns, as in an ignore file: the last that fits decides."""

from __future__ import annotations

from collections.abc import Iterable

from pathglob.matching import match


class Ignore:
    """Patterns in order; one that starts with `!` takes a path back in."""

    def __init__(self, patterns: Iterable[str]) -> None:
        self._rules = [(line.lstrip("!"), not line.startswith("!")) for line in map(str.strip, patterns) if line]

    def __call__(self, path: str) -> bool:
        """Whether `path` is ignored."""
        ignored = False
        for pattern, verdict in self._rules:
            if match(pattern, path):
                ignored = verdict
        return ignored
