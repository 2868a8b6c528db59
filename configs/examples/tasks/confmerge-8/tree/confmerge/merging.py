"""Merging tables."""

from __future__ import annotations

from typing import Any


class _Delete:
    def __repr__(self) -> str:
        return "DELETE"


DELETE = _Delete()
"""A value that takes its key away."""


def merge(*layers: dict[str, Any]) -> dict[str, Any]:
    """The layers laid over each other, the last on top. A list that starts with "..." goes on with the list below."""
    merged: dict[str, Any] = {}
    for layer in layers:
        _lay(merged, layer)
    return merged


def _lay(below: dict[str, Any], above: dict[str, Any]) -> None:
    for key, value in above.items():
        old = below.get(key)
        if value is DELETE:
            below.pop(key, None)
        elif isinstance(value, dict) and isinstance(old, dict):
            _lay(old, value)
        elif isinstance(value, list) and value[:1] == ["..."] and isinstance(old, list):
            old.extend(value[1:])
        else:
            below[key] = value
