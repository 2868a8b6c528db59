"""The executed-test runner: turns (task, patch) into one self-contained execution request, and what came back into an
`Execution`. It is the witness, not the judge (build spec §3.1)."""

from parsimony.runner.policy import RUNNER_VERSION, Policy, execution_key
from parsimony.runner.reading import read
from parsimony.runner.request import FootprintWanted, GradingOrder, Reading, build_order, refusal
from parsimony.runner.sources import source_language
from parsimony.runner.variants import PLAIN, VARIANTS, applies

__all__ = [
    "PLAIN",
    "RUNNER_VERSION",
    "VARIANTS",
    "FootprintWanted",
    "GradingOrder",
    "Policy",
    "Reading",
    "applies",
    "build_order",
    "execution_key",
    "read",
    "refusal",
    "source_language",
]
