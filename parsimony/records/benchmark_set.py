"""`BenchmarkSet`: which tasks may be called what (build spec, section 5.3)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from parsimony.errors import InputError
from parsimony.records.kinds import Count, Flag, Text
from parsimony.records.record import Record

_REFRESH_SOURCE = re.compile(r"(?:static|live|timestamp_gated|held_out):\S+")


class Role(StrEnum):
    """What a set is for. Only `holdout_live` gives a number that may be called generalization."""

    DEVELOPMENT = "development"
    REGRESSION = "regression"
    HOLDOUT_LIVE = "holdout_live"


class ContaminationStatus(StrEnum):
    """What a model may have seen of a set. Assigned by rule, never self-reported."""

    KNOWN = "known"
    PARTIALLY_KNOWN = "partially_known"
    UNSEEN = "unseen"
    CONTINUOUSLY_REFRESHED = "continuously_refreshed"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkSet(Record):
    """A named set of tasks.

    A burned set is never `unseen`, and a holdout is `unseen` or `continuously_refreshed`: other records are refused.

    Attributes:
        set_id: a stable name with a version.
        task_ids: the tasks, each once.
        refresh_source: what feeds the set: `static:`, `live:`, `timestamp_gated:` or `held_out:` and a name.
        last_decision_use: epoch seconds of the last decision that used these tasks; 0 = none.
        burned: these tasks were used for a decision.
    """

    set_id: Text
    role: Role
    task_ids: tuple[Text, ...]
    contamination_status: ContaminationStatus
    refresh_source: Text
    last_decision_use: Count
    burned: Flag

    def _check(self) -> None:
        if len(set(self.task_ids)) != len(self.task_ids):
            raise InputError("holds a task twice", mend="name each task once", field="task_ids")
        if not _REFRESH_SOURCE.fullmatch(self.refresh_source):
            raise InputError(
                f"is {self.refresh_source[:60]!r}",
                mend="it must be static:, live:, timestamp_gated: or held_out: and a name",
                field="refresh_source",
            )
        if self.burned and self.contamination_status is ContaminationStatus.UNSEEN:
            raise InputError(
                "is unseen, but the set is burned", mend="a burned set is not unseen", field="contamination_status"
            )
        fresh = (ContaminationStatus.UNSEEN, ContaminationStatus.CONTINUOUSLY_REFRESHED)
        if self.role is Role.HOLDOUT_LIVE and self.contamination_status not in fresh:
            raise InputError(
                f"is {self.contamination_status}",
                mend="a holdout is unseen or continuously_refreshed",
                field="contamination_status",
            )
