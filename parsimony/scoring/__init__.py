"""The experimental footprint score: frozen reference panels, scores with bounds, and how sure their order is.

    panel = freeze(records, "my-panel")      # once; entrants never change it
    rows = score(panel, records)             # best first
    intervals = rank_intervals(rows)         # paired bootstrap over tasks

The rule is in `rule`; on the command line it is `python -m parsimony.scoring`.
"""

from parsimony.scoring.panel import Panel, Reference, freeze, measured_in_full, units
from parsimony.scoring.ranks import cluster_draws, rank_intervals, task_clusters
from parsimony.scoring.rule import SCORE_VERSION, Scale, floored
from parsimony.scoring.score import AgentScore, State, TaskScore, score, task_score

__all__ = [
    "SCORE_VERSION",
    "AgentScore",
    "Panel",
    "Reference",
    "Scale",
    "State",
    "TaskScore",
    "cluster_draws",
    "floored",
    "freeze",
    "measured_in_full",
    "rank_intervals",
    "score",
    "task_clusters",
    "task_score",
    "units",
]
