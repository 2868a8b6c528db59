"""The witness's end of the channel: who connects, and what they say. Everything stays in memory.

Runs on Python 3.6 and later with the standard library alone.
"""

import _socket as socket  # the module around it takes longer to load than everything else here
import json
import os
import struct
import time

import witness_kernel as kernel
from parsimony_code import signer

MAX_SESSIONS = 200
MAX_LINE = 16 << 20  # bytes of one event
MAX_BYTES = 160 << 20  # bytes of all events together


class Session:
    """One connection.

    Attributes:
        link: the socket; None once it was closed.
        pid, uid: of the process that connected, as the kernel says.
        relation: where that process stands: "command" (the test command or a child of it), "inside" (it is, or descends
            from, a process that already has a session), "orphan" (its parents are gone), "unknown".
        inside: pid of the session that it is inside of.
        events: JSON texts (bytes) in order; loaded: those of the kind `loaded`, as dictionaries; first: the first one
            that says more than that the session was opened.
        bad_frames: lines that were not signed events in sequence.
        connected_at: epoch seconds.
    """

    def __init__(self, link, key, pid, uid, relation, inside):
        self.link, self.pid, self.uid, self.relation, self.inside = link, pid, uid, relation, inside
        self.command_line = kernel.command_line(pid) if pid else None
        self.connected_at = time.time()
        self.events, self.loaded, self.first = [], [], None
        self.bad_frames = 0
        self.truncated = False
        self._sign = signer(key)
        self._buffer = bytearray()

    @property
    def closed(self):
        """The other side has closed the connection."""
        return self.link is None

    def take(self, data):
        """Bytes from the socket."""
        self._buffer += data
        if b"\n" not in data:
            if len(self._buffer) > MAX_LINE:
                self.bad_frames += 1
                self._buffer.clear()
            return
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer = bytearray(rest)
        for line in lines:
            self._frame(line)

    def finish(self):
        """The connection ended: what stands after the last line feed was no event."""
        if self._buffer:
            self.bad_frames += 1
            self._buffer.clear()
        if self.link is not None:
            self.link.close()
            self.link = None

    def _frame(self, line):
        number, _, rest = line.partition(b" ")
        mac, _, body = rest.partition(b" ")
        expected = b"%d" % len(self.events)
        if number != expected or mac != self._sign(number + b" " + body)[:32]:
            self.bad_frames += 1
            return
        self.events.append(body)
        if self.first is None or b'"loaded"' in body[:24]:
            self._look_into(body)

    def _look_into(self, body):
        """The first event and those of the kind `loaded` are needed here; all others only pass through."""
        try:
            event = json.loads(body.decode("ascii"))
        except (ValueError, RecursionError):
            event = None
        event = event if isinstance(event, dict) else {}
        if self.first is None and event.get("event") != "opened":
            self.first = event
        if event.get("event") == "loaded":
            self.loaded.append(event)


class Server:
    """A unix socket in a fresh directory, and the sessions that came over it.

    Attributes:
        path: what goes into PARSIMONY_CHANNEL.
        sessions: in the order of their connection.
        findings: plain words on what is wrong beyond single sessions.
    """

    def __init__(self, canaries, tree):
        self._canaries, self._tree = canaries, tree
        self.sessions, self.findings = [], []
        self._bytes = 0
        self._folder, self.path = _fresh_folder()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o666)  # tests may run as any user
        self.listener.listen(64)
        self.listener.setblocking(False)

    def close(self):
        """Take nobody in any more."""
        self.listener.close()
        for session in self.sessions:
            self.drain(session)
            session.finish()
        try:
            os.unlink(self.path)
            os.rmdir(self._folder)
        except OSError:
            pass

    def accept(self, command):
        """Take in whoever waits. Returns the new sessions; `command` is the pid of the test command."""
        fresh = []
        while True:
            try:
                link = socket.socket(fileno=self.listener._accept()[0])
            except OSError:
                return fresh
            if len(self.sessions) >= MAX_SESSIONS:
                link.close()
                self._find("more than %d connections to the channel" % MAX_SESSIONS)
                continue
            session = self._greet(link, command)
            if session is not None:
                self.sessions.append(session)
                fresh.append(session)

    def drain(self, session):
        """Read what a session has sent. False when it has closed its end."""
        while session.link is not None:
            try:
                data = session.link.recv(1 << 16)
            except (BlockingIOError, InterruptedError):
                return True
            except OSError:
                data = b""
            if not data:
                session.finish()
                return False
            self._bytes += len(data)
            if self._bytes <= MAX_BYTES:
                session.take(data)
            else:
                session.truncated = True
                self._find("more than %d bytes were reported" % MAX_BYTES)
        return False

    def _greet(self, link, command):
        key = os.urandom(32)
        try:
            pid, uid, _ = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        except (OSError, AttributeError, struct.error):
            pid, uid = 0, -1
        relation, inside = self._relation(pid, command)
        greeting = {"key": key.hex(), "canaries": self._canaries, "tree": self._tree}
        try:
            link.sendall(json.dumps(greeting).encode("ascii") + b"\n")
            link.setblocking(False)
        except OSError:
            link.close()
            return None
        return Session(link, key, pid, uid, relation, inside)

    def _relation(self, pid, command):
        for session in self.sessions:  # who said something before this one connected has said it by now
            if not session.events:
                self.drain(session)
        speaking = {session.pid for session in self.sessions if session.events}
        if pid in speaking:
            return "inside", pid
        above = kernel.ancestors(pid)
        for parent in above:
            if parent in speaking:
                return "inside", parent
        if pid == command or command in above:
            return "command", None
        return ("orphan" if os.getpid() in above else "unknown"), None

    def _find(self, text):
        if text not in self.findings:
            self.findings.append(text)


def _fresh_folder():
    """A directory that only its owner can list, and the path of a socket in it (at most 107 bytes in all)."""
    problem = None
    for base in ("/tmp", os.environ.get("TMPDIR"), "/var/tmp", "/dev/shm", os.environ.get("PARSIMONY_OUT")):
        if not base:
            continue
        folder = os.path.join(base, ".w" + os.urandom(8).hex())
        path = os.path.join(folder, "s")
        if len(os.fsencode(path)) > 100:
            continue
        try:
            os.mkdir(folder, 0o700)
            os.chmod(folder, 0o711)
        except OSError as error:
            problem = error
            continue
        return folder, path
    raise problem or OSError("no directory for a socket")
