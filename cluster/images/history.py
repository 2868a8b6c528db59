"""Bytes of layers, from what an engine tells of the steps that made an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def layer_sizes(layers: Sequence[str], history: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Layer -> bytes, unpacked.

    An engine tells the bytes of each step of an image's making, and not which steps made a layer. Those that added
    bytes did; one that added none may have made an empty layer. What cannot be told for certain is not told.

    Args:
        layers: the lowest first.
        history: steps as the engine lists them, the newest first.
    """
    steps = list(reversed(history))
    with_bytes = [int(step.get("Size") or 0) for step in steps if step.get("Size")]
    if len(with_bytes) == len(layers):
        return dict(zip(layers, with_bytes, strict=True))
    ran = [int(step.get("Size") or 0) for step in steps if step.get("Size") or _may_be_empty_layer(step)]
    return dict(zip(layers, ran, strict=True)) if len(ran) == len(layers) else {}


def _may_be_empty_layer(step: Mapping[str, Any]) -> bool:
    """Whether a step without bytes wrote a layer: commands do, settings do not."""
    command = str(step.get("CreatedBy") or "")
    return "#(nop)" not in command and not command.startswith(
        ("ENV", "LABEL", "CMD", "ENTRYPOINT", "ARG", "USER", "EXPOSE", "VOLUME", "STOPSIGNAL", "HEALTHCHECK", "SHELL")
    )
