"""Development, regression and holdout sets of tasks, in an append-only ledger (docs/sets.md).

store = SetStore.open(Path("parsimony-ledger.jsonl"))
store.create("holdout-v1", Role.HOLDOUT_LIVE, tasks, "live:swe_bench_live")
record_comparison(path, comparison, task_ids=..., runs=...)
may_generalize(task_ids, store, cutoffs={"model": cutoff}).label
"""

from collections.abc import Iterable
from pathlib import Path

from parsimony.chain import Entry
from parsimony.records import ABComparison
from parsimony.sets.generalization import NO_LEDGER, Decision, may_generalize, models_of, of_run, refused
from parsimony.sets.model import Member, SourceKind, TaskSet, fingerprint, parse_name, status_of
from parsimony.sets.state import State
from parsimony.sets.store import SetStore


def record_comparison(ledger: Path, comparison: ABComparison, *, task_ids: Iterable[str], runs: Iterable[str]) -> Entry:
    """Write a comparison into a ledger. A holdout task that is compared for a second change is burned by it.

    Args:
        ledger: made when it is not there yet.
        task_ids: the tasks that the comparison was made on.
        runs: identities of the runs (`Run.run_id`) that it was made from.

    Raises:
        LedgerError: the ledger was changed, or cannot be written.
    """
    return SetStore.open(ledger).record_comparison(comparison, task_ids, runs)


__all__ = [
    "NO_LEDGER",
    "Decision",
    "Member",
    "SetStore",
    "SourceKind",
    "State",
    "TaskSet",
    "fingerprint",
    "may_generalize",
    "models_of",
    "of_run",
    "parse_name",
    "record_comparison",
    "refused",
    "status_of",
]
