"""Nights: the regression set graded every night, held against the last accepted one (docs/nightly.md).

Book.open(path)                           the ledger of nights: outcomes, what was accepted, what was rolled back
judge(comparisons)                        passed, regression or incomplete
histories(nights)                         per task: newly broken, flaky, ... and since when
missed(schedule, held, now)               nights that did not take place
"""

from parsimony.nightly.account import Account, Point, points, suspects
from parsimony.nightly.book import Book, Conclusion, State
from parsimony.nightly.calendar import due, expected, missed, next_due, read_date
from parsimony.nightly.flips import Flip, History, histories
from parsimony.nightly.gate import Canary, Gate, Kind, broken, judge, unproven
from parsimony.nightly.junit import junit
from parsimony.nightly.markdown import markdown
from parsimony.nightly.model import ArmNight, Cost, Night, TaskNight, night_of
from parsimony.nightly.owners import Owners, Rule

__all__ = [
    "Account",
    "ArmNight",
    "Book",
    "Canary",
    "Conclusion",
    "Cost",
    "Flip",
    "Gate",
    "History",
    "Kind",
    "Night",
    "Owners",
    "Point",
    "Rule",
    "State",
    "TaskNight",
    "broken",
    "due",
    "expected",
    "histories",
    "judge",
    "junit",
    "markdown",
    "missed",
    "next_due",
    "night_of",
    "points",
    "read_date",
    "suspects",
    "unproven",
]
