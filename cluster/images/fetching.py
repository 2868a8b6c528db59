"""Bring images to an engine: several at once, no faster than allowed, and again after faults that pass.

What a registry asks for (429 with Retry-After) holds for every pull from it, not only for the one that was refused.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Protocol

from cluster.imagenames import Registries, is_id, parse
from cluster.images.registry import Manifest, Refused
from cluster.images.store import Stored
from parsimony.errors import DiskFull, ParsimonyError, PermanentError, TemporaryError

FIRST_PAUSE_S: Final = 2.0
LONGEST_PAUSE_S: Final = 300.0


class State(StrEnum):
    """What became of one image."""

    HERE = "here already"
    PULLED = "pulled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Fetched:
    """One image that was wanted.

    Attributes:
        reference: as it was pulled.
        size: bytes of its layers, unpacked; None where it is not here.
        text: why it failed, with the mend.
    """

    reference: str
    state: State
    tries: int = 0
    seconds: float = 0.0
    size: int | None = None
    text: str = ""


class Puller(Protocol):
    """What is needed of an engine (`Store`)."""

    @property
    def platform(self) -> str:
        """Of its images."""
        ...

    def find(self, reference: str) -> Stored | None:
        """See `Store`."""
        ...

    def pull(self, reference: str, told: Callable[[int], None] | None = None) -> None:
        """See `Store`."""
        ...


class Asker(Protocol):
    """What is needed of registries (`RegistryClient`)."""

    def manifest(self, reference: str, platform: str) -> Manifest:
        """See `RegistryClient`."""
        ...


@dataclass(slots=True)
class Pace:
    """When the next pull may begin: a place in the row for each, and registries that asked to be left alone.

    Attributes:
        per_minute: pulls begun per minute; None = any.
        stopped: set when nobody waits for pulls any more.
    """

    per_minute: float | None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] | None = None
    stopped: threading.Event = field(default_factory=threading.Event)
    _next: float = 0.0
    _closed: dict[str, float] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, host: str) -> None:
        """Wait for the turn of a pull from `host`.

        Raises:
            CancelledError: nobody waits for it any more.
        """
        while True:
            if self.stopped.is_set():
                raise CancelledError
            with self._guard:
                now = self.clock()
                begin = max(self._next if self.per_minute is not None else now, self._closed.get(host, now))
                if begin <= now:
                    if self.per_minute is not None:
                        self._next = now + 60.0 / self.per_minute
                    return
            (self.sleep or self.stopped.wait)(begin - now)

    def close(self, host: str, seconds: float) -> None:
        """Leave a registry alone for a while."""
        with self._guard:
            self._closed[host] = max(self._closed.get(host, 0.0), self.clock() + seconds)


@dataclass(slots=True)
class Fetcher:
    """Brings images to one engine.

    Attributes:
        brought: hears the id and the reference of each image that was pulled.
        mirrors: as an image is pulled -> as its own registry calls it, for those that come from a mirror.
    """

    store: Puller
    client: Asker
    registries: Registries
    pace: Pace
    brought: Callable[[str, str], None]
    mirrors: Mapping[str, str] = field(default_factory=dict)
    jitter: Callable[[], float] = random.random

    def fetch(self, references: Iterable[str]) -> Iterator[Fetched]:
        """Bring images here, each once, and tell of each as it is done.

        Raises:
            SandboxUnavailable: the engine does not answer.
        """
        wanted = list(dict.fromkeys(references))
        with ThreadPoolExecutor(max_workers=self.registries.parallel, thread_name_prefix="pull") as pool:
            futures = [pool.submit(self._one, reference) for reference in wanted]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                self.pace.stopped.set()
                for future in futures:
                    future.cancel()

    def _one(self, reference: str) -> Fetched:
        here = self.store.find(reference)
        if here is not None:
            return Fetched(reference, State.HERE, size=here.size)
        if is_id(reference):
            return Fetched(reference, State.FAILED, text="is an id, which cannot be pulled; build or load the image")
        started, host = time.monotonic(), parse(reference).host
        for attempt in range(1, self.registries.tries + 1):
            self.pace.wait(host)
            try:
                self.store.pull(reference)
                return self._done(reference, attempt, started)
            except ParsimonyError as error:
                final, asked = _final(reference, error), 0.0
                if not final:
                    final, asked = self._ask(reference)
                if final or attempt == self.registries.tries:
                    text = final or f"{error} ({attempt} tries); try again later"
                    return Fetched(reference, State.FAILED, attempt, time.monotonic() - started, text=text)
                self.pace.close(host, self._pause(asked, attempt))
        raise AssertionError("a pull has at least one try")

    def _done(self, reference: str, attempt: int, started: float) -> Fetched:
        here = self.store.find(reference)
        if here is None:
            text = "was pulled and is gone; somebody removes images meanwhile (`docker image prune`?)"
            return Fetched(reference, State.FAILED, attempt, time.monotonic() - started, text=text)
        self.brought(here.id, reference)
        return Fetched(reference, State.PULLED, attempt, time.monotonic() - started, here.size)

    def _ask(self, reference: str) -> tuple[str, float]:
        """Why the registry will not give an image, and for how many seconds it asks to be left alone.

        An engine passes on neither how long a registry asked to wait, nor whether it refused or has no such image.
        """
        try:
            self.client.manifest(self.mirrors.get(reference, reference), self.store.platform)
        except Refused as refusal:
            return str(refusal), 0.0
        except TemporaryError as told:
            return "", told.retry_after
        except PermanentError:
            return "", 0.0  # of no use to us, perhaps of use to the engine
        return "", 0.0

    def _pause(self, asked: float, attempt: int) -> float:
        """Seconds until the next try: as the registry asks, else doubled each time; with a random part on top, so that
        many machines do not come back at once."""
        backoff = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2.0 ** (attempt - 1))
        return max(asked, backoff / 2) + self.jitter() * backoff / 2


def _final(reference: str, error: ParsimonyError) -> str:
    """Why another try is pointless; empty where it may help. A full disk is not emptied by waiting."""
    if isinstance(error, DiskFull):
        return f"{error}; free some space, for instance with `parsimony images gc`"
    said = str(error)
    if "x509" in said or "certificate" in said:
        host = parse(reference).host
        mend = f"give the engine its authority as /etc/docker/certs.d/{host}/ca.crt (docs/images.md)"
        return f"the engine does not trust the certificate of {host}; {mend}: {said}"
    return f"{said}; check the name and the tag, or push it" if isinstance(error, PermanentError) else ""
