"""Semantic versions: reading, order, ranges."""

from semver.ranges import satisfies
from semver.version import Version

__all__ = ["Version", "satisfies"]
