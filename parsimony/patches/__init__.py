"""Patches as bytes: read them, prepare them for grading, apply them strictly in memory."""

from parsimony.patches.application import FileResult, PatchResult, apply, hunks
from parsimony.patches.forms import Prepared, Variant, prepare
from parsimony.patches.model import ChangeKind, FilePatch, Hunk, Patch, Problem, ProblemKind
from parsimony.patches.reader import is_blank, parse
from parsimony.patches.strict import Section, StrictResult, apply_strict

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
    "Section",
    "StrictResult",
    "Variant",
    "apply",
    "apply_strict",
    "hunks",
    "is_blank",
    "parse",
    "prepare",
]
