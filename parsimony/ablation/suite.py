"""All ablations, in the order of the build spec; the plane against nothing at all comes first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from parsimony.ablation import claims, verdicts
from parsimony.ablation.model import Ablation, Evidence

SUITE: Final[tuple[Callable[[Evidence], Ablation], ...]] = (
    verdicts.plane,
    verdicts.two_sides,
    claims.stages,
    claims.sets,
    claims.dates,
    claims.variance,
    claims.cost,
    verdicts.audit,
    verdicts.zero_learned,
)


def ablate(evidence: Evidence) -> list[Ablation]:
    """Take away one mechanism at a time, everything else held fixed."""
    return [one(evidence) for one in SUITE]
