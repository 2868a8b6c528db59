"""What no log may hold is taken out: by the name that it stands under, by its shape, and by its value."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

MOST_CHARACTERS: Final = 4_000
"""A longer text is cut, with the count of what is left out."""
MOST_DEPTH: Final = 8
SHORTEST_SECRET: Final = 8
"""A shorter value of the environment is not looked for: `1` or `true` stand in every other line."""

_MARK: Final = "[redacted]"
_NAMES: Final = re.compile(
    r"passw(or)?d|passphrase|secret|credential|authorization|cookie|private.?key|api.?key|access.?key"
    r"|(^|_|-|\.)(auth|token)(_?value)?$|(access|auth|bearer|refresh|session|id)_?token",
    re.IGNORECASE,
)
"""Names of secrets. Counts of a model's tokens are none: `input_tokens` and `tokens` stay."""
_SHAPES: Final = (
    (re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"), _MARK),
    (re.compile(r"\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE), rf"\1 {_MARK}"),
    (re.compile(r"\b(gh[pousr]_|github_pat_|glpat-|sk-|hf_|xox[abp]-|AKIA)[A-Za-z0-9_-]{12,}"), _MARK),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"), _MARK),
)
"""Credentials in URLs, headers, tokens of well-known kinds, JSON web tokens."""


def names_secret(name: str) -> bool:
    """A field or variable of this name holds a secret."""
    return _NAMES.search(name) is not None


class Redactor:
    """Takes secrets out of values of any shape."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        ordered = sorted(known, key=len, reverse=True)  # one that holds another goes first
        self._known = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Redactor:
        """Knows the values of variables whose names speak of secrets."""
        return cls(value for name, value in environment.items() if names_secret(name))

    def fields(self, event: Mapping[str, object]) -> dict[str, object]:
        """Every field of an event, redacted by its name and its value."""
        return {self.text(name): _MARK if names_secret(name) else self.value(value) for name, value in event.items()}

    def value(self, value: object, depth: int = 0) -> object:
        """A value: texts, and what mappings and sequences hold. Numbers, booleans and None stay as they are."""
        if isinstance(value, str):
            return self.text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if depth >= MOST_DEPTH:
            return "…"
        if isinstance(value, Mapping):
            return {
                self.text(str(name)): _MARK if names_secret(str(name)) else self.value(each, depth + 1)
                for name, each in value.items()
            }
        if isinstance(value, list | tuple | set | frozenset):
            return [self.value(each, depth + 1) for each in value]
        if isinstance(value, bytes | bytearray | memoryview):
            return self.text(bytes(value[: MOST_CHARACTERS + 1]).decode("utf-8", "replace"))
        return self.text(str(value))

    def text(self, text: str) -> str:
        """A text, redacted before it is cut: half a secret is not recognised."""
        if self._known is not None:
            text = self._known.sub(_MARK, text)
        for shape, instead in _SHAPES:
            text = shape.sub(instead, text)
        left = len(text) - MOST_CHARACTERS
        return text if left <= 0 else f"{text[:MOST_CHARACTERS]}… ({left} more characters)"
