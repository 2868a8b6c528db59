"""Scorecards: where in the coding loop each candidate was won or lost, and at what cost (build spec §3.3, §5.2;
docs/scorecard.md). Everything is computed from the patch, the trace, the parsers and the executed tests.

    for note, record in Measurer(Trees()).measure(run, materials):
        ...
"""

from parsimony.scorecard.base import BaseFiles, Trees
from parsimony.scorecard.card import scorecard
from parsimony.scorecard.changes import Base, Unknown
from parsimony.scorecard.material import Material, Materials
from parsimony.scorecard.measuring import Measured, Measurer, no_price
from parsimony.scorecard.note import Note
from parsimony.scorecard.stages import Price

__all__ = [
    "Base",
    "BaseFiles",
    "Material",
    "Materials",
    "Measured",
    "Measurer",
    "Note",
    "Price",
    "Trees",
    "Unknown",
    "no_price",
    "scorecard",
]
