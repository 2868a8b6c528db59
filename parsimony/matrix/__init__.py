"""Models × benchmarks × scaffolds with what they cost (HAL, arXiv:2510.11977). See docs/matrix.md."""

from parsimony.matrix import wording
from parsimony.matrix.cells import Cell, measured, published
from parsimony.matrix.model import Matrix, Placed, labels, points
from parsimony.matrix.rows import FIELDS, Place, PublishedRow, RunRow, parse_row
from parsimony.matrix.standings import Effect, Standing, midranks, scaffold_effects, standings

__all__ = [
    "FIELDS",
    "Cell",
    "Effect",
    "Matrix",
    "Place",
    "Placed",
    "PublishedRow",
    "RunRow",
    "Standing",
    "labels",
    "measured",
    "midranks",
    "parse_row",
    "points",
    "published",
    "scaffold_effects",
    "standings",
    "wording",
]
