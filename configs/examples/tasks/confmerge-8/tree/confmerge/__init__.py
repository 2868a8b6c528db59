"""Layered settings."""

from confmerge.environment import from_environment
from confmerge.merging import DELETE, merge

__all__ = ["DELETE", "from_environment", "merge"]
