"""Patterns for paths."""

from pathglob.ignore import Ignore
from pathglob.matching import match

__all__ = ["Ignore", "match"]
