"""Attempts examined by several processes, and the findings in the order of the attempts."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Final

from parsimony.artifacts.download import Fetcher
from parsimony.artifacts.examine import ERROR, Attempt, Finding, examine
from parsimony.artifacts.observer import Quiet
from parsimony.artifacts.places import Places

DIED: Final = "WorkerDied: the process that measured it was killed, twice (out of memory, or a crash)"

_AHEAD: Final = 4
"""Attempts in flight per worker, so that a large patch does not leave the others idle."""


def examine_all(attempts: Iterable[Attempt], fetcher: Fetcher, places: Places, *, workers: int) -> Iterator[Finding]:
    """The finding of each attempt, in their order.

    With one worker everything happens in this process. With more, a process that dies takes no finding along: what was
    in hand is examined again, one attempt at a time, and only an attempt that kills a process alone is an error.
    """
    if workers == 1:
        for attempt in attempts:
            yield examine(attempt, fetcher, places)
        return
    # What it says would come from many processes at once.
    job = _Job(replace(fetcher, observer=Quiet()), places)
    waiting = iter(attempts)
    while True:
        flight: deque[Attempt] = deque()
        futures: deque[Future[Finding]] = deque()
        pool = _start(workers)
        try:
            for attempt in waiting:
                flight.append(attempt)
                futures.append(pool.submit(job, attempt))
                if len(flight) == workers * _AHEAD:
                    yield futures[0].result()
                    flight.popleft(), futures.popleft()
            while flight:
                yield futures[0].result()
                flight.popleft(), futures.popleft()
        except BrokenProcessPool:
            suspects = list(flight)
        else:
            return
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        yield from _one_by_one(job, suspects)


@dataclass(frozen=True, slots=True)
class _Job:
    fetcher: Fetcher
    places: Places

    def __call__(self, attempt: Attempt) -> Finding:
        return examine(attempt, self.fetcher, self.places)


def _one_by_one(job: _Job, suspects: Iterable[Attempt]) -> Iterator[Finding]:
    """With one attempt in flight, it is the one that killed its process."""
    pool = _start(1)
    try:
        for attempt in suspects:
            try:
                yield pool.submit(job, attempt).result()
            except BrokenProcessPool:
                yield Finding(ERROR, DIED)
                pool.shutdown()
                pool = _start(1)
    finally:
        pool.shutdown(cancel_futures=True)


def _start(workers: int) -> ProcessPoolExecutor:
    # Not by fork: this process has threads, of downloads and of the screen.
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"), initializer=_begin)


def _begin() -> None:
    """In a worker: leave interrupts to the parent, and end when it ends. A worker would wait for work for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        multiprocessing.connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
