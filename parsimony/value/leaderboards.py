"""Medals by the leaderboard of a competition (MLE-bench, arXiv:2410.07095): which position still has one, and what
score that position had."""

from __future__ import annotations

import csv
import io
import math
import statistics
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from parsimony import strict_json
from parsimony.errors import InputError

PLACES: Final = 5
"""Decimal places to which a submission's score is rounded before it is compared."""
_LARGE_FILE: Final = "version https://git-lfs"


class Medal(StrEnum):
    """What a submission won; only the best counts."""

    GOLD = "gold"
    SILVER = "silver"
    BRONZE = "bronze"
    NONE = "none"


def positions(teams: int) -> tuple[int, int, int]:
    """The last positions, from 1, that have gold, silver and bronze, by the number of teams.

    ======================== ==================== ============ ============
    teams                    gold                 silver       bronze
    ======================== ==================== ============ ============
    under 100                10 %                 20 %         40 %
    100 to 249               10                   20 %         40 %
    250 to 999               10 + 0.2 %           50           100
    1000 and more            10 + 0.2 %           5 %          10 %
    ======================== ==================== ============ ============

    Shares are rounded down; each position is 1 at least.
    """
    if teams < 1:
        raise ValueError(f"{teams} teams")
    if teams < 100:
        found = (teams // 10, teams // 5, 2 * teams // 5)
    elif teams < 250:
        found = (10, teams // 5, 2 * teams // 5)
    elif teams < 1000:
        found = (10 + teams // 500, 50, 100)
    else:
        found = (10 + teams // 500, teams // 20, teams // 10)
    gold, silver, bronze = (max(1, one) for one in found)
    return gold, silver, bronze


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """The scores of a competition's teams, best first.

    Attributes:
        scores: one per team, finite, in order; one at least.
    """

    competition: str
    scores: tuple[float, ...]

    @property
    def lower_is_better(self) -> bool:
        """Whether the first team has the smaller score. Equal scores count as higher is better."""
        return self.scores[0] < self.scores[-1]

    @property
    def thresholds(self) -> tuple[float, float, float]:
        """The scores that gold, silver and bronze need."""
        gold, silver, bronze = positions(len(self.scores))
        return self.scores[gold - 1], self.scores[silver - 1], self.scores[bronze - 1]

    def medal(self, score: float | None) -> Medal:
        """What a score wins; None is an invalid submission, which wins nothing. Ties with a position count."""
        if score is None:
            return Medal.NONE
        for medal, needed in zip((Medal.GOLD, Medal.SILVER, Medal.BRONZE), self.thresholds, strict=True):
            if self._as_good(round(score, PLACES), needed):
                return medal
        return Medal.NONE

    def above_median(self, score: float | None) -> bool:
        """Whether a score is truly better than the median of the teams."""
        if score is None:
            return False
        return not self._as_good(statistics.median(self.scores), round(score, PLACES))

    def _as_good(self, one: float, other: float) -> bool:
        return one <= other if self.lower_is_better else one >= other


def read_leaderboard(path: Path, competition: str) -> Leaderboard:
    """The leaderboard of a CSV file with a column `score`, a team a line, best first; other columns are not read.

    Raises:
        InputError: the file is not there, is a pointer of Git LFS, has no such column, no team, a score that is no
            number, or is not in order: positions would then mean nothing.
    """
    try:
        text = strict_json.decode_utf8(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", mend="check the path", file=str(path)) from None
    except InputError as error:
        raise error.at(file=str(path)) from None
    if text.startswith(_LARGE_FILE):
        raise InputError("is a pointer of Git LFS, not the file", mend="fetch the large files", file=str(path), row=1)
    scores: list[float] = []
    try:
        rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        if "score" not in (rows.fieldnames or ()):
            mend = "a leaderboard has a column of that name, a team a line, best first"
            raise InputError("is no column of the header", mend=mend, file=str(path), row=1, field="score")
        scores.extend(_score(row.get("score"), str(path), rows.line_num) for row in rows)
    except csv.Error as error:
        raise InputError(f"is no CSV ({error})", mend="mend it", file=str(path)) from None
    if not scores:
        raise InputError("has no team", mend="a leaderboard has a team a line", file=str(path))
    _check_order(scores, str(path))
    return Leaderboard(competition, tuple(scores))


def _score(text: str | None, file: str, line: int) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError.wrong("score", text or None, "a finite number").at(file=file, row=line)
    return value


def _check_order(scores: list[float], file: str) -> None:
    sign = 1 if scores[0] < scores[-1] else -1
    for number in range(1, len(scores)):
        if sign * scores[number] < sign * scores[number - 1]:
            problem = f"is not in order: team {number + 1} has {scores[number]} after {scores[number - 1]}"
            raise InputError(problem, mend="sort it, best first", file=file, field="score")
