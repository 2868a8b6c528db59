"""What the events of a run tell: plans, commands, the queue."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from cluster.metrics.values import Values
from cluster.rows import epoch


class History:
    """The events of a run, and how many executions there are beside them.

    Attributes:
        missing: jobs that were given up, as a counter by outcome.
        begun: when each command on the run began. told: number of a command -> its seconds, of those that ended.
    """

    def __init__(self) -> None:
        self.missing: Counter[str] = Counter()
        self.begun: list[float] = []
        self.told: dict[int, float] = {}
        self._ended: float | None = None
        self._last: float | None = None
        self._succeeded: float | None = None
        self._orphans = 0
        self._plan: Mapping[str, Any] | None = None
        self._given_up: set[int] = set()  # jobs of the newest plan
        self._executed = 0

    def progress(self, at: Any) -> None:
        """A job ended."""
        self._executed += 1
        self._moved(at)

    def event(self, row: Mapping[str, Any]) -> None:
        """An event row."""
        name, at = row["name"], epoch(row["at"])
        data = json.loads(row["data"] or "{}")
        if name in {"run.started", "run.resumed"}:
            self.begun.append(at)
            self._ended = None
        elif name == "run.planned":
            self._plan = data
            self._given_up = set()
            self._moved(at)
        elif name == "job.missing":
            self.missing["missing"] += 1
            self._given_up.add(hash(data["key"]))
            self._moved(at)
        elif name == "orphans.removed":
            self._orphans += data["count"]
        elif name == "run.ended" and self.begun:
            self._ended = at
            self.told[len(self.begun) - 1] = float(data["wall_seconds"])
        elif name == "run.census" and data["planned"] and not data["missing"]:
            self._succeeded = at

    def _moved(self, at: Any) -> None:
        if at is not None:
            self._last = max(self._last or 0.0, epoch(at))

    def values(self, sweep: str, running: int | None) -> Values:
        """What they say; what is not known is not there.

        Args:
            running: jobs under way, where the driver tells.
        """
        one = (sweep,)
        found: dict[str, dict[tuple[str, ...], float]] = {"parsimony_orphans_removed_total": {one: self._orphans}}
        if self._plan is not None:
            found["parsimony_planned_jobs"] = {one: self._plan["executions"]}
            found["parsimony_planned_candidates"] = {one: self._plan["units"]}
            found["parsimony_queue_jobs"] = {(sweep, k): v for k, v in self._queue(self._plan, running).items()}
        moments = {
            "sweep_started": self.begun[-1] if self.begun else None,
            "sweep_ended": self._ended,
            "last_progress": self._last,
            "last_success": self._succeeded,
        }
        for name, at in moments.items():
            if at is not None:
                found[f"parsimony_{name}_timestamp_seconds"] = {one: at}
        return found

    def _queue(self, plan: Mapping[str, Any], running: int | None) -> dict[str, int]:
        """Jobs of the plan by state. Executions under other conditions, which follow the plan, are not in it."""
        planned = int(plan["executions"])
        missing = min(len(self._given_up), planned)
        # Plans of older versions do not tell how many executions the ledger held: then all of them count.
        since = self._executed - int(plan["executed"]) if "executed" in plan else self._executed
        before = planned - int(plan["pending"]) if "executed" in plan else 0
        done = min(before + since, planned - missing)
        left = planned - missing - done
        if running is None:
            return {"done": done, "missing": missing, "pending": left}
        under_way = min(running, left)
        return {"done": done, "missing": missing, "pending": left - under_way, "running": under_way}
