"""Having Ray in this process, and the few calls of it that every part of the engine makes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import threading
from collections.abc import Iterator
from typing import Any, Final

import ray

from parsimony.errors import PermanentError, SandboxUnavailable

OBJECT_STORE_BYTES: Final = 100_000_000
"""Replies are small; what is large goes to files."""

SENTENCE: Final = 300
"""Characters of a message that are told."""

NAMESPACE: Final = "parsimony"


def connect(address: str | None) -> bool:
    """Have Ray in this process. Returns whether that was our doing, and so is its end.

    Args:
        address: of a cluster; None = $RAY_ADDRESS, else a Ray of our own on this machine.

    Raises:
        SandboxUnavailable: Ray does not start here, or nobody answers at the address.
        PermanentError: the cluster and this process do not fit together.
    """
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns of a change that is none for us
    where = address or os.environ.get("RAY_ADDRESS") or "local"
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "namespace": NAMESPACE}
    if where == "local":
        options |= {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES}
    with _sigterm_kept():
        try:
            _start(where, options)
        except ConnectionError as error:
            raise SandboxUnavailable(
                f"no Ray cluster answers at {where}: {said(error)}; start one with `ray start --head`, "
                "or leave the address out for a Ray of our own"
            ) from error
        except Exception as error:
            if where == "local":
                raise SandboxUnavailable(f"Ray does not start on this machine: {said(error)}") from error
            raise PermanentError(f"cannot work with the Ray at {where}: {said(error)}") from error
    # Ray prints what its raylet says of dead workers to stdout, which is for results; the engine logs such things.
    ray._private.worker._worker_logs_enabled = False
    return True


def _start(where: str, options: dict[str, Any]) -> None:
    """A Ray of our own gets a second try: its processes give each other only seconds to start, which a busy machine
    may not grant."""
    try:
        ray.init(address=where, **options)
    except Exception:
        ray.shutdown()
        if where != "local":
            raise
        ray.init(address=where, **options)


@contextlib.contextmanager
def _sigterm_kept() -> Iterator[None]:
    """Keep what SIGTERM means: Ray takes it for itself when it starts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def answer(ref: Any) -> asyncio.Future[Any]:
    """The result of a call, to be awaited in the event loop that runs."""
    return asyncio.wrap_future(ref.future())


def kill(actor: Any) -> None:
    """End an actor at once, whatever it does. Its own processes go with it."""
    with contextlib.suppress(ray.exceptions.RayError):  # it is dead already
        ray.kill(actor, no_restart=True)


def said(error: BaseException) -> str:
    """What an error says, in one line. Of the pages that Ray makes, the last line is the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1 if isinstance(error, ray.exceptions.RayError) else 0][:SENTENCE]
