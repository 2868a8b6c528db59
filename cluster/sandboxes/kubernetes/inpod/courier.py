"""What runs in a pod beside the candidate: brings the inbox, carries output and outbox back, and holds the deadline.

It is given to `python3 -c` as text, in an image of its own, with Python 3.6 or newer and nothing else, and shares
with the candidate's container two volumes and no process. `fetch` is the pod's init container, `courier` runs beside
the candidate. The wire between the two containers is a pair of pipes that exist before the candidate and have no name
any more when it starts:

    log      its output, read while it is written and kept as head, tail and count
    control  what ends it: a line, or the courier's own end

`PARSIMONY_COURIER` holds JSON: `host`, `port`, `name`, `token`, `deadline`, `disk`, `output`, `artifacts`, `entries`.
"""

import fcntl
import hashlib
import http.client
import json
import os
import select
import signal
import stat
import sys
import tarfile
import threading
import time

ROOT, WIRE = "/parsimony", "/.parsimony-wire"
LOG, CONTROL = WIRE + "/log", WIRE + "/control"
CHUNK = 1 << 18
PIPE = 1 << 20
SET_PIPE_SIZE = 1031
TRIES = 5
SILENCE_S = 150.0  # an agent that does not answer for so long is dead, and its candidate is nobody's
LOOK_S = 0.2
FIRST_LOOK_AT_DISK_S = 0.5
MAX_DEPTH = 64


class GoneError(Exception):
    """The agent does not want this pod any more."""


class Agent(object):
    """The one that made this pod, over HTTP."""

    def __init__(self, settings):
        self._address = settings["host"], settings["port"]
        self._prefix = "/" + settings["name"] + "/"
        self._headers = {"Authorization": "Bearer " + settings["token"]}

    def ask(self, verb, method="GET", data=None):
        """Headers and body of an answer; a call that fails on the way is made again."""
        return self._patiently(lambda connection: self._ask(connection, verb, method, data))

    def send(self, verb, pieces):
        """Send a body of unknown length, with its digest after it. `pieces()` gives it from the beginning."""
        self._patiently(lambda connection: self._send(connection, verb, pieces()))

    def _patiently(self, call):
        for attempt in range(1, TRIES + 1):
            connection = http.client.HTTPConnection(*self._address, timeout=60)
            try:
                return call(connection)
            except (OSError, http.client.HTTPException, ValueError) as error:
                if attempt == TRIES:
                    raise
                sys.stderr.write("%s: %s\n" % (type(error).__name__, error))
            finally:
                connection.close()
            time.sleep(0.5 * attempt)
        raise AssertionError("not reached")

    def _ask(self, connection, verb, method, data):
        connection.request(method, self._prefix + verb, data, self._headers)
        answer = connection.getresponse()
        body = answer.read()
        self._check(answer.status, body)
        return answer.headers, body

    def _send(self, connection, verb, pieces):
        connection.putrequest("PUT", self._prefix + verb)
        for name, value in self._headers.items():
            connection.putheader(name, value)
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders()
        digest, length = hashlib.sha256(), 0
        for piece in pieces:
            if piece:
                digest.update(piece)
                length += len(piece)
                connection.send(b"%x\r\n" % len(piece) + piece + b"\r\n")
        trailer = "0\r\nParsimony-Digest: %s\r\nParsimony-Length: %d\r\n\r\n" % (digest.hexdigest(), length)
        connection.send(trailer.encode("ascii"))
        answer = connection.getresponse()
        self._check(answer.status, answer.read())

    @staticmethod
    def _check(status, body):
        if status in (401, 403, 404, 410):
            raise GoneError("the agent answered %d" % status)
        if status != 200:
            raise ValueError("the agent answered %d: %s" % (status, body[:200].decode("utf-8", "replace")))


# ---- before the candidate


def fetch(settings):
    """Fill the inbox and lay the wire."""
    headers, data = Agent(settings).ask("inbox")
    if hashlib.sha256(data).hexdigest() != headers["Parsimony-Digest"]:
        raise ValueError("the inbox came damaged")
    os.umask(0)
    unpack(data)
    for path in (LOG, CONTROL):
        os.mkfifo(path, 0o666)


def unpack(data):
    """Write the agent's archive below the root; it holds folders and files, parents first."""
    with tarfile.open(fileobj=_Reader(data), mode="r|", errors="surrogateescape") as archive:
        for member in archive:
            path = os.fsencode(os.path.join(ROOT, member.name))
            if member.isdir():
                os.mkdir(path)
            else:
                source = archive.extractfile(member)
                with open(path, "wb") as file:
                    for piece in iter(lambda: source.read(CHUNK), b""):  # noqa: B023 - used up at once
                        file.write(piece)
            os.chmod(path, member.mode)


class _Reader(object):
    def __init__(self, data):
        self._rest = memoryview(data)

    def read(self, size):
        piece, self._rest = self._rest[:size], self._rest[size:]
        return bytes(piece)


# ---- beside the candidate


class Output(object):
    """The first and the last half of at most `limit` bytes, and how many there were."""

    def __init__(self, limit):
        self._head_limit, self._tail_limit = limit - limit // 2, limit // 2
        self._head, self._tail = bytearray(), bytearray()
        self.total = 0

    def write(self, data):
        """Take in the next bytes."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[max(0, len(data) - self._tail_limit) :]
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    def kept(self):
        """Head and tail; all is in the head when nothing was left out."""
        head, tail = bytes(self._head), bytes(self._tail[max(0, len(self._tail) - self._tail_limit) :])
        return (head + tail, b"") if len(head) + len(tail) == self.total else (head, tail)


class Courier(object):
    """Follows one candidate from its first line to its outbox."""

    def __init__(self, settings):
        self._settings = settings
        self._agent = Agent(settings)
        self._output = Output(settings["output"])
        self._collect, self._gone = threading.Event(), threading.Event()
        self._log = os.open(LOG, os.O_RDONLY | os.O_NONBLOCK)
        self._control = os.open(CONTROL, os.O_RDWR)
        self._ending = "exited"
        self._began = self._ended = None
        self._disk_at = 0.0
        try:
            fcntl.fcntl(self._log, SET_PIPE_SIZE, PIPE)
        except OSError:
            pass  # a smaller pipe is only slower

    def run(self):
        """All of it."""
        if not self._greeted():
            return
        orders = threading.Thread(target=self._take_orders)
        orders.daemon = True
        orders.start()
        self._follow()
        while not self._collect.wait(LOOK_S):
            if self._gone.is_set():
                raise GoneError("nobody asks for the result")
        self._agent.send("result", self._result)

    def _greeted(self):
        """Wait for the candidate's shell at the other end; the names of the pipes go before it gets its word."""
        poller, greeting = self._poller(), b""
        while not greeting.endswith(b"\n"):
            poller.poll()
            piece = os.read(self._log, 1)
            if not piece:
                return False  # it ended without a word: the agent sees that by itself
            greeting += piece
        for path in (LOG, CONTROL):
            os.unlink(path)
        self._agent.ask("started", "POST", b"{}")
        self._began = time.monotonic()
        self._disk_at = self._began + FIRST_LOOK_AT_DISK_S
        os.write(self._control, b"go\n")
        return True

    def _poller(self):
        poller = select.poll()
        poller.register(self._log, select.POLLIN)
        return poller

    def _follow(self):
        """Read output to its end, which is the container's end, or until the agent wants what there is."""
        poller = self._poller()
        while not self._collect.is_set() or self._readable(poller):
            if self._gone.is_set():
                raise GoneError("the agent is gone")
            if self._readable(poller, LOOK_S):
                data = os.read(self._log, PIPE)
                if not data:
                    break
                self._output.write(data)
            self._look_at_limits()
        self._ended = time.monotonic()

    @staticmethod
    def _readable(poller, patience_s=0.0):
        return bool(poller.poll(int(patience_s * 1000)))

    def _look_at_limits(self):
        now = time.monotonic()
        if self._ending != "exited":
            return
        if now - self._began >= self._settings["deadline"]:
            self._end("deadline")
        elif now >= self._disk_at:
            over = sum(used(path) for path in (ROOT, WIRE)) > self._settings["disk"]
            # Walking costs: at most a twentieth of the time may go into it.
            self._disk_at = time.monotonic() + max(FIRST_LOOK_AT_DISK_S, 20 * (time.monotonic() - now))
            if over:
                self._end("disk_limit")

    def _end(self, ending):
        self._ending = ending
        os.write(self._control, b"end\n")

    def _take_orders(self):
        heard = time.monotonic()
        while True:
            try:
                _, body = self._agent.ask("orders", "POST", b"{}")
                heard = time.monotonic()
            except GoneError:
                break
            except (OSError, http.client.HTTPException, ValueError):
                if time.monotonic() - heard > SILENCE_S:
                    break
                continue
            if json.loads(body.decode("ascii"))["do"] == "collect":
                self._collect.set()
                return
        self._gone.set()

    def _result(self):
        head, tail = self._output.kept()
        about = {
            "ending": self._ending,
            "head": len(head),
            "tail": len(tail),
            "total": self._output.total,
            "seconds": self._ended - self._began,
        }
        try:
            top = os.open(ROOT + "/out", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            top = None
        about["outbox"] = top is not None
        yield json.dumps(about).encode("ascii") + b"\n"
        yield head
        yield tail
        if top is not None:
            try:
                for piece in Packer(self._settings["artifacts"], self._settings["entries"]).folder(top, "out", 0):
                    yield piece
            finally:
                os.close(top)
            yield bytes(2 * tarfile.BLOCKSIZE)


class Packer(object):
    """A folder as a tar stream: nothing through a link, and no further than the cap, whose entry has only a header."""

    def __init__(self, most_bytes, most_entries):
        self._bytes, self._entries = most_bytes, most_entries
        self.full = False

    def folder(self, folder, path, depth):
        """The pieces of an open folder."""
        for name in sorted(os.listdir(folder)):
            if self.full:
                return
            for piece in self._entry(folder, name, path + "/" + name, depth):
                yield piece

    def _entry(self, folder, name, path, depth):
        try:
            handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        except OSError:  # a link, a socket, a device without a driver
            yield self._header(path, tarfile.FIFOTYPE, 0)
            return
        try:
            status = os.fstat(handle)
            if stat.S_ISDIR(status.st_mode) and depth < MAX_DEPTH:
                for piece in self.folder(handle, path, depth + 1):
                    yield piece
            elif stat.S_ISREG(status.st_mode):
                yield self._header(path, tarfile.REGTYPE, status.st_size)
                if not self.full:
                    for piece in content(handle, status.st_size):
                        yield piece
            else:
                yield self._header(path, tarfile.FIFOTYPE, 0)
        finally:
            os.close(handle)

    def _header(self, path, kind, size):
        self._bytes -= size
        self._entries -= 1
        self.full = self._bytes < 0 or self._entries < 0
        info = tarfile.TarInfo(path)
        info.type, info.size, info.mode = kind, size, 0o644
        return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


def content(handle, size):
    """Exactly `size` bytes of a file, padded to a block; one that shrinks meanwhile is filled with zeros."""
    left = size
    while left:
        data = os.read(handle, min(left, CHUNK)) or bytes(min(left, CHUNK))
        left -= len(data)
        yield data
    yield bytes(-size % tarfile.BLOCKSIZE)


def used(path):
    """Bytes on disk below a folder; a file with several names counts once when all of them are here."""
    total, folders = 0, [path]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    total += status.st_blocks * 512 // max(1, status.st_nlink if entry.is_file() else 1)
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError:  # it went away, or is nested beyond what a path can name
            continue
    return total


def main(role):
    """Do what the container is there for."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143))  # the candidate ends with the wire
    settings = json.loads(os.environ["PARSIMONY_COURIER"])
    try:
        if role == "fetch":
            fetch(settings)
        else:
            Courier(settings).run()
    except GoneError as error:
        sys.exit("called off: %s" % error)


if __name__ == "__main__":
    main(sys.argv[1])
