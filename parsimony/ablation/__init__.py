"""What each mechanism is worth: take one away, hold everything else, and see what a reader would be told.

The protocol is the build spec's, §8.3 (docs/ablations.md). It works on a finished run; the example sweep shows every
effect.
"""

from parsimony.ablation.model import Ablation, Evidence, Verdict
from parsimony.ablation.suite import ablate

__all__ = ["Ablation", "Evidence", "Verdict", "ablate"]
