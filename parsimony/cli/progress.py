"""How a run looks while it goes on: a bar with counts, rate and estimate on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.text import Text

from cluster.plan import Plan, Unit
from cluster.session import Observer
from parsimony.cli import screen
from parsimony.scorer import Verdict

LINE_EVERY_S = 15.0
"""Seconds between two lines where there is no terminal."""


class Tally:
    """What every observer counts: verdicts by outcome, and the speed of the jobs that really ran."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.pending = 0
        self.done = 0
        self.started = time.monotonic()

    def line(self) -> str:
        """`12 resolved, 3 not_resolved, 1 timed_out`."""
        return ", ".join(f"{n} {outcome}" for outcome, n in self.outcomes.most_common()) or "no verdict yet"

    def estimate(self) -> str:
        """Rate, and how long the rest takes at this rate; empty while too little is known."""
        passed = time.monotonic() - self.started
        if self.done < 2 or passed < 1:
            return ""
        rate = self.done / passed
        left = (self.pending - self.done) / rate
        per = f"{rate:.1f}/s" if rate >= 1 else f"{60 * rate:.1f}/min"
        return f"{per}, about {screen.seconds(left)} left"


class Quiet:
    """For machines: says nothing; results are printed at the end."""

    def __init__(self) -> None:
        self.tally = Tally()

    def planned(self, plan: Plan, pending: int, rejected: int) -> None:
        """See `cluster.session.Observer`."""
        self.tally.pending, self.tally.started = pending, time.monotonic()

    def verdict(self, unit: Unit, verdict: Verdict) -> None:
        """See `cluster.session.Observer`."""
        self.tally.outcomes[verdict.outcome.value] += 1

    def progress(self, counts: Any) -> None:
        """See `cluster.session.Observer`."""
        self.tally.done = counts.done + counts.missing

    def message(self, text: str) -> None:
        """See `cluster.session.Observer`."""


def describe_plan(plan: Plan, pending: int, rejected: int) -> str:
    """One line on what is ahead."""
    planned = f"{len(plan.units)} planned, " if plan.units else ""  # calibrating plans no candidates
    text = f"{planned}{len(plan.work)} distinct executions, {pending} to do"
    return f"{text}; {rejected} input rows rejected" if rejected else text


class Lines(Quiet):
    """Where there is no terminal: a line now and then."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console
        self.last = time.monotonic()

    def planned(self, plan: Plan, pending: int, rejected: int) -> None:
        """Says what is ahead."""
        super().planned(plan, pending, rejected)
        self.message(describe_plan(plan, pending, rejected))

    def progress(self, counts: Any) -> None:
        """A line at most every `LINE_EVERY_S` seconds."""
        super().progress(counts)
        if time.monotonic() - self.last >= LINE_EVERY_S:
            self.last = time.monotonic()
            self.message(f"{self.tally.done}/{self.tally.pending} jobs: {self.tally.line()}; {self.tally.estimate()}")

    def message(self, text: str) -> None:
        """Say it."""
        self.console.print(Text(text))


class Bar(Quiet):
    """On a terminal: a bar that stays at the bottom."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.bar, self.row = screen.make_bar(console, "grading")

    def planned(self, plan: Plan, pending: int, rejected: int) -> None:
        """The bar gets its length."""
        super().planned(plan, pending, rejected)
        self.message(describe_plan(plan, pending, rejected))
        self.bar.update(self.row, total=pending, note="starting")

    def progress(self, counts: Any) -> None:
        """The bar moves."""
        super().progress(counts)
        note = f"{self.tally.line()}  {self.tally.estimate()}"
        if counts.retried:
            note += f"  ({counts.retried} retries)"
        self.bar.update(self.row, completed=self.tally.done, note=note)

    def message(self, text: str) -> None:
        """Say it above the bar."""
        self.bar.console.print(Text(text))


@contextmanager
def make_observer(*, as_json: bool) -> Iterator[Observer]:
    """The observer that fits where our messages go (stderr; stdout is for results)."""
    console = screen.console(stderr=True)
    if as_json:
        yield Quiet()
    elif console.is_terminal:
        observer = Bar(console)
        with observer.bar:
            yield observer
    else:
        yield Lines(console)
