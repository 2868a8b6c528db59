"""One order, depth first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from toposort.graph import CycleError, Graph


def order(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """Names, each after all that it needs, in the order of their mention where that leaves a choice.

    Raises:
        CycleError: some need each other.
    """
    graph = Graph(needs)
    done: list[str] = []
    visited: set[str] = set()

    def visit(name: str, path: list[str]) -> None:
        if name in path:
            raise CycleError([*path, name])
        if name in visited:
            return
        visited.add(name)
        for needed in graph.needs[name]:
            visit(needed, [*path, name])
        done.append(name)

    for name in graph:
        visit(name, [])
    return done
