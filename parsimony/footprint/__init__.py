"""The footprint of a change: how much code it leaves behind, counted exactly.

The method is in docs/footprint.md.
"""

from parsimony.footprint.measuring import DEFAULT_TRACK, measure, measure_hunks, measure_patch
from parsimony.footprint.model import Footprint, human_ratio
from parsimony.footprint.provenance import ANALYZER_VERSION, Provenance, source_sha256
from parsimony.footprint.tracks import Track, load_track, track_names
from parsimony.scope import ScopeDecision, classify

__all__ = [
    "ANALYZER_VERSION",
    "DEFAULT_TRACK",
    "Footprint",
    "Provenance",
    "ScopeDecision",
    "Track",
    "classify",
    "human_ratio",
    "load_track",
    "measure",
    "measure_hunks",
    "measure_patch",
    "source_sha256",
    "track_names",
]
