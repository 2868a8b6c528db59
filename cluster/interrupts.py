"""Signals that ask a run to end: once means drain, twice means now."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def interrupts(call: Callable[[bool], None]) -> Iterator[None]:
    """SIGINT and SIGTERM call `call(False)`, then `call(True)`, and then mean again what they meant before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    seen = 0

    def restore() -> None:
        while before:
            number, handler = before.popitem()
            loop.remove_signal_handler(number)
            signal.signal(number, handler)

    def arrived() -> None:
        nonlocal seen
        seen += 1
        if seen > 1:
            restore()
        call(seen > 1)

    for number in before:
        loop.add_signal_handler(number, arrived)
    try:
        yield
    finally:
        restore()
