"""Cost beside correctness: what candidates and gradings cost by dated prices, and what a resolved task costs.

See docs/costs.md.
"""

from parsimony.cost_ledger.arms import ArmCost, CandidateCost, by_arm
from parsimony.cost_ledger.entries import Entry, Kind, Total, entries, with_prices
from parsimony.cost_ledger.prices import MICRO, ComputePrice, ModelPrice, PriceTable, price, price_compute
from parsimony.cost_ledger.ranking import Ranked, point, rank
from parsimony.cost_ledger.reconcile import Reconciliation, reconcile
from parsimony.cost_ledger.rows import CostRow, RowKind
from parsimony.cost_ledger.spent import spent_by_arm

__all__ = [
    "MICRO",
    "ArmCost",
    "CandidateCost",
    "ComputePrice",
    "CostRow",
    "Entry",
    "Kind",
    "ModelPrice",
    "PriceTable",
    "Ranked",
    "Reconciliation",
    "RowKind",
    "Total",
    "by_arm",
    "entries",
    "point",
    "price",
    "price_compute",
    "rank",
    "reconcile",
    "spent_by_arm",
    "with_prices",
]
