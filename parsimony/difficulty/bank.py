"""The response matrix: who solved what how often. Respondents are rows, tasks columns; cells may be missing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from parsimony.errors import InputError
from parsimony.plainrows import PlainRow, read_plain_rows

Floats = NDArray[np.float64]

MOST_CELLS: Final = 20_000_000
"""Respondents × tasks; some 3 GB at work."""
MOST_TRIALS: Final = 1e6


@dataclass(frozen=True, slots=True)
class Response:
    """How often a respondent solved a task.

    Attributes:
        agent: the system that it is a sample of: all seeds of an arm are one agent.
        successes: of `trials`; need not be whole (the share of a candidate's repeats).
    """

    respondent: str
    agent: str
    task_id: str
    successes: float
    trials: float

    def __post_init__(self) -> None:
        if not 0 < self.trials <= MOST_TRIALS:
            raise InputError.wrong("trials", self.trials, f"more than 0 and at most {MOST_TRIALS:g}")
        if not 0 <= self.successes <= self.trials:
            raise InputError.wrong("successes", self.successes, f"from 0 to the trials, {self.trials:g}")


@dataclass(frozen=True, slots=True)
class Bank:
    """The response matrix, in the order of names.

    Attributes:
        respondents, agents: row by row. tasks: column by column.
        successes, trials: (respondents, tasks); no trials = not known.
    """

    respondents: tuple[str, ...]
    agents: tuple[str, ...]
    tasks: tuple[str, ...]
    successes: Floats = field(repr=False)
    trials: Floats = field(repr=False)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which cells hold something, (respondents, tasks)."""
        return self.trials > 0

    @property
    def shares(self) -> Floats:
        """The share of trials that succeed, (respondents, tasks); 0 where nothing is known."""
        return np.divide(self.successes, self.trials, out=np.zeros_like(self.trials), where=self.trials > 0)

    def of(self, rows: Sequence[int]) -> Bank:
        """The bank of some respondents. Tasks that none of them tried stay, without cells."""
        return Bank(
            tuple(self.respondents[row] for row in rows),
            tuple(self.agents[row] for row in rows),
            self.tasks,
            self.successes[list(rows)],
            self.trials[list(rows)],
        )


def bank_of(responses: Iterable[Response]) -> Bank:
    """The matrix of responses. Several of a respondent to a task add up.

    Raises:
        InputError: there is none, a respondent has two agents, or there are too many.
    """
    responses = list(responses)
    if not responses:
        raise InputError("there is no response with a verdict", mend="give runs or responses that have some")
    agents: dict[str, str] = {}
    for one in responses:
        if agents.setdefault(one.respondent, one.agent) != one.agent:
            raise InputError(
                f"{one.respondent!r} is a sample of {agents[one.respondent]!r} and of {one.agent!r}",
                mend="give respondents of their own names", field="respondent",
            )  # fmt: skip
    tasks = sorted({one.task_id for one in responses})
    names = sorted(agents)
    if len(names) * len(tasks) > MOST_CELLS:
        mend = f"at most {MOST_CELLS:,} cells are fitted; leave out respondents or tasks"
        raise InputError(f"{len(names):,} respondents × {len(tasks):,} tasks are too many", mend=mend)
    rows, columns = ({name: place for place, name in enumerate(some)} for some in (names, tasks))
    successes, trials = np.zeros((len(names), len(tasks))), np.zeros((len(names), len(tasks)))
    for one in responses:
        successes[rows[one.respondent], columns[one.task_id]] += one.successes
        trials[rows[one.respondent], columns[one.task_id]] += one.trials
    return Bank(tuple(names), tuple(agents[name] for name in names), tuple(tasks), successes, trials)


def read_responses(path: Path) -> tuple[list[Response], list[InputError]]:
    """Responses from a table of respondent, task_id, successes, trials, each respondent an agent of its own; and the
    rows that could not be taken.

    Raises:
        InputError: the file cannot be read, or none of its rows can be taken.
    """
    found: dict[tuple[str, str], Response] = {}
    rejected: list[InputError] = []
    for row in read_plain_rows(path, ("respondent", "task_id", "successes", "trials")):
        try:
            if isinstance(row, InputError):
                raise row
            one = Response(
                row.text("respondent"),
                row.text("respondent"),
                row.text("task_id"),
                row.number_of("successes"),
                row.number_of("trials"),
            )
            if (one.respondent, one.task_id) in found:
                problem = f"has {one.respondent!r} on {one.task_id!r} again"
                raise InputError(problem, mend="add its rows up to one", field="task_id")
            found[one.respondent, one.task_id] = one
        except InputError as error:
            rejected.append(error.at(file=str(path), row=row.number if isinstance(row, PlainRow) else None))
    if not found:
        raise rejected[0]
    return list(found.values()), rejected
