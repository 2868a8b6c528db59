"""The agent's own small server: pods fetch their inboxes here, say that they have begun, take orders, bring results.

A pod is known by the token that was made for it and that only its fetch and courier containers hold. One thread per
connection; a connection that waits for orders costs a few kilobytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tarfile import TarError
from typing import Any, Final, Literal

import structlog

from cluster.sandboxes import archive
from parsimony.errors import SandboxUnavailable
from parsimony.execution import CapturedOutput, Ending

LONG_POLL_S: Final = 20.0
MOST_LINE: Final = 1 << 16

Order = Literal["wait", "collect"]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a courier brought.

    Attributes:
        ending: EXITED, or the limit at which the courier ended the candidate.
        seconds: from the candidate's start to the end of its output.
        outbox: what was in it; with a note when there was none.
    """

    ending: Ending
    seconds: float
    output: CapturedOutput
    outbox: archive.Outbox


@dataclass(frozen=True, slots=True)
class Begun:
    """The candidate is about to start."""


class Ticket:
    """One pod's business here.

    Args:
        inbox: what it fetches.
        limit: bytes that an outbox may hold.
        tell: called, from the server's threads, with `Begun` and with each `Delivery`.

    Attributes:
        heard_at: when the pod was heard last, by the monotonic clock.
    """

    def __init__(self, inbox: bytes, limit: int, tell: Callable[[Begun | Delivery], None]) -> None:
        self.token = secrets.token_urlsafe(32)
        self.inbox = inbox
        self.limit = limit
        self.tell = tell
        self._order: Order = "wait"
        self._changed = threading.Condition()
        self._void = False
        self._begun = False
        self.heard_at = time.monotonic()

    def collect(self) -> None:
        """The courier brings the result now."""
        with self._changed:
            self._order = "collect"
            self._changed.notify_all()

    def begin(self) -> bool:
        """Let the candidate start, unless it was called off before."""
        with self._changed:
            self._begun = self._begun or not self._void
            allowed = not self._void
        if allowed:
            self.tell(Begun())
        return allowed

    def cancel(self) -> bool:
        """The pod gets no answer but "gone" from now on; whether its candidate may have started."""
        with self._changed:
            self._void = True
            self._changed.notify_all()
            return self._begun

    @property
    def void(self) -> bool:
        """Whether it was cancelled."""
        return self._void

    def order(self, patience_s: float) -> Order:
        """The order in force, waited for when there is none yet."""
        with self._changed:
            self._changed.wait_for(lambda: self._void or self._order != "wait", patience_s)
            return self._order


class PostOffice:
    """The server.

    Args:
        host: address to listen on.
        port: 0 = a free one.

    Raises:
        SandboxUnavailable: nobody can listen there.
    """

    def __init__(self, host: str, port: int) -> None:
        self._tickets: dict[str, Ticket] = {}
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        server = type("_Server", (_Server,), {"address_family": family})
        try:
            self._server: _Server = server((host, port), _Handler)
        except OSError as error:
            raise SandboxUnavailable(
                f"pods cannot be heard at {host}, port {port}: {error}", retry_after=10.0
            ) from error
        self._server.office = self
        self.port: int = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="pods-post", daemon=True)
        self._thread.start()

    @contextlib.contextmanager
    def ticket(self, name: str, ticket: Ticket) -> Iterator[None]:
        """Serve the pod `name` while the block runs."""
        self._tickets[name] = ticket
        try:
            yield
        finally:
            ticket.cancel()
            self._tickets.pop(name, None)

    def find(self, name: str, authorization: str) -> Ticket | None:
        """The ticket of a pod that shows its token; None for anything else."""
        ticket = self._tickets.get(name)
        if ticket is None or ticket.void:
            return None
        if not hmac.compare_digest(authorization.encode(), f"Bearer {ticket.token}".encode()):
            return None
        ticket.heard_at = time.monotonic()
        return ticket

    def close(self) -> None:
        """Stop listening."""
        for ticket in list(self._tickets.values()):
            ticket.cancel()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    office: PostOffice

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A pod that went away in the middle is the platform's news, not ours."""
        log.debug("post.broken", pod=str(client_address))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120
    server: _Server

    def do_GET(self) -> None:
        """The inbox."""
        ticket, verb = self._ticket()
        if ticket is not None and verb == "inbox":
            self._answer(200, ticket.inbox, {"Parsimony-Digest": hashlib.sha256(ticket.inbox).hexdigest()})
        else:
            self._answer(410)

    def do_POST(self) -> None:
        """That it begins; what to do next."""
        self.rfile.read(min(int(self.headers.get("Content-Length") or 0), MOST_LINE))
        ticket, verb = self._ticket()
        if ticket is not None and verb == "started":
            self._answer(200 if ticket.begin() else 410)
        elif ticket is not None and verb == "orders":
            order = ticket.order(LONG_POLL_S)
            self._answer(410) if ticket.void else self._answer(200, json.dumps({"do": order}).encode())
        else:
            self._answer(410)

    def do_PUT(self) -> None:
        """The result."""
        self.close_connection = True
        ticket, verb = self._ticket()
        if ticket is None or verb != "result":
            self._answer(410)
            return
        try:
            delivery = receive(ChunkedBody(self.rfile), ticket.limit)
        except (ValueError, EOFError, TarError) as error:
            log.warning("post.damaged", reason=str(error))
            self._answer(400, str(error).encode())
            return
        ticket.tell(delivery)
        self._answer(200)

    def _ticket(self) -> tuple[Ticket | None, str]:
        name, _, verb = self.path.lstrip("/").partition("/")
        return self.server.office.find(name, self.headers.get("Authorization", "")), verb

    def _answer(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response_only(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Nothing: requests are counted elsewhere."""


class ChunkedBody:
    """The body of a request in chunks, checked against digest and length in its trailer.

    Args:
        source: the connection, after the headers.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        self._digest = hashlib.sha256()
        self._length = 0
        self._rest = b""
        self.ended = False

    def __iter__(self) -> Iterator[bytes]:
        """Pieces to the end.

        Raises:
            EOFError: it breaks off. ValueError: it is damaged.
        """
        if self._rest:
            piece, self._rest = self._rest, b""
            yield piece
        while piece := self._chunk():
            yield piece

    def read(self, size: int) -> bytes:
        """Exactly `size` bytes; raises as iteration."""
        parts, left = [], size
        while left:
            if not self._rest:
                self._rest = self._chunk()
                if not self._rest:
                    raise EOFError("the result breaks off")
            part, self._rest = self._rest[:left], self._rest[left:]
            parts.append(part)
            left -= len(part)
        return b"".join(parts)

    def line(self) -> bytes:
        """Up to a newline, without it; raises as iteration."""
        found = bytearray()
        while (byte := self.read(1)) != b"\n":
            found += byte
            if len(found) > MOST_LINE:
                raise ValueError("the result does not begin with a line")
        return bytes(found)

    def _chunk(self) -> bytes:
        if self.ended:
            return b""
        size = int(self._wire_line(), 16)
        if size == 0:
            self._check_trailer()
            self.ended = True
            return b""
        data: bytes = self._source.read(size)
        if len(data) != size or self._source.read(2) != b"\r\n":
            raise EOFError("the result breaks off")
        self._digest.update(data)
        self._length += size
        return data

    def _check_trailer(self) -> None:
        trailer = {}
        while line := self._wire_line():
            name, _, value = line.partition(b":")
            trailer[name.strip().lower()] = value.strip()
        expected = {
            b"parsimony-digest": self._digest.hexdigest().encode(),
            b"parsimony-length": str(self._length).encode(),
        }
        if trailer != expected:
            raise ValueError("the result came damaged")

    def _wire_line(self) -> bytes:
        line: bytes = self._source.readline(1024)
        if not line.endswith(b"\n"):
            raise EOFError("the result breaks off")
        return line.strip()


def receive(body: ChunkedBody, limit: int) -> Delivery:
    """A delivery: a line of JSON, head and tail of the output, and the outbox as a tar archive.

    Args:
        limit: bytes of the outbox in all.

    Raises:
        ValueError, EOFError, tarfile.TarError: it is damaged or breaks off.
    """
    about = json.loads(body.line())
    output = CapturedOutput(body.read(about["head"]), body.read(about["tail"]), about["total"])
    gone = archive.Outbox(notes=["the outbox is gone"])
    outbox = archive.unpack(body, limit) if about["outbox"] else gone
    for _ in body:  # what lies behind the cap is not kept, but the trailer must be seen
        pass
    return Delivery(Ending(about["ending"]), float(about["seconds"]), output, outbox)
