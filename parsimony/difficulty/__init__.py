"""How hard tasks are and how much they tell: item response theory, and the mid-range set of a bank of tasks."""

from parsimony.difficulty.analysis import Difficulty, Item, Options, Respondent, analyse
from parsimony.difficulty.band import Band, Place, information, pass_rates
from parsimony.difficulty.bank import Bank, Response, bank_of, read_responses
from parsimony.difficulty.gathering import By, Gathered, gather
from parsimony.difficulty.model import Fitted, fit
from parsimony.difficulty.stability import Correlation, Stability, kendall_tau, spearman_rho, stability

__all__ = [
    "Band",
    "Bank",
    "By",
    "Correlation",
    "Difficulty",
    "Fitted",
    "Gathered",
    "Item",
    "Options",
    "Place",
    "Respondent",
    "Response",
    "Stability",
    "analyse",
    "bank_of",
    "fit",
    "gather",
    "information",
    "kendall_tau",
    "pass_rates",
    "read_responses",
    "spearman_rho",
    "stability",
]
