"""`kill -9` in the middle: what is in the cache is whole, and a results file is completed by --resume."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from parsimony.artifacts import Cache

CACHE_WRITER = """
import sys
from pathlib import Path
from parsimony.artifacts import Cache
cache = Cache(Path(sys.argv[1]))
print("ready", flush=True)
number = 0
while True:
    number += 1
    cache.store("http://h/x", bytes([number % 256]) * 3_000_000)
"""

ANALYZER = """
import json, sys
from pathlib import Path
from parsimony.artifacts import Cache, Fetcher, Places
from parsimony.artifacts.analyze import Request, analyze
if __name__ == "__main__":
    url, cache, dataset, output, workers = sys.argv[1:]
    places = Places(files=url + "/files", bucket=url + "/bucket", rows=url + "/rows")
    paths = {"dataset": Path(dataset), "output": Path(output)}
    request = Request(("20250101_agent",), **paths, workers=int(workers), resume=True)
    analyze(request, Fetcher(Cache(Path(cache)), timeout=30), places)
"""


def start(tmp_path: Path, text: str, *words: object) -> subprocess.Popen[str]:
    script = tmp_path / "script.py"
    script.write_text(text)
    return subprocess.Popen([sys.executable, str(script), *map(str, words)], stdout=subprocess.PIPE, text=True)


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


def test_the_cache_has_a_whole_file_whenever_its_writer_dies(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for pause in (0.0, 0.01, 0.023, 0.05):
        writer = start(tmp_path, CACHE_WRITER, cache.folder)
        assert writer.stdout is not None
        writer.stdout.readline()
        wait_for(lambda: cache.has("http://h/x"))
        time.sleep(pause)
        kill(writer)
        found = cache.read("http://h/x")
        assert found is not None
        assert len(found) == 3_000_000
        assert found == found[:1] * len(found)
    cache.store("http://h/x", b"new")  # the lock of the dead is gone
    assert cache.read("http://h/x") == b"new"


def test_resume_completes_what_was_killed(world: Any, site: Any, fault: Any) -> None:
    """Killed while the base file of the sixth task is on its way, with a line cut off as a kill may leave it."""
    world.tasks = [f"t{number}" for number in range(9)]
    commits = {task: f"{number:040x}" for number, task in enumerate(world.tasks)}
    world.write_dataset(**{task: {"base_commit": commit} for task, commit in commits.items()})
    world.legacy({"resolved": world.tasks})
    base = site.files[f"/files/o/r/{'c' * 40}/pkg/core.py"]
    for commit in commits.values():
        site.put(f"/files/o/r/{commit}/pkg/core.py", base)
    expected = world.analyze(fetcher=replace(world.fetcher, cache=Cache(world.output.parent / "other")))
    complete = world.output.read_bytes()
    world.output.unlink()
    hold = threading.Event()
    site.faults[f"/files/o/r/{commits['t5']}/pkg/core.py"] = [fault(hold=hold)]
    words = (site.url, world.fetcher.cache.folder, world.dataset, world.output, 1)
    victim = start(world.output.parent, ANALYZER, *words)
    wait_for(lambda: world.output.exists() and world.output.read_bytes().count(b"\n") == 5)
    kill(victim)
    hold.set()
    with world.output.open("ab") as file:
        file.write(complete.splitlines()[5][:200])
    assert world.analyze(resume=True) == expected
    assert world.output.read_bytes() == complete


def test_workers_end_with_their_parent(world: Any, site: Any, fault: Any) -> None:
    world.legacy({"resolved": world.tasks})
    hold = threading.Event()
    site.faults[f"/files/o/r/{'c' * 40}/pkg/core.py"] = [fault(hold=hold)]
    words = (site.url, world.fetcher.cache.folder, world.dataset, world.output, 2)
    parent = start(world.output.parent, ANALYZER, *words)
    try:
        wait_for(lambda: site.asked(f"/files/o/r/{'c' * 40}/pkg/core.py"))
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        assert len(children) >= 2
        kill(parent)
        wait_for(lambda: not any(alive(int(child)) for child in children))
    finally:
        hold.set()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return False


def test_an_attempt_that_kills_its_worker_is_an_error_and_the_others_are_measured(world: Any) -> None:
    """A process without memory is killed by the system; here it does it itself."""
    script = """
import os, signal, sys
from pathlib import Path
from parsimony.artifacts import Cache, Fetcher, Places
from parsimony.artifacts.examine import Attempt, Rules
from parsimony.artifacts.pool import examine_all
from parsimony.artifacts.submission import PatchSource

class Deadly(Fetcher):
    def get(self, url, **_):
        if url.endswith("3"):
            os.kill(os.getpid(), signal.SIGKILL)
        return b""

if __name__ == "__main__":
    rules = Rules("units-v1", "python", True)
    attempts = [Attempt(PatchSource(str(n), url=f"http://h/{n}"), None, None, rules) for n in range(20)]
    found = examine_all(attempts, Deadly(Cache(Path("."))), Places(), workers=2)
    print([(one.status, one.error) for one in found])
"""
    process = start(world.output.parent, script)
    assert process.stdout is not None
    told, _ = process.communicate(timeout=120)
    found = json.loads(told.replace("(", "[").replace(")", "]").replace("'", '"').replace("None", "null"))
    assert [status for status, _ in found] == ["error" if number % 10 == 3 else "ok" for number in range(20)]
    assert found[3][1].startswith("WorkerDied: ")
