"""A real HTTP server in a thread, with faults on request, and what a small publication looks like on it."""

from __future__ import annotations

import difflib
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from parsimony.artifacts import Cache, Fetcher, Places, Quiet
from parsimony.artifacts.analyze import Request, analyze
from parsimony.artifacts.plan import Selection

COMMIT = "c" * 40
SUBMISSION = "20250101_agent"


@dataclass(slots=True)
class Fault:
    """What goes wrong once.

    Attributes:
        status: answered instead.
        stop_after: bytes of the body after which the connection ends, though more were promised.
        hold: waited for before anything is answered.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    stop_after: int | None = None
    hold: threading.Event | None = None


class Site:
    """Files by path; what is not there is 404. `requests` has (path, headers) of all that was asked."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[Fault]] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.ranges = True
        self.tags = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}"

    def put(self, path: str, data: bytes | str) -> str:
        """Publish a file; its URL."""
        self.files[path] = data.encode() if isinstance(data, str) else data
        return self.url + path

    def asked(self, path: str) -> int:
        return sum(one == path for one, _ in self.requests)


class Handler(BaseHTTPRequestHandler):
    """Answers from the site that stands at the server."""

    site: Site

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        path = unquote(parts.path) + (f"?{parts.query}" if parts.query else "")
        self.site.requests.append((path, dict(self.headers)))
        queue = self.site.faults.get(path, [])
        fault = queue.pop(0) if queue else Fault()
        if fault.hold is not None:
            fault.hold.wait(20)
        data = self.site.files.get(path)
        if fault.status != 200 or data is None:
            self.send_response(fault.status if fault.status != 200 else 404)
            for name, value in fault.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.body(data, fault)

    def body(self, data: bytes, fault: Fault) -> None:
        tag = f'"{hashlib.sha256(data).hexdigest()[:16]}"'
        start = 0
        asked = self.headers.get("Range")
        if asked and self.site.ranges and self.headers.get("If-Range") == tag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        if self.site.tags:
            self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        end = len(data) if fault.stop_after is None else start + fault.stop_after
        self.wfile.write(data[start:end])
        if fault.stop_after is not None:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Clients that go away, as killed ones do, are no news."""

    def handle_error(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    server = Server(("127.0.0.1", 0), type("Bound", (Handler,), {}))
    found = Site(server)
    server.RequestHandlerClass.site = found  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


class Notes(Quiet):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.waits: list[str] = []
        self.received: list[tuple[int, int | None]] = []
        self.recordings: list[tuple[str, str]] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def waiting(self, url: str, why: str, seconds: float) -> None:
        self.waits.append(why)

    def downloading(self, url: str, received: int, total: int | None) -> None:
        self.received.append((received, total))

    def recorded(self, task_id: str, status: str) -> None:
        self.recordings.append((task_id, status))


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def fetcher(tmp_path: Path, notes: Notes) -> Fetcher:
    return Fetcher(Cache(tmp_path / "cache"), pause=0.001, timeout=5, tries=3, observer=notes)


@pytest.fixture
def places(site: Site) -> Places:
    return Places(files=site.url + "/files", bucket=site.url + "/bucket", rows=site.url + "/rows")


def diff(path: str, before: str, after: str) -> str:
    """A patch of one file, as git writes it."""
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), f"a/{path}", f"b/{path}"
    )
    return f"diff --git a/{path} b/{path}\n" + "".join(lines)


BEFORE = "def f(a):\n    return a\n"
MODEL = diff("pkg/core.py", BEFORE, "def f(a):\n    if a:\n        return a\n    return 0\n")
HUMAN = diff("pkg/core.py", BEFORE, "def f(a):\n    return a or 0\n")
ROOM = f"/files/SWE-bench/experiments/main/evaluation/verified/{SUBMISSION}"


class World:
    """Four tasks t1 to t4 of one repository, and a submission to them in the layout that a test wants."""

    def __init__(self, site: Site, places: Places, fetcher: Fetcher, tmp_path: Path) -> None:
        self.site, self.places, self.fetcher = site, places, fetcher
        self.output = tmp_path / "results.jsonl"
        self.tasks = ["t1", "t2", "t3", "t4"]
        self.dataset = tmp_path / "dataset.jsonl"
        self.write_dataset()
        site.put(f"/files/o/r/{COMMIT}/pkg/core.py", BEFORE)

    def write_dataset(self, **changes: dict[str, Any]) -> None:
        rows: list[dict[str, Any]] = [
            {"instance_id": task, "repo": "o/r", "base_commit": COMMIT, "patch": HUMAN} | changes.get(task, {})
            for task in self.tasks
        ]
        self.dataset.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def legacy(self, results: dict[str, Any], predictions: dict[str, Any] | None = None) -> None:
        """Publish in the first layout; by default every task has the model's patch."""
        told = dict.fromkeys(self.tasks, MODEL) if predictions is None else predictions
        lines = [{"instance_id": task, "model_name_or_path": "m", "model_patch": patch} for task, patch in told.items()]
        self.site.put(f"/bucket/verified/{SUBMISSION}/all_preds.jsonl", "".join(json.dumps(x) + "\n" for x in lines))
        self.site.put(f"{ROOM}/results/results.json", json.dumps(results))

    def report(self, task: str, **told: Any) -> None:
        report = {"patch_exists": True, "patch_successfully_applied": True, "resolved": False} | told
        self.site.put(f"/bucket/verified/{SUBMISSION}/logs/{task}/report.json", json.dumps({task: report}))

    def current(self, details: dict[str, Any], metadata: str, patches: dict[str, str], folder: str) -> None:
        """Publish in the second layout, with patches in a folder of the site."""
        self.site.put(f"{ROOM}/per_instance_details.json", json.dumps(details))
        self.site.put(f"{ROOM}/metadata.yaml", metadata)
        for task, patch in patches.items():
            self.site.put(f"{folder}/{task}/patch.diff", patch)

    def analyze(self, *, fetcher: Fetcher | None = None, **request: Any) -> dict[str, dict[str, Any]]:
        """Run; the records by task, in the order of the file."""
        selection = {name: request.pop(name) for name in ("tasks", "limit", "include_failed") if name in request}
        asked = Request(submissions=(SUBMISSION,), dataset=self.dataset, output=self.output)
        asked = replace(asked, selection=Selection(**selection), **request)
        analyze(asked, fetcher or self.fetcher, self.places)
        return self.records()

    def records(self) -> dict[str, dict[str, Any]]:
        rows = [json.loads(line) for line in self.output.read_text().splitlines()]
        assert len({(row["agent"], row["task_id"]) for row in rows}) == len(rows)
        return {row["task_id"]: row for row in rows}


@pytest.fixture
def world(site: Site, places: Places, fetcher: Fetcher, tmp_path: Path) -> World:
    return World(site, places, fetcher, tmp_path)


@pytest.fixture
def patches() -> Callable[[str, str, str], str]:
    """`diff`."""
    return diff


@pytest.fixture
def fault() -> type[Fault]:
    """`Fault`."""
    return Fault
