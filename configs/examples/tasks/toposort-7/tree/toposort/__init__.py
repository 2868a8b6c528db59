"""Orders that respect needs."""

from toposort.graph import CycleError, Graph
from toposort.layers import layers
from toposort.sorting import order

__all__ = ["CycleError", "Graph", "layers", "order"]
