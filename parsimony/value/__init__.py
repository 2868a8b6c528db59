"""The economic value axis: dollars earned by resolved tasks, and medals on leaderboards. See docs/value.md."""

from parsimony.value import wording
from parsimony.value.appraisal import DRAWS, FEW, SEED, Appraisal, ArmValue, Contrast, appraise
from parsimony.value.earning import Earning, SeedEarned, earning
from parsimony.value.leaderboards import Leaderboard, Medal, positions, read_leaderboard
from parsimony.value.medals import Attempt, MedalTable, SeedMedals, read_attempts, tally
from parsimony.value.pricelist import PriceList, Worth, read_values, values_of_rows

__all__ = [
    "DRAWS",
    "FEW",
    "SEED",
    "Appraisal",
    "ArmValue",
    "Attempt",
    "Contrast",
    "Earning",
    "Leaderboard",
    "Medal",
    "MedalTable",
    "PriceList",
    "SeedEarned",
    "SeedMedals",
    "Worth",
    "appraise",
    "earning",
    "positions",
    "read_attempts",
    "read_leaderboard",
    "read_values",
    "tally",
    "values_of_rows",
    "wording",
]
