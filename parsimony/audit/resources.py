"""Texts that run inside task images: the canaries' payloads, the probe, the tracer."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def text(name: str) -> str:
    """A file of `parsimony/audit/inimage`."""
    return (resources.files("parsimony.audit") / "inimage" / name).read_text(encoding="utf-8")
