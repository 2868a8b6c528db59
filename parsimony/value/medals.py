"""Submissions to competitions become medals, and medals the rate that MLE-bench reports: any medal, over competitions,
as mean and standard error over seeds."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

from parsimony.errors import InputError
from parsimony.plainrows import PlainRow, read_plain_rows
from parsimony.value.leaderboards import Leaderboard, Medal

ONLY: Final = "all"
"""The arm of rows that name none."""
ENOUGH_SEEDS: Final = 3
"""Seeds from which MLE-bench reports a mean."""
_MEDALS: Final = (Medal.GOLD, Medal.SILVER, Medal.BRONZE)
_Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One submission. `score` None: the grader refused it, or there was none; it wins nothing."""

    competition: str
    arm: str
    seed: int
    score: float | None
    row: int


def read_attempts(path: Path) -> tuple[list[Attempt], list[InputError]]:
    """The submissions of a file of `competition_id`, `seed`, `score`, `valid` and perhaps `arm` (JSON lines or CSV).

    A row needs a score, or `valid: false`. The same competition, arm and seed twice: the second row is rejected.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    found: dict[tuple[str, str, int], Attempt] = {}
    rejected: list[InputError] = []
    for row in read_plain_rows(path, ("competition_id", "seed"), ("score", "valid", "arm")):
        if isinstance(row, InputError):
            rejected.append(row)
            continue
        try:
            one = _attempt(row)
            earlier = found.get((one.competition, one.arm, one.seed))
            if earlier is not None:
                problem = f"{one.competition!r}, arm {one.arm!r}, seed {one.seed} is already in line {earlier.row}"
                raise InputError(problem, mend="keep one of the two", field="competition_id")
        except InputError as error:
            rejected.append(error.at(file=str(path), row=row.number))
        else:
            found[one.competition, one.arm, one.seed] = one
    return list(found.values()), rejected


def _attempt(row: PlainRow) -> Attempt:
    seed = row.number_of("seed")
    if seed != int(seed) or seed < 0:
        raise InputError.wrong("seed", row.values["seed"], "a whole number, 0 or more")
    valid = _valid(row.values.get("valid"))
    told = row.values.get("score")
    blank = told is None or (isinstance(told, str) and not told.strip())
    if valid is not False and blank:
        raise InputError.wrong("score", None, "a number, or `valid` must be false: then the submission wins nothing")
    score = None if valid is False else row.number_of("score")
    arm = ONLY if row.values.get("arm") in (None, "") else row.text("arm").strip()
    return Attempt(row.text("competition_id").strip(), arm, int(seed), score, row.number)


def _valid(value: object) -> bool | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        return value.strip().lower() == "true"
    raise InputError.wrong("valid", value, "true or false")


@dataclass(frozen=True, slots=True)
class SeedMedals:
    """One seed of an arm.

    Attributes:
        medals: how many competitions ended with each.
        invalid: submissions that were refused; above_median: truly better than the median team.
        missing: planned competitions without a row: neither a medal nor none.
    """

    seed: int
    competitions: int
    medals: Mapping[Medal, int]
    above_median: int
    invalid: int
    missing: int

    @property
    def any_medal(self) -> tuple[Fraction, Fraction]:
        """Share of competitions with a medal: if no missing one, and if every missing one, had one."""
        won = sum(self.medals.get(one, 0) for one in _MEDALS)
        return Fraction(won, self.competitions), Fraction(won + self.missing, self.competitions)


@dataclass(frozen=True, slots=True)
class MedalTable:
    """The medals of one arm.

    Attributes:
        each: what every submission won, by competition and seed; what is not there is missing.
    """

    arm: str
    competitions: tuple[str, ...]
    seeds: tuple[SeedMedals, ...]
    each: Mapping[_Key, Medal]

    @property
    def missing(self) -> int:
        """Planned submissions without a row."""
        return sum(one.missing for one in self.seeds)

    @property
    def mean(self) -> tuple[Fraction, Fraction]:
        """The any-medal rate, mean over seeds; the two ends differ where something is missing."""
        low, high = zip(*(one.any_medal for one in self.seeds), strict=True)
        return sum(low, Fraction(0)) / len(low), sum(high, Fraction(0)) / len(high)

    @property
    def standard_error(self) -> float | None:
        """Of the mean over seeds, with n - 1; None for one seed, and while something is missing."""
        if self.missing or len(self.seeds) < 2:
            return None
        return math.sqrt(statistics.variance([one.any_medal[0] for one in self.seeds]) / len(self.seeds))

    def rate_of(self, medal: Medal) -> Fraction:
        """Share of submissions that won just this; what is missing counts as not."""
        return Fraction(sum(one.medals.get(medal, 0) for one in self.seeds), len(self.seeds) * len(self.competitions))


def tally(
    attempts: Iterable[Attempt], boards: Mapping[str, Leaderboard], competitions: Sequence[str]
) -> list[MedalTable]:
    """The medals of each arm, arms in the order of their first row.

    Args:
        attempts: those of other competitions do not count.
        boards: by competition; one for each of `competitions`.
        competitions: what was planned, for every arm and each of its seeds.
    """
    planned = set(competitions)
    by_arm: dict[str, dict[_Key, Attempt]] = {}
    for one in attempts:
        if one.competition in planned:
            by_arm.setdefault(one.arm, {})[one.competition, one.seed] = one
    return [_table(arm, some, boards, tuple(competitions)) for arm, some in by_arm.items()]


def _table(
    arm: str,
    some: Mapping[_Key, Attempt],
    boards: Mapping[str, Leaderboard],
    competitions: tuple[str, ...],
) -> MedalTable:
    each = {key: boards[key[0]].medal(one.score) for key, one in some.items()}
    rows = []
    for seed in sorted({seed for _, seed in some}):
        mine = {name: some[name, seed] for name in competitions if (name, seed) in some}
        rows.append(
            SeedMedals(
                seed,
                len(competitions),
                Counter(each[name, seed] for name in mine),
                sum(boards[name].above_median(one.score) for name, one in mine.items()),
                sum(one.score is None for one in mine.values()),
                len(competitions) - len(mine),
            )
        )
    return MedalTable(arm, competitions, tuple(rows), each)
