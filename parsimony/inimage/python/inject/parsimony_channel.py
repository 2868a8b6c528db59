"""The reporter's end of the channel to the witness. PYTEST_DONT_REWRITE

One connection is one session. The witness greets with a key of this connection; each event goes out as one line,
`SEQUENCE MAC JSON`, numbered from 0 and signed, so that nothing else that writes to the socket can pass for an event.
A process that was forked from the one that connected is silent.

Runs inside the process of the tests, on Python 3.6 and later: it binds what it uses when it is loaded, because tests
replace `json`, `socket`, `os` and clocks with doubles.
"""

import atexit
import fcntl
import json
import os
import socket
import sys
import threading

try:  # the built-in module loads in a tenth of the time of OpenSSL, and tests leave it alone
    from _sha2 import sha256
except ImportError:
    try:
        from _sha256 import sha256
    except ImportError:
        from hashlib import sha256

GREETING_SECONDS = 20.0
RUNNERS = ("pytest", "_pytest", "py", "pluggy", "unittest")
OPEN = {}
HIGH_DESCRIPTOR = 230  # above what tests count, close or duplicate to; below the 1024 of select()


def signer(key):
    """HMAC-SHA256 with `key` (bytes) as a function: message -> hexadecimal digits, as bytes."""
    block = (key if len(key) <= 64 else sha256(key).digest()).ljust(64, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in block))
    outer = sha256(bytes(byte ^ 0x5C for byte in block))

    def sign(message):
        first, second = inner.copy(), outer.copy()
        first.update(message)
        second.update(first.digest())
        return second.hexdigest().encode("ascii")

    return sign


class Client:
    """An open session.

    Attributes:
        canaries: {"pass": name, "fail": name}.
        tree: the work tree, an absolute path, or "".
        startup: files of the work tree that had been loaded before the session was opened.
        send: takes one event, a dictionary of JSON values. `wait=True`: it may go out together with the next one.
            Never raises: once the witness is gone, events are dropped.
    """

    def __init__(self, canaries, tree, send):
        self.canaries, self.tree, self.send = canaries, tree, send
        self.startup = _loaded_from(tree) if tree else []


def session():
    """The session of this process, opened at the first call; None where there is no witness.

    All runs of a process share one session: a second connection would look like somebody else's.
    """
    path = os.environ.get("PARSIMONY_CHANNEL")
    if OPEN.get("pid") != os.getpid() and path is not None:
        OPEN.update(pid=os.getpid(), client=connect(path))
    return OPEN["client"] if OPEN.get("pid") == os.getpid() else None


def connect(path):
    """Open a session at the socket `path`; None when nobody answers."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        link.settimeout(GREETING_SECONDS)
        link.connect(path)
        link = _moved_up(link)
        greeting = json.loads(_line(link).decode("ascii"))
        link.settimeout(None)
        sign = signer(bytes.fromhex(greeting["key"]))
        canaries = {"pass": str(greeting["canaries"]["pass"]), "fail": str(greeting["canaries"]["fail"])}
        tree = str(greeting.get("tree") or "")
    except (OSError, ValueError, KeyError, TypeError):
        link.close()
        return None
    atexit.register(link.close)
    return Client(canaries, tree, _sender(link, sign))


def _sender(link, sign):
    encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
    transmit, current_process, owner, lock = link.sendall, os.getpid, os.getpid(), threading.Lock()
    state = {"sequence": 0, "open": True, "waiting": b""}

    def send(event, wait=False):
        if current_process() != owner or not state["open"]:
            return
        with lock:
            try:
                number = b"%d" % state["sequence"]
                body = encode(event).encode("ascii")
                state["waiting"] += b"%s %s %s\n" % (number, sign(number + b" " + body)[:32], body)
                state["sequence"] += 1
                if not wait:
                    lines, state["waiting"] = state["waiting"], b""
                    transmit(lines)
            except (OSError, ValueError, TypeError):
                # Half a line may be out: the witness must not take what follows for its rest.
                state["open"] = False
                link.close()

    return send


def _moved_up(link):
    try:
        number = fcntl.fcntl(link.fileno(), fcntl.F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR)
    except OSError:
        return link
    moved = socket.socket(fileno=number)
    moved.settimeout(link.gettimeout())
    link.close()
    return moved


def _loaded_from(tree):
    """Files of the work tree among those of the loaded modules, unless a script of the work tree was started. When the
    project is a test runner itself, its own modules are no surprise."""
    folder = os.path.join(os.path.realpath(tree), "")
    files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
    inside = {name: os.path.realpath(file) for name, file in files.items() if isinstance(file, str)}
    inside = {name: file for name, file in inside.items() if file.startswith(folder)}
    if "__main__" in inside:
        return []
    return sorted({file for name, file in inside.items() if name.partition(".")[0] not in RUNNERS})


def _line(link):
    data = b""
    while not data.endswith(b"\n"):
        piece = link.recv(4096)
        if not piece or len(data) > 65536:
            raise OSError("no greeting")
        data += piece
    return data


NAMES = ("PARSIMONY_CHANNEL", "PARSIMONY_TREE", "PYTHONPATH", "PYTEST_PLUGINS", "NODE_OPTIONS")


def leave_environment():
    """Take out of this process's environment what makes child processes report. Returns what `return_to` needs."""
    environ = os.environ
    kept = {name: environ[name] for name in NAMES if name in environ}
    environ.pop("PARSIMONY_CHANNEL", None)
    environ.pop("PARSIMONY_TREE", None)
    here = os.path.dirname(os.path.abspath(__file__))
    _strip(environ, "PYTHONPATH", os.pathsep, lambda entry: os.path.abspath(entry or os.curdir) == here)
    _strip(environ, "PYTEST_PLUGINS", ",", lambda entry: entry == "parsimony_reporter")
    _strip(environ, "NODE_OPTIONS", " ", lambda entry: entry.startswith("--require=") and "preload.cjs" in entry)
    return kept


def return_to(kept):
    """Undo `leave_environment`: the run is over, and the next one of this process is to report."""
    os.environ.update(kept)


def _strip(environ, name, separator, ours):
    value = environ.get(name)
    if value is not None:
        entries = value.split(separator)
        kept = [entry for entry in entries if not ours(entry)]
        if not kept:
            del environ[name]
        elif len(kept) < len(entries):
            environ[name] = separator.join(kept)
