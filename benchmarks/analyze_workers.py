"""How much faster `analyze` is with several workers: the same made-up submission measured with one and with more.

    python benchmarks/analyze_workers.py [--workers 2] [--tasks 120]

Base files are modules of the standard library, patches delete or double some of their functions. Everything comes from
a server of this process, and is in the cache before anything is timed: measuring is what is measured.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import sys
import sysconfig
import tempfile
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from parsimony.artifacts import Cache, Fetcher, Places
from parsimony.artifacts.analyze import Request, analyze

COMMIT = "c" * 40
SUBMISSION = "20260101_agent"
FILES: dict[str, bytes] = {}


class Handler(BaseHTTPRequestHandler):
    """Gives `FILES`."""

    def do_GET(self) -> None:
        data = FILES.get(urlsplit(self.path).path)
        self.send_response(200 if data is not None else 404)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def modules(number: int) -> list[tuple[str, str]]:
    """Modules of the standard library, the largest first, with functions to change."""
    library = Path(sysconfig.get_paths()["stdlib"])
    found = sorted(library.glob("*.py"), key=lambda path: -path.stat().st_size)
    texts = [(path.name, path.read_text(encoding="utf-8", errors="replace")) for path in found]
    return [texts[n % len(texts)] for n in range(number)]


def patch(path: str, text: str, which: int) -> str:
    """A patch that deletes or doubles one function at the top of the module."""
    lines = text.splitlines(keepends=True)
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    if not functions:
        return ""
    one = functions[which % len(functions)]
    body = lines[one.lineno - 1 : one.end_lineno]
    after = lines[: one.lineno - 1] + (body * 2 if which % 2 else ["pass\n"]) + lines[one.end_lineno :]
    changes = "".join(difflib.unified_diff(lines, after, f"a/{path}", f"b/{path}"))
    return f"diff --git a/{path} b/{path}\n{changes}"


def publish(tasks: int, folder: Path) -> Path:
    """Put a submission and its dataset where they are looked for."""
    rows, predictions = [], []
    for number, (name, text) in enumerate(modules(tasks)):
        task, path = f"t{number:04}", f"pkg/m{number:04}_{name}"
        FILES[f"/files/o/r/{COMMIT}/{path}"] = text.encode()
        if not (made := patch(path, text, number)):
            continue
        human = patch(path, text, number + 1)
        rows.append({"instance_id": task, "repo": "o/r", "base_commit": COMMIT, "patch": human})
        predictions.append({"instance_id": task, "model_name_or_path": "m", "model_patch": made})
    dataset = folder / "dataset.jsonl"
    dataset.write_text("".join(json.dumps(row) + "\n" for row in rows))
    room = f"/files/SWE-bench/experiments/main/evaluation/verified/{SUBMISSION}"
    FILES[f"{room}/results/results.json"] = json.dumps({"resolved": [row["instance_id"] for row in rows]}).encode()
    lines = "".join(json.dumps(one) + "\n" for one in predictions)
    FILES[f"/bucket/verified/{SUBMISSION}/all_preds.jsonl"] = lines.encode()
    return dataset


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=120)
    options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    places = Places(files=url + "/files", bucket=url + "/bucket", rows=url + "/rows")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        request = Request(submissions=(SUBMISSION,), dataset=publish(options.tasks, folder), output=folder / "r.jsonl")
        fetcher = Fetcher(Cache(folder / "cache"))
        counts = analyze(request, fetcher, places)
        print(f"{dict(counts)}; everything is in the cache")
        seconds, results = {}, {}
        for workers in (1, options.workers):
            began = time.monotonic()
            analyze(replace(request, workers=workers), fetcher, places)
            seconds[workers] = time.monotonic() - began
            results[workers] = request.output.read_bytes()
            print(f"{workers} worker(s): {seconds[workers]:.2f} s")
    same = results[1] == results[options.workers]
    faster = seconds[1] / seconds[options.workers]
    print(f"{faster:.2f} times as fast; the records are {'the same' if same else 'NOT the same'}")
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
