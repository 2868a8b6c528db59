"""Patches as bytes: read them, prepare them for grading, apply them strictly in memory."""

from parsimony.patches.forms import Prepared, Variant, prepare
from parsimony.patches.model import ChangeKind, FilePatch, Hunk, Patch, Problem, ProblemKind
from parsimony.patches.reader import is_blank, parse
from parsimony.patches.strict import FileResult, PatchResult, apply

__all__ = [
    "ChangeKind",
    "FilePatch",
    "FileResult",
    "Hunk",
    "Patch",
    "PatchResult",
    "Prepared",
    "Problem",
    "ProblemKind",
    "Variant",
    "apply",
    "is_blank",
    "parse",
    "prepare",
]
