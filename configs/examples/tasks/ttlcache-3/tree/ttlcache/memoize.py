"""Remembering what a function gave."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ttlcache.cache import TTLCache


def memoize(cache: TTLCache) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator: keep results in `cache`, by positional arguments."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def remembered(*arguments: Any) -> Any:
            try:
                return cache[arguments]
            except KeyError:
                value = cache[arguments] = function(*arguments)
                return value

        return remembered

    return decorate
