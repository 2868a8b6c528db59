"""Processors are reserved by weight, in the order of arrival, and given back whatever happens."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.sandboxes.processors import PREPARED_PER_RUNNING, Processors
from cluster.sandboxes.workers import Aborted

NEVER = threading.Event()


def waits(thread: threading.Thread) -> bool:
    """It has not got through after a moment."""
    thread.join(0.1)
    return thread.is_alive()


@contextmanager
def another(processors: Processors, cpus: float, aborted: threading.Event = NEVER) -> Iterator[threading.Thread]:
    """A thread that runs for an instant as soon as it may."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with processors.running(cpus, aborted):
                pass
        except Aborted as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(10)
        assert not thread.is_alive()
        assert bool(failures) == aborted.is_set()


def test_what_does_not_fit_waits_and_what_fits_does_not() -> None:
    processors = Processors(2.0)
    with processors.running(1.5, NEVER):
        with another(processors, 0.5) as small:
            small.join(10)
        held = processors.running(0.5, NEVER)
        held.__enter__()
        with another(processors, 0.5) as late:
            assert waits(late)
            held.__exit__(None, None, None)


def test_who_came_first_is_not_passed_by() -> None:
    processors = Processors(2.0)
    first = processors.running(1.0, NEVER)
    first.__enter__()
    with another(processors, 2.0) as big:
        assert waits(big)
        with another(processors, 1.0) as small:
            assert waits(small), "one processor is free, but the big one was there before"
            first.__exit__(None, None, None)


def test_who_wants_more_than_there_is_gets_all() -> None:
    with Processors(2.0).running(64.0, NEVER):
        pass


def test_being_called_off_ends_the_wait_and_lets_the_next_pass() -> None:
    processors, aborted = Processors(1.0), threading.Event()
    with processors.running(1.0, NEVER), another(processors, 1.0, aborted) as waiting:
        assert waits(waiting)
        aborted.set()
    with processors.running(1.0, NEVER):
        pass


def test_a_failure_gives_back() -> None:
    processors = Processors(1.0)
    with pytest.raises(ValueError, match="boom"), processors.running(1.0, NEVER):
        raise ValueError("boom")
    with processors.running(1.0, NEVER):
        pass


def test_some_are_made_ready_while_others_run() -> None:
    processors = Processors(1.0)
    held = [processors.prepared(1.0, NEVER) for _ in range(PREPARED_PER_RUNNING)]
    for each in held:
        each.__enter__()
    aborted = threading.Event()
    aborted.set()
    with pytest.raises(Aborted), processors.prepared(1.0, aborted):
        pass
    for each in held:
        each.__exit__(None, None, None)


@given(st.lists(st.floats(0.1, 3.0), min_size=1, max_size=8), st.sampled_from([1.0, 2.0, 2.5]))
def test_never_more_than_there_is(weights: list[float], total: float) -> None:
    processors, lock = Processors(total), threading.Lock()
    now, most = [0.0], [0.0]

    def run(cpus: float) -> None:
        with processors.running(cpus, NEVER):
            with lock:
                now[0] += min(cpus, total)
                most[0] = max(most[0], now[0])
            time.sleep(0.001)
            with lock:
                now[0] -= min(cpus, total)

    threads = [threading.Thread(target=run, args=(cpus,)) for cpus in weights]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert most[0] <= total + 0.002 * len(weights)
    assert not any(thread.is_alive() for thread in threads)
