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

from parsimony_code import signer

GREETING_SECONDS = 20.0
OPEN = {}
HIGH_DESCRIPTOR = 230  # above what tests count, close or duplicate to; below the 1024 of select()


class Client:
    """An open session.

    Attributes:
        canaries: {"pass": name, "fail": name}.
        tree: the work tree, an absolute path, or "".
        startup: see `_started_from`; None until a runner asks for the session.
        send: takes one event, a dictionary of JSON values. `wait=True`: it may go out together with the next one.
            Never raises: once the witness is gone, events are dropped.
    """

    def __init__(self, canaries, tree, send):
        self.canaries, self.tree, self.send = canaries, tree, send
        self.startup = None


def session():
    """The session of this process, opened at the first call; None where there is no witness.

    All runs of a process share one session: a second connection would look like somebody else's.
    """
    client = _session()
    if client is not None and client.startup is None:
        client.startup = _started_from(client.tree) if client.tree else []
    return client


def open_early(loaded):
    """Open the session of a process that was started to run tests, and say so: from now on no other connection of this
    process, or of one that it starts, is taken for a session.

    Args:
        loaded: names of the modules that were loaded for this, none of them from the work tree.
    """
    OPEN["loaded"] = loaded
    client = _session()
    if client is not None:
        client.send({"event": "opened"})


def _session():
    path = os.environ.get("PARSIMONY_CHANNEL")
    if OPEN.get("pid") != os.getpid() and path is not None:
        OPEN.update(pid=os.getpid(), client=connect(path))
    return OPEN["client"] if OPEN.get("pid") == os.getpid() else None


def take_charge(framework):
    """A run of this framework begins in this process: others that wait for runs have to step back."""
    OPEN["in charge"] = framework
    if framework == "pytest" and "parsimony_unittest" in sys.modules:
        sys.modules["parsimony_unittest"].uninstall()


def in_charge():
    """The framework that runs tests in this process, None when none does."""
    return OPEN.get("in charge")


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


def _started_from(tree):
    """Modules of the work tree that were loaded before the test runner: [(file, it stands in for a module of the
    standard library)]. When the work tree's own script was started, what else it loads is its own business.

    Found by their place on the path: what a module says of itself can be anything."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    main = os.path.realpath(main) if isinstance(main, str) else ""
    folder = os.path.join(os.path.realpath(tree), "")
    library = os.path.dirname(os.path.realpath(os.__file__))
    found = {}
    for entry in sys.path:
        entry = os.path.realpath(entry or os.curdir)
        if os.path.join(entry, "").startswith(folder):
            for name in (_names_in(entry) & sys.modules.keys()) - OPEN.get("loaded", set()):
                standard = _file_of(library, name) is not None
                if standard or not main.startswith(folder):
                    found.setdefault(name, (_file_of(entry, name), standard))
    return sorted(place for place in found.values() if place[0] is not None)


def _names_in(folder):
    try:
        return {entry.partition(".")[0] for entry in os.listdir(folder)}
    except OSError:
        return set()


def _file_of(folder, name):
    for file in (os.path.join(folder, name + ".py"), os.path.join(folder, name, "__init__.py")):
        if os.path.isfile(file):
            return file
    return None


def _line(link):
    data = b""
    while not data.endswith(b"\n"):
        piece = link.recv(4096)
        if not piece or len(data) > 65536:
            raise OSError("no greeting")
        data += piece
    return data


NAMES = (
    "PARSIMONY_CHANNEL", "PARSIMONY_TREE", "PARSIMONY_PYTHONPATH", "PARSIMONY_ORDER",
    "PYTHONPATH", "PYTEST_PLUGINS", "NODE_OPTIONS",
)  # fmt: skip


def leave_environment():
    """Take out of this process's environment what makes child processes report. Returns what `return_to` needs."""
    environ = os.environ
    kept = {name: environ[name] for name in NAMES if name in environ}
    for name in NAMES[:4]:
        environ.pop(name, None)
    here = os.path.dirname(os.path.abspath(__file__))
    _strip(environ, "PYTHONPATH", os.pathsep, lambda entry: os.path.abspath(entry or os.curdir) == here)
    _strip(environ, "PYTEST_PLUGINS", ",", lambda entry: entry == "parsimony_reporter")
    _strip(environ, "NODE_OPTIONS", " ", lambda entry: entry.startswith("--require=") and "preload.cjs" in entry)
    return kept


def hand_on(kept):
    """Let child processes load the reporter, but find no witness: workers report to this process."""
    for name in ("PYTHONPATH", "PYTEST_PLUGINS", "PARSIMONY_ORDER"):
        if name in kept:
            os.environ[name] = kept[name]


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
