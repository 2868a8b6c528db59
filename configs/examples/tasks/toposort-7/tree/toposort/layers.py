"""What can be done at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toposort.graph import Graph
from toposort.sorting import order


def layers(needs: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups in order; nobody needs anybody of the same group or of a later one."""
    graph = Graph(needs)
    depth: dict[str, int] = {}
    for name in order(needs):
        depth[name] = 1 + max((depth[needed] for needed in graph.needs[name]), default=-1)
    groups: list[list[str]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for name in graph:
        groups[depth[name]].append(name)
    return groups
