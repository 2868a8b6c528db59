"""What a pod's life needs of the API, and how the API's refusals become our errors.

`api.py` implements `Api` over the official client; the tests implement it in memory. Every method blocks, may be
called from any thread, and raises nothing but the errors named here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from parsimony.errors import ParsimonyError, PermanentError, SandboxUnavailable


class NameTaken(Exception):
    """There is a pod of that name."""


class Expired(Exception):
    """The API no longer knows what happened since then: list again (410 Gone)."""


class QuotaFull(SandboxUnavailable):
    """The namespace has no room for another pod; when others have ended, it will."""


class Throttled(Exception):
    """The API asks to come back later (429).

    Attributes:
        seconds: how much later.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


class Api(Protocol):
    """Calls about pods of one namespace; one request each.

    Raises:
        SandboxUnavailable: worth another try.
        PermanentError: the API refuses this for good.
        Throttled: 429.
    """

    def create(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Create a pod; raises NameTaken."""
        ...

    def get(self, name: str) -> dict[str, Any] | None:
        """A pod, None when there is none."""
        ...

    def delete(self, name: str, uid: str | None, grace_s: int) -> None:
        """Delete a pod, only if it has that uid when one is given; fine when it is gone."""
        ...

    def list(self, selector: str) -> tuple[list[dict[str, Any]], str]:
        """Pods by label selector, and the resource version at which that was so."""
        ...

    def watch(self, selector: str, version: str) -> AbstractContextManager[Iterator[dict[str, Any]]]:
        """Events (`type`, `object`) since a resource version, until the API ends the call; closing it from another
        thread ends it too. Raises Expired."""
        ...

    def interrupt(self) -> None:
        """End a watch under way, and every later one at once."""
        ...


def refusal(doing: str, status: int | None, message: str) -> ParsimonyError:
    """The error that a refusal of the API stands for.

    Args:
        doing: what was tried, a gerund phrase.
        status: HTTP status; None when there was no answer at all.
        message: what the API said.
    """
    text = " ".join(message.split())[:600]
    said = f"{doing}: {text}"
    lower = text.lower()
    if status is None or status == 0:
        return SandboxUnavailable(f"{said}; is the Kubernetes API there?", retry_after=5.0)
    if "exceeded quota" in lower:
        return QuotaFull(said, retry_after=30.0)
    if status in {401, 403}:
        return PermanentError(f"{said}; `parsimony doctor --sandbox kubernetes` says what this account may do")
    if status >= 500 or status in {408, 409, 429}:
        return SandboxUnavailable(said, retry_after=5.0)
    return PermanentError(said)
