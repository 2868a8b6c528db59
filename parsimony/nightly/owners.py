"""Who owns a task: rules of patterns for names of tasks or repositories; the first that fits counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `task` and `repo` are patterns with `*`, `?` and `[…]`; one that is None fits everything."""

    owner: str
    task: str | None = None
    repo: str | None = None

    def fits(self, task: str, repo: str) -> bool:
        """Whether the rule speaks of this task."""
        by_task = self.task is None or fnmatchcase(task, self.task)
        return by_task and (self.repo is None or fnmatchcase(repo, self.repo))


@dataclass(frozen=True, slots=True)
class Owners:
    """All rules, in their order."""

    rules: Sequence[Rule] = ()

    def of(self, task: str, repo: str) -> str | None:
        """The owner of a task; None where no rule fits."""
        return next((rule.owner for rule in self.rules if rule.fits(task, repo)), None)
