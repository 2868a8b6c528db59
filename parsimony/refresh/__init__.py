"""Live refresh: new tasks from sources come into a store and a live set, behind a date gate (docs/refresh.md).

plan = Plan(Live("feed", "live-v1", "live-v1-retired"), folder, ledger, sources, cutoffs)
refresh(plan, now)                 ask the sources once
status(plan, schedule, now)        how store and live set stand
A source has a name, a place and `fetch(since)`: FolderSource, UrlSource, or your own (`Source`).
"""

from parsimony.refresh.admission import Conflict, Sorted
from parsimony.refresh.folder import FolderSource
from parsimony.refresh.history import REFRESHED, History
from parsimony.refresh.model import Fetched, Mark, Offered, Provenance, Source
from parsimony.refresh.refreshing import Answer, Plan, Refreshed, Step, interrupted, refresh
from parsimony.refresh.rotation import Live, Rotated, months_before, strictest
from parsimony.refresh.rowstore import LIVE, RowStore
from parsimony.refresh.status import STANDS, Status, due, status
from parsimony.refresh.url import UrlSource, check_url

__all__ = [
    "LIVE",
    "REFRESHED",
    "STANDS",
    "Answer",
    "Conflict",
    "Fetched",
    "FolderSource",
    "History",
    "Live",
    "Mark",
    "Offered",
    "Plan",
    "Provenance",
    "Refreshed",
    "Rotated",
    "RowStore",
    "Sorted",
    "Source",
    "Status",
    "Step",
    "UrlSource",
    "check_url",
    "due",
    "interrupted",
    "months_before",
    "refresh",
    "status",
    "strictest",
]
