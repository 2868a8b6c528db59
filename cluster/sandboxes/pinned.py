"""What every sandbox sets in the environment: the pinned defaults, and where the sandbox's own places are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PINNED: Final[Mapping[str, str]] = {"TZ": "UTC", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}


def environment(requested: Mapping[str, str], *, inbox: str, outbox: str, work: str) -> dict[str, str]:
    """The variables of an execution: what it asked for over the pinned defaults; the places are the sandbox's to set.

    Args:
        requested: `ExecutionRequest.environment`.
        inbox, outbox, work: absolute paths as the command sees them.
    """
    places = {"PARSIMONY_IN": inbox, "PARSIMONY_OUT": outbox, "PARSIMONY_WORK": work}
    return {**PINNED, **requested, **places}
