"""Downloads over HTTP into a cache: tried again after faults that pass, and continued where the server allows it."""

from __future__ import annotations

import email.utils
import http.client
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from parsimony import __version__
from parsimony.artifacts.cache import Cache, Partial
from parsimony.artifacts.observer import Observer, Quiet
from parsimony.errors import InputError, PermanentError, TemporaryError

MIB: Final = 2**20
MAX_BYTES: Final = 256 * MIB
"""The most that one download may have, unless the caller knows better."""

_CHUNK: Final = 256 * 1024
_NOT_THERE: Final = frozenset({404, 410})
_PASSING: Final = frozenset({408, 425, 429, *range(500, 600)})
_RANGE = re.compile(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18}|\*)")
_LONGEST_PAUSE_S: Final = 60.0


class NotThere(PermanentError):
    """The server says that there is nothing at a URL (404)."""


class FetchFailed(TemporaryError):
    """A download did not succeed, after all tries. Another run may be luckier."""


class Offline(FetchFailed):
    """What is not in the cache was asked for, and the network may not be used."""


@dataclass(slots=True)
class Fetcher:
    """Gives the content of URLs, from the cache or the network. It can be sent to other processes.

    Attributes:
        offline: never use the network.
        refresh: download again what is in the cache, each URL once.
        timeout: seconds without a byte before a try has failed.
        tries: of one download.
        pause: seconds before the second try, doubled before each further one; a random part of it is waited, so that
            many clients do not come back at once.
    """

    cache: Cache
    offline: bool = False
    refresh: bool = False
    timeout: float = 30.0
    tries: int = 5
    pause: float = 1.0
    observer: Observer = field(default_factory=Quiet)
    _refreshed: set[str] = field(default_factory=set)

    def get(self, url: str, *, most: int = MAX_BYTES, lasting: bool = False) -> bytes:
        """The content of a URL.

        Args:
            url: of http, https or file; files of this machine are read where they are.
            most: bytes that it may have.
            lasting: what is there can never change, so that a refresh leaves it.

        Raises:
            NotThere: the server has nothing there, or there is no such file.
            FetchFailed: the network or the server failed on every try; `Offline` if it was not even tried.
            InputError: the URL cannot be used, or the content is too large.
        """
        scheme = _scheme(url)
        if scheme == "file":
            return _read_file(url, most)
        again = self.refresh and not lasting and not self.offline and url not in self._refreshed
        if not again and (found := self.cache.read(url)) is not None:
            return found
        if self.offline:
            if self.cache.is_absent(url):
                raise NotThere(f"{url} was not there when it was asked for")
            raise Offline(f"{url} is not in the cache {self.cache.folder}, and --offline forbids to ask for it")
        self._refreshed.add(url)
        return self._download(url, most, replace=again)

    def _download(self, url: str, most: int, *, replace: bool) -> bytes:
        with self.cache.partial(url) as part:
            # While we waited for the lock, another process may have brought it.
            if not replace and (found := self.cache.read(url)) is not None:
                part.path.unlink(missing_ok=True)
                return found
            for failures in range(1, self.tries + 1):
                try:
                    self._attempt(url, part, most)
                    break
                except _Passing as fault:
                    if failures == self.tries:
                        raise FetchFailed(f"{url}: {fault} ({failures} tries)") from None
                    self._wait(url, fault, failures)
        return self.cache.path(url).read_bytes()

    def _wait(self, url: str, fault: _Passing, failures: int) -> None:
        longest = min(self.pause * 2 ** (failures - 1), _LONGEST_PAUSE_S)
        seconds = min(fault.retry_after, _LONGEST_PAUSE_S) + random.uniform(0, longest)  # noqa: S311 - no secret
        self.observer.waiting(url, str(fault), seconds)
        time.sleep(seconds)

    def _attempt(self, url: str, part: Partial, most: int) -> None:
        """One try. Raises `_Passing` for a fault that is worth another."""
        request = urllib.request.Request(url, headers={"User-Agent": f"parsimony/{__version__}"})  # noqa: S310 - checked
        have, tag = part.received, part.tag
        if have and tag:
            request.add_header("Range", f"bytes={have}-")
            request.add_header("If-Range", tag)
        try:
            response = _OPENER.open(request, timeout=self.timeout)
        except urllib.error.HTTPError as error:
            with error:
                self._refused(url, part, error)
        except (OSError, http.client.HTTPException) as error:
            raise _Passing(_told(error)) from None
        if response is None:
            raise FetchFailed(f"{url} leads to an address that is not of HTTP")
        with response:
            try:
                self._receive(url, part, response, most)
            except http.client.HTTPException as error:
                raise _Passing(_told(error)) from None

    def _refused(self, url: str, part: Partial, error: urllib.error.HTTPError) -> None:
        if error.code in _NOT_THERE:
            self.cache.mark_absent(url)
            part.path.unlink(missing_ok=True)
            raise NotThere(f"{url}: HTTP {error.code}") from None
        if error.code == 416:  # what came before is longer than what is there now
            part.restart(None)
            raise _Passing("HTTP 416") from None
        if error.code in _PASSING:
            raise _Passing(f"HTTP {error.code}", _retry_after(error.headers.get("Retry-After"))) from None
        raise FetchFailed(f"{url}: HTTP {error.code} {error.reason}") from None

    def _receive(self, url: str, part: Partial, response: http.client.HTTPResponse, most: int) -> None:
        total = self._begin(part, response)
        received = part.received
        while True:
            if max(received, total or 0) > most:
                part.restart(None)
                raise InputError(f"is larger than {most} bytes", mend="it cannot be what it is taken for", file=url)
            try:
                chunk = response.read(_CHUNK)
            except OSError as error:
                raise _Passing(_told(error)) from None
            if not chunk:
                break
            part.file.write(chunk)
            received += len(chunk)
            self.observer.downloading(url, received, total)
        part.file.flush()
        if total is not None and received != total:
            if received > total:
                part.restart(None)
            raise _Passing(f"the connection ended after {received} of {total} bytes")
        part.finish()

    def _begin(self, part: Partial, response: http.client.HTTPResponse) -> int | None:
        """Get ready for the body: go on at the end of what is here, or from the start. The size of the whole."""
        told = _RANGE.fullmatch(response.headers.get("Content-Range", "")) if response.status == 206 else None
        if told is not None and int(told[1]) == part.received:
            return None if told[2] == "*" else int(told[2])
        if response.status == 206:
            part.restart(None)
            raise _Passing("the server sent another part than the one that was asked for")
        # Only a strong tag names bytes; a date may stand for two versions of one second, but is what S3 and git have.
        tag = response.headers.get("ETag") or response.headers.get("Last-Modified")
        encoded = response.headers.get("Content-Encoding", "identity") != "identity"
        part.restart(None if tag is None or tag.startswith("W/") or encoded else tag)
        length = response.headers.get("Content-Length", "")
        return int(length) if re.fullmatch(r"\d{1,18}", length) else None


class _Passing(Exception):
    """A fault that may pass."""

    def __init__(self, text: str, retry_after: float = 0.0) -> None:
        self.retry_after = retry_after
        super().__init__(text)


def _opener() -> urllib.request.OpenerDirector:
    """One that speaks HTTP alone: a redirection never leads to a file of this machine."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


_OPENER = _opener()


def _told(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return f"{type(reason).__name__}: {reason}" if isinstance(reason, Exception) else str(reason)


def _retry_after(value: str | None) -> float:
    """Seconds that a server asks us to wait: it gives a number or a date."""
    if value is None:
        return 0.0
    if re.fullmatch(r"\d{1,6}", value):
        return float(value)
    try:
        return max(0.0, (email.utils.parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return 0.0


def _scheme(url: str) -> str:
    try:
        parts = urllib.parse.urlsplit(url)
        usable = parts.scheme == "file" or (parts.scheme in {"http", "https"} and bool(parts.hostname))
    except ValueError:
        usable = False
    # Blanks and control characters would end the request line, or start a header of somebody's choice.
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise InputError("is no URL of http, https or file", mend="mend the address", file=ascii(url)[1:-1][:200])
    return parts.scheme


def _read_file(url: str, most: int) -> bytes:
    parts = urllib.parse.urlsplit(url)
    if parts.netloc not in {"", "localhost"}:
        raise InputError("names a file of another machine", mend="leave the host out: file:///path", file=url)
    path = Path(urllib.parse.unquote(parts.path))
    try:
        if path.stat().st_size > most:
            raise InputError(f"is larger than {most} bytes", mend="it cannot be what it is taken for", file=str(path))
        return path.read_bytes()
    except FileNotFoundError:
        raise NotThere(f"{path} is not there") from None
    except (OSError, ValueError) as error:
        raise InputError(
            f"cannot be read: {error}", mend="check the path and its permissions", file=str(path)
        ) from None
