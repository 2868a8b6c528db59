"""Bytes of layers, from what an engine tells of the steps that made an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

MISSING: Final = "<missing>"
"""The id of a step whose image the engine does not have: the steps of an image that was pulled, but for the last."""

_SETTINGS: Final = ("ENV", "LABEL", "CMD", "ENTRYPOINT", "ARG", "USER", "EXPOSE", "VOLUME", "STOPSIGNAL", "HEALTHCHECK")


def layer_sizes(
    layers: Sequence[str], history: Sequence[Mapping[str, Any]], counts: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Layer -> bytes, unpacked; empty where it cannot be told for certain.

    An engine tells the bytes of each step of an image's making, and not which steps made a layer. Those that added
    bytes did; one that added none may have made an empty layer. Steps whose image is here divide the question: it is
    known how many layers there were by then.

    Args:
        layers: the lowest first.
        history: steps as the engine lists them, the newest first.
        counts: id of a step -> layers of its image.
    """
    found: dict[str, int] = {}
    pending: list[Mapping[str, Any]] = []
    known = 0
    for step in reversed(history):
        pending.append(step)
        count = len(layers) if step is history[0] else (counts or {}).get(str(step.get("Id")))
        if count is None:
            continue
        if not known <= count <= len(layers):
            return {}
        sizes = _sizes(pending, count - known)
        if sizes is None:
            return {}
        found |= dict(zip(layers[known:count], sizes, strict=True))
        pending, known = [], count
    return found


def _sizes(steps: Sequence[Mapping[str, Any]], count: int) -> list[int] | None:
    """Bytes of the `count` layers that some steps made; None where more than one answer would do."""
    sizes = [int(step.get("Size") or 0) for step in steps]
    if len(steps) == count:
        return sizes
    for may_be_empty in (lambda _: False, _ran):
        chosen = [size for step, size in zip(steps, sizes, strict=True) if size or may_be_empty(step)]
        if len(chosen) == count:
            return chosen
    return None


def _ran(step: Mapping[str, Any]) -> bool:
    """Whether a step without bytes is one that writes a layer: commands are, settings are not."""
    command = str(step.get("CreatedBy") or "")
    return "#(nop)" not in command and not command.startswith(_SETTINGS)
