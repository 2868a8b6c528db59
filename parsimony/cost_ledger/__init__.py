"""Cost beside correctness: what candidates and gradings cost by dated prices, and what a resolved task costs.

See docs/costs.md.
"""

from parsimony.cost_ledger.entries import ArmCost, Entry, Kind, Total, by_arm, entries
from parsimony.cost_ledger.prices import ComputePrice, ModelPrice, PriceTable, price, price_compute
from parsimony.cost_ledger.ranking import Ranked, convex_frontier, dominates, frontier, rank

__all__ = [
    "ArmCost",
    "ComputePrice",
    "Entry",
    "Kind",
    "ModelPrice",
    "PriceTable",
    "Ranked",
    "Total",
    "by_arm",
    "convex_frontier",
    "dominates",
    "entries",
    "frontier",
    "price",
    "price_compute",
    "rank",
]
