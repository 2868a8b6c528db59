"""A file of rows behind a URL as a source. Nothing of it reaches the scoring path: it only fills the store.

Redirections stay with the scheme (http may become https): a server cannot lead to a file of this machine, nor from an
encrypted connection to an open one. What was fetched before is asked for with its ETag or its date (RFC 9110, 13.1).
"""

from __future__ import annotations

import gzip
import http.client
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from parsimony import __version__
from parsimony.canonical import digest_bytes
from parsimony.errors import InputError, TemporaryError
from parsimony.refresh.folder import SUFFIXES
from parsimony.refresh.model import Fetched, Mark
from parsimony.refresh.reading import RowFile

MIB: Final = 2**20
MAX_BYTES: Final = 256 * MIB
TIMEOUT_S: Final = 60.0
_CHUNK: Final = 256 * 1024
_PASSING: Final = frozenset({408, 425, 429, *range(500, 600)})


@dataclass(frozen=True, slots=True)
class UrlSource:
    """A file of rows at a URL of http, https or file: JSON, JSON lines, gzip of these, Parquet.

    Attributes:
        defaults: for fields that rows do not have, as `parsimony.tasks.read_tasks` takes them.
        timeout_s: seconds for the whole download.
        max_bytes: of the file, packed and unpacked.

    Raises:
        InputError: it is no such URL, or it holds a password, which the ledger would keep.
    """

    name: str
    url: str
    defaults: Mapping[str, object] = field(default_factory=dict)
    timeout_s: float = TIMEOUT_S
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        check_url(self.url)

    @property
    def place(self) -> str:
        """The URL."""
        return self.url

    def fetch(self, since: Mark | None) -> Fetched:
        """The rows of the file, unless it is the one of the mark: digest, ETag and date of the last one.

        Raises:
            TemporaryError: the network or the server failed, or it took too long.
            InputError: the server refuses, leads elsewhere, or the file is too large or damaged.
        """
        before = since if since is not None and since.get("url") == self.url else {}
        with tempfile.TemporaryDirectory(prefix="parsimony-refresh-") as folder:
            path = Path(folder, "rows" + _suffix(self.url))
            mark = self._copy(path) if self.url.lower().startswith("file:") else self._download(path, before)
            if mark is None or mark["sha256"] == before.get("sha256"):
                return Fetched((), (), {**before, **(mark or {})}, unchanged=True)
            _unpack(path, self.max_bytes, self.url)
            file = RowFile(path, self.url, self.name, mark["sha256"], local=False)
            offered, rejected = file.read(self.defaults)
            return Fetched(tuple(offered), tuple(rejected), mark)

    def _copy(self, to: Path) -> dict[str, str]:
        """A file of this machine."""
        path = Path(urllib.request.url2pathname(urllib.parse.urlsplit(self.url).path))
        try:
            with path.open("rb") as file:
                data = file.read(self.max_bytes + 1)
        except OSError as error:
            problem = f"cannot be read ({error.strerror or error})"
            raise InputError(problem, mend="check the path", file=self.url) from None
        if len(data) > self.max_bytes:
            raise self._too_large()
        to.write_bytes(data)
        return {"url": self.url, "sha256": digest_bytes(data)}

    def _download(self, to: Path, before: Mark) -> dict[str, str] | None:
        """Fetch into a file; the mark of what came, None where the server says that it is what it was."""
        headers = {"User-Agent": f"parsimony/{__version__}", "Accept-Encoding": "identity"}
        if before.get("etag"):
            headers["If-None-Match"] = before["etag"]
        if before.get("last_modified"):
            headers["If-Modified-Since"] = before["last_modified"]
        request = urllib.request.Request(self.url, headers=headers)  # noqa: S310 - the scheme was checked
        deadline = time.monotonic() + self.timeout_s
        try:
            with _opener().open(request, timeout=self.timeout_s) as response, to.open("wb") as file:
                self._receive(response, file, deadline)
                told = response.headers
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 304 and before:
                    return None
                raise self._refused(error) from None
        except (OSError, http.client.HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise TemporaryError(f"{self.url}: {reason or type(error).__name__}") from None
        mark = {"url": self.url, "sha256": digest_bytes(to.read_bytes())}
        for name, header in (("etag", "ETag"), ("last_modified", "Last-Modified")):
            if told.get(header):
                mark[name] = str(told[header])
        return mark

    def _receive(self, response: http.client.HTTPResponse, file: IO[bytes], deadline: float) -> None:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isascii() and length.isdecimal() and len(length) < 19 else None
        received = 0
        while True:
            if max(received, total or 0) > self.max_bytes:
                raise self._too_large()
            # One read of the socket: a server that drips is found out by the clock.
            chunk = response.read1(_CHUNK)
            if not chunk:
                break
            if time.monotonic() > deadline:
                raise TemporaryError(f"{self.url}: took longer than {self.timeout_s:g} s")
            file.write(chunk)
            received += len(chunk)
        if total is not None and received != total:
            raise TemporaryError(f"{self.url}: the connection ended after {received} of {total} bytes")

    def _too_large(self) -> InputError:
        mend = "raise max_mib if it is what you want"
        return InputError(f"is larger than {self.max_bytes / MIB:g} MiB", mend=mend, file=self.url)

    def _refused(self, error: urllib.error.HTTPError) -> TemporaryError | InputError:
        if error.code in _PASSING:
            told = (error.headers.get("Retry-After") or "") if error.headers else ""
            pause = float(told) if told.isascii() and told.isdecimal() and len(told) < 7 else 0.0
            return TemporaryError(f"{self.url}: HTTP {error.code} {error.reason}", retry_after=pause)
        if 300 <= error.code < 400:
            problem = f"is redirected (HTTP {error.code}) to where no file of rows is fetched from, or in a circle"
            return InputError(problem, mend="give the URL that it leads to", file=self.url)
        return InputError(f"gives HTTP {error.code} {error.reason}", mend="check the URL", file=self.url)


def check_url(url: str) -> None:
    """Whether rows may be fetched from a URL.

    Raises:
        InputError: they may not; `field` is url.
    """
    wanted = "a URL of http, https or file, without a user and a password"
    try:
        parts = urllib.parse.urlsplit(url)
        _ = parts.port
    except ValueError:
        raise InputError.wrong("url", url, wanted) from None
    local = parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/")
    remote = parts.scheme in ("http", "https") and bool(parts.hostname)
    if not (local or remote) or "@" in parts.netloc or not url.isprintable() or not url.isascii() or " " in url:
        shown = urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        raise InputError.wrong("url", shown, wanted)


class _SameScheme(urllib.request.HTTPRedirectHandler):
    """Follows redirections that stay with the scheme, or go from http to https."""

    def redirect_request(  # noqa: PLR0917 - the signature of the library
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        """The next request; an `HTTPError` of the redirection itself where it may not be followed."""
        before, after = urllib.parse.urlsplit(req.full_url).scheme, urllib.parse.urlsplit(newurl).scheme
        if after != before and (before, after) != ("http", "https"):
            raise urllib.error.HTTPError(req.full_url, code, msg, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener() -> urllib.request.OpenerDirector:
    """One that speaks HTTP alone."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _SameScheme(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _suffix(url: str) -> str:
    """What the name in a URL says of the kind of file; "" when it says nothing."""
    name = urllib.parse.unquote(urllib.parse.urlsplit(url).path).lower().removesuffix(".gz")
    return next((suffix for suffix in SUFFIXES if name.endswith(suffix)), "")


def _unpack(path: Path, most: int, called: str) -> None:
    """Replace a gzip file by what is in it, which may not be larger than `most` either."""
    with path.open("rb") as file:
        if file.read(2) != b"\x1f\x8b":
            return
    fresh = path.with_name("unpacked")
    try:
        with gzip.open(path) as packed, fresh.open("wb") as out:
            size = 0
            while chunk := packed.read(_CHUNK):
                size += len(chunk)
                if size > most:
                    problem = f"holds more than {most / MIB:g} MiB when it is unpacked"
                    raise InputError(problem, mend="raise max_mib if it is what you want", file=called)
                out.write(chunk)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"is damaged gzip: {error}", mend="have it packed again", file=called) from None
    fresh.replace(path)
