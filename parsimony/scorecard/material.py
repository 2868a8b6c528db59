"""What a trial is measured on besides its record in `parsimony.runs`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from parsimony.execution import TestStatus
from parsimony.runs import Trial


@dataclass(frozen=True, slots=True)
class Material:
    """A candidate's patch, and what came of it.

    Attributes:
        patch: as submitted.
        applied: the difference between the base and the tree that was graded; None where nothing was applied, or it was
            not kept whole: then the submitted patch stands for it, and must fit without fuzz.
        tests: what the run reported; empty where nothing was executed.
        skipped_by_gold: tests that the runs of the task's own fix skip as well: nobody can run them here.
        exit_status: of the test command.
        variants: name -> whether the candidate resolves the task in that variant (another hash seed, order of tests,
            locale, a held-out variant of the task).
    """

    patch: bytes = field(repr=False)
    applied: bytes | None = field(default=None, repr=False)
    tests: Mapping[str, TestStatus] = field(default_factory=dict, repr=False)
    skipped_by_gold: frozenset[str] = field(default=frozenset(), repr=False)
    exit_status: int | None = None
    variants: Mapping[str, bool] = field(default_factory=dict)


Materials = Callable[[Trial], Material | None]
"""Gives the material of a trial; None where its candidate is not there."""
