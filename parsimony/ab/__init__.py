"""Controlled comparisons: freeze everything, change one thing, say how sure the difference is (docs/comparisons.md)."""

from parsimony.ab.cells import Cell, Grid, make_grid
from parsimony.ab.changes import Change, Flake
from parsimony.ab.comparison import SMALLEST_EFFECT, Comparison, Look, Options, compare
from parsimony.ab.costs import ArmCost, CostComparison, Distribution, Unit, compare_costs
from parsimony.ab.counts import CountTest, decide, paired_by_seed, significance_of_counts, welch
from parsimony.ab.frozen import NOT_STATED, Frozen, freeze
from parsimony.ab.inference import FEWEST_CLUSTERS, ArmReading, Clusters, Power, Reading
from parsimony.ab.pairing import Pair, Source, align, choose, only_arm
from parsimony.ab.pooling import Pooled, located, pool
from parsimony.ab.recommendation import COST_BOUND, RULE, Advice, Bound, Effect, Price, advise
from parsimony.ab.wording import details, headline
from parsimony.runs import majority

__all__ = [
    "COST_BOUND",
    "FEWEST_CLUSTERS",
    "NOT_STATED",
    "RULE",
    "SMALLEST_EFFECT",
    "Advice",
    "ArmCost",
    "ArmReading",
    "Bound",
    "Cell",
    "Change",
    "Clusters",
    "Comparison",
    "CostComparison",
    "CountTest",
    "Distribution",
    "Effect",
    "Flake",
    "Frozen",
    "Grid",
    "Look",
    "Options",
    "Pair",
    "Pooled",
    "Power",
    "Price",
    "Reading",
    "Source",
    "Unit",
    "advise",
    "align",
    "choose",
    "compare",
    "compare_costs",
    "decide",
    "details",
    "freeze",
    "headline",
    "located",
    "majority",
    "make_grid",
    "only_arm",
    "paired_by_seed",
    "pool",
    "significance_of_counts",
    "welch",
]
