"""What a model may have seen: the date gate, the decay of its success after its cutoff, and fixes that statements tell.

gate(tasks, cutoff)            which tasks were made after a model's cutoff, for certain
decay(run, cutoff)             pass rates by month, and before against after
leaks(tasks)                   gold lines that stand in the problem statement
"""

from parsimony.contamination.cutoffs import Cutoff, ModelCutoffs
from parsimony.contamination.dates import Moment
from parsimony.contamination.decay import ArmDecay, Decay, Difference, Month, Side, decay
from parsimony.contamination.gate import Gated, gate, gate_task
from parsimony.contamination.leaks import LEAKED_FROM, Leak, leaks

__all__ = [
    "LEAKED_FROM",
    "ArmDecay",
    "Cutoff",
    "Decay",
    "Difference",
    "Gated",
    "Leak",
    "ModelCutoffs",
    "Moment",
    "Month",
    "Side",
    "decay",
    "gate",
    "gate_task",
    "leaks",
]
