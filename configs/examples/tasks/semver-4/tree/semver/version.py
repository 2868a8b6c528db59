"""One version, and its place in the order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import total_ordering

_NUMBER = r"(0|[1-9]\d*)"
_WORDS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_WORDS}))?(?:\+({_WORDS}))?")


@total_ordering
@dataclass(frozen=True, eq=False)
class Version:
    """Three numbers, a pre-release and a build. The build has no say in the order."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()
    build: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read `text`. Raises ValueError when it is not a semantic version."""
        match = _VERSION.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"not a semantic version: {text!r}")
        major, minor, patch, prerelease, build = match.groups()
        return cls(int(major), int(minor), int(patch), _words(prerelease), _words(build))

    def _key(self) -> tuple:
        release = (self.major, self.minor, self.patch)
        return (*release, not self.prerelease, self.prerelease)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Version) else NotImplemented

    def __lt__(self, other: Version) -> bool:
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.prerelease:
            text += "-" + ".".join(self.prerelease)
        return text + ("+" + ".".join(self.build) if self.build else "")


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(text.split(".")) if text else ()
