"""Measures of retrieval: recall, recall among the first k, rank of the first hit.

A ranking is given by its hits: for each distinct item in its order, the targets that it means. Most mean one or none; a
name that two files share means both, and still takes one place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import TypeVar

_T = TypeVar("_T", bound=Hashable)
_Name = TypeVar("_Name", bound=Hashable)

Hits = Sequence[frozenset[_T]]


def hits(
    ranking: Iterable[_Name], targets: Collection[_T], means: Callable[[_Name, _T], bool]
) -> tuple[frozenset[_T], ...]:
    """What each distinct item of a ranking means of `targets`; a repeat takes no place."""
    wanted = tuple(dict.fromkeys(targets))
    return tuple(frozenset(target for target in wanted if means(name, target)) for name in dict.fromkeys(ranking))


def recall(found: Hits[_T], targets: Collection[_T], k: int | None = None) -> float | None:
    """The fraction of `targets` among the first `k` items (all without `k`), 0 to 1: Recall@k of information retrieval
    (Manning, Raghavan and Schütze 2008, chapter 8). None when there are no targets: nothing could be found."""
    wanted = frozenset(targets)
    if not wanted:
        return None
    seen: frozenset[_T] = frozenset().union(*found[:k])
    return len(wanted & seen) / len(wanted)


def first_rank(found: Hits[_T]) -> int:
    """The rank of the first item that means a target, 1 = first; 0 = never."""
    return next((rank for rank, one in enumerate(found, 1) if one), 0)
