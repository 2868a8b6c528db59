"""Records of measured footprints, one per agent and task: typed, read from results files, checked against each other.

`parsimony analyze` writes them; leaderboard, scoring, sensitivity and release read them.
"""

from parsimony.measurements.files import (
    ResultsFile,
    by_agent,
    parse_records,
    read_bytes,
    read_results,
    require_one_analyzer,
    require_one_rate,
    require_one_track,
    seeds_apart,
    seeds_pooled,
)
from parsimony.measurements.population import POPULATION_FORMAT, Population, check_commit, read_bases
from parsimony.measurements.record import (
    FULL_FILE,
    PATCH_ONLY,
    Base,
    Evaluation,
    Metrics,
    Record,
    read_base,
    required_text,
)
from parsimony.measurements.tracks import PYTHON, track_of

__all__ = [
    "FULL_FILE",
    "PATCH_ONLY",
    "POPULATION_FORMAT",
    "PYTHON",
    "Base",
    "Evaluation",
    "Metrics",
    "Population",
    "Record",
    "ResultsFile",
    "by_agent",
    "check_commit",
    "parse_records",
    "read_base",
    "read_bases",
    "read_bytes",
    "read_results",
    "require_one_analyzer",
    "require_one_rate",
    "require_one_track",
    "required_text",
    "seeds_apart",
    "seeds_pooled",
    "track_of",
]
