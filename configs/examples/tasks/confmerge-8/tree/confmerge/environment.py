"""Settings from environment variables: `APP__DB__PORT=5432`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def from_environment(prefix: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """The variables that start with `prefix` and two underscores, as nested tables. Values are JSON, else text."""
    settings: dict[str, Any] = {}
    for name in sorted(environment):
        first, *path = name.split("__")
        if first != prefix or not path:
            continue
        table = settings
        for part in path[:-1]:
            table = table.setdefault(part.lower(), {})
        table[path[-1].lower()] = _value(environment[name])
    return settings


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
