"""A cost as the ledger of a run holds it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from parsimony.runs import Spend


class RowKind(StrEnum):
    """What a cost row of a run's ledger stands for.

    Attributes:
        LLM: producing a candidate.
        SPENT: executing something, once per execution.
        ATTRIBUTED: the same execution, once for each candidate that it decides, as if each had been graded alone.
    """

    LLM = "llm"
    SPENT = "compute_spent"
    ATTRIBUTED = "compute_attributed"


@dataclass(frozen=True, slots=True)
class CostRow:
    """A cost row of a run's ledger."""

    kind: RowKind
    task_id: str
    arm: str
    seed: int
    repeat: int
    execution_key: str | None
    spend: Spend

    @property
    def identity(self) -> tuple[str, str, int, int]:
        """Task, arm, seed, repeat."""
        return self.task_id, self.arm, self.seed, self.repeat
