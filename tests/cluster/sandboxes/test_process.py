"""What only processes of this machine can show: escapes, supervisors and drivers that die, the walls of namespaces."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.sandboxes import archive, machine
from cluster.sandboxes.places import Places
from cluster.sandboxes.process import ProcessSandbox
from cluster.sandboxes.supervisor import tree
from cluster.sandboxes.supervisor.spec import Outcome, Spec
from parsimony.errors import PermanentError
from parsimony.execution import MIB, Ending, ExecutionRequest
from tests.cluster.sandboxes.conftest import Bench, alive, opened, until


@pytest.fixture(params=["process", "process-plain"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    yield from opened(request.param, request, tmp_path)


@pytest.fixture
def plain(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    yield from opened("process-plain", request, tmp_path)


@pytest.fixture
def walled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    yield from opened("process", request, tmp_path)


@pytest.fixture
def marker() -> str:
    return f"{random.randrange(10**6, 10**7)}.{random.randrange(10**6)}"


def test_nothing_of_this_process_is_inherited(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "s3cr3t")
    handle = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(handle, True)
    try:
        result = bench.run('env; ls -l /proc/self/fd; cat; ps -o sid= -p $$ | grep -qx " *$$" || echo no session')
    finally:
        os.close(handle)
    text = result.log.head.decode()
    names = {line.partition("=")[0] for line in text.splitlines() if "=" in line}
    assert names == {
        *("PATH", "HOME", "TMPDIR", "PWD", "TZ", "LANG", "PYTHONHASHSEED", "PARSIMONY_SANDBOX"),
        *("PARSIMONY_IN", "PARSIMONY_OUT", "PARSIMONY_WORK"),
    }
    assert "no session" not in text
    handles = [line.split()[8] for line in text.splitlines() if " -> " in line]
    assert handles == ["0", "1", "2", "3"]  # the last is the listing itself


def test_signals_are_as_a_program_expects_them(bench: Bench) -> None:
    """Also below `nohup` and in the background of a script, where some are ignored."""
    ours = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)}
    try:
        result = bench.run("grep -E '^Sig(Blk|Ign)' /proc/self/status; yes | head -n 1")
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
    blocked, ignored, said = result.log.head.decode().splitlines()
    c_library = 1 << 31 | 1 << 32  # signals 32 and 33 are the C library's own, and it lets nobody unblock them
    assert int(blocked.split()[1], 16) & ~c_library == 0
    assert int(ignored.split()[1], 16) & ~c_library == 0
    assert said == "y"


def test_too_many_processes(bench: Bench) -> None:
    result = bench.run("for i in 1 2 3 4 5 6 7 8 9; do sleep 30 & done; wait", pids=5)
    assert (result.ending, result.exit_status) == (Ending.EXITED, None)
    assert "more than 5 processes" in result.notes[0]


def test_more_cpu_time_than_the_deadline_has(bench: Bench) -> None:
    busy = "for i in 1 2 3 4; do (while :; do :; done) & done; wait"
    result = bench.run(busy, timeout_s=4.0, cpus=0.1)
    assert result.ending is Ending.DEADLINE
    assert result.usage.cpu_seconds is not None
    assert result.usage.cpu_seconds > 0.5


def test_children_that_share_memory_count_it_once(bench: Bench) -> None:
    program = """
import os, time
data = bytearray(os.urandom(1 << 20) * 60)
for _ in range(5):
    if os.fork() == 0:
        time.sleep(0.6)
        os._exit(0)
time.sleep(0.7)
"""
    result = bench.run('python3 "$PARSIMONY_IN/p.py"', files={"p.py": program.encode()}, memory_bytes=250 * MIB)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 0)
    assert result.usage.peak_memory_bytes is not None
    assert 60 * MIB < result.usage.peak_memory_bytes < 250 * MIB


def test_the_command_kills_its_supervisor(plain: Bench, marker: str) -> None:
    """And leaves its session, its output, and its parents: the mark in its environment gives it away."""
    script = f"""
    (setsid sh -c 'sleep {marker} & sleep {marker}' >/dev/null 2>&1 &)
    (setsid sh -c 'sleep {marker} & sleep {marker}' &)
    kill -9 $PPID
    sleep {marker}
    """
    result = plain.run(script)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 128 + 9)
    assert any("got away" in note for note in result.notes)
    assert any("supervisor was killed" in note for note in result.notes)
    assert not alive(marker)


def test_the_command_cannot_reach_beyond_its_walls(walled: Bench, tmp_path: Path) -> None:
    victim = Path(tempfile.gettempdir(), f"psm-victim-{random.randrange(10**9)}")
    victim.write_text("mine")
    try:
        result = walled.run(
            f"""
            kill -9 1
            ls /run; ls /dev | grep -E 'vd|sd|nvme|mem|kmsg'
            [ -e {victim} ] && echo sees the temporary folder
            touch "$HOME/x" /tmp/x /var/tmp/x /dev/shm/x "$TMPDIR/x" || echo cannot write
            for place in / /usr /etc /var {Path(__file__).parent}; do
                touch "$place/psm-test-x" 2>/dev/null && echo "writes to $place"
            done
            touch {tmp_path}/psm-test-x /var/tmp/psm-test-x
            [ -w /proc/sys/kernel/core_pattern ] && echo 1 >/proc/sys/kernel/core_pattern && echo changes the kernel
            mount -o remount,rw / 2>/dev/null && echo remounts
            umount /tmp 2>/dev/null && echo unmounts
            cat /proc/1/environ 2>/dev/null && echo reads the supervisor
            ls "$PARSIMONY_WORK/../.." | grep -v "$(basename "$(dirname "$PARSIMONY_WORK")")"
            echo done
            """
        )
        assert result.log.head == b"done\n"
        assert victim.read_text() == "mine"
        assert not any(Path(folder, "psm-test-x").exists() for folder in (tmp_path, "/var/tmp"))
    finally:
        victim.unlink()


def test_loopback_and_terminals_work_within_the_walls(walled: Bench) -> None:
    program = """
import multiprocessing, os, pty, socket
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname()).close()
multiprocessing.Lock()
os.close(pty.openpty()[0])
try:
    socket.create_connection(("192.0.2.1", 80), timeout=2)
except OSError as error:
    print(error.errno)
"""
    result = walled.run('python3 "$PARSIMONY_IN/p.py"', files={"p.py": program.encode()})
    assert result.log.head == b"101\n"  # network is unreachable


@pytest.mark.parametrize("isolation", ["auto", "process"])
def test_the_driver_dies_and_takes_everything_with_it(tmp_path: Path, isolation: str, marker: str) -> None:
    code = f"""
import asyncio
from pathlib import Path
from cluster.sandboxes.process import ProcessSandbox
from parsimony.execution import ExecutionRequest
async def main():
    sandbox = await ProcessSandbox.open(slots=1, isolation={isolation!r}, root=Path({str(tmp_path / "p")!r}))
    script = "trap '' TERM; (setsid sleep {marker} &); sleep {marker}; :"
    await sandbox.run(ExecutionRequest("key", "name", ("/bin/sh", "-c", script), {{}}))
asyncio.run(main())
"""
    driver = subprocess.Popen([sys.executable, "-c", code])

    async def die() -> None:
        await until(lambda: len(alive(f"sleep\0{marker}")) == 2)
        driver.kill()
        driver.wait()
        await until(lambda: not alive(marker))
        sandbox = await ProcessSandbox.open(slots=1, isolation="process", root=tmp_path / "p")
        assert await sandbox.reap() == []  # not past its expiry
        again = ExecutionRequest("key", "name", ("/bin/sh", "-c", "exit 4"), {})
        assert (await sandbox.run(again)).exit_status == 4  # the same attempt clears it away
        await sandbox.close()
        assert not list(Places(tmp_path / "p").found())

    try:
        asyncio.run(die())
    finally:
        driver.kill()
        driver.wait()


def test_what_a_sandbox_left_that_was_killed_on_trial_is_removed_by_any_other(tmp_path: Path) -> None:
    """No run will ask for it: it was none's."""
    code = f"""
import os
from pathlib import Path
from cluster.sandboxes.places import Places
from cluster.sandboxes.process import TRIAL
from parsimony.execution import ExecutionRequest
for name in (TRIAL + "1", "name"):
    Places(Path({str(tmp_path / "p")!r})).make(ExecutionRequest("key", name, ("true",), {{}}))
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], check=False)

    async def reaped() -> list[str]:
        sandbox = await ProcessSandbox.open(slots=1, isolation="process", root=tmp_path / "p")
        try:
            return await sandbox.reap("some-run")
        finally:
            await sandbox.close()

    assert asyncio.run(reaped()) == ["probe-1"]
    assert [place.owner.name for place in Places(tmp_path / "p").found()] == ["name"]


def test_a_tree_that_is_hard_to_remove(bench: Bench) -> None:
    """The fixture checks that nothing is left."""
    program = """
import os
for _ in range(1200):
    os.mkdir("d")
    os.chdir("d")
os.chdir(os.environ["PARSIMONY_WORK"])
os.mkdir("locked")
open("locked/x", "w").close()
os.chmod("locked", 0)
os.chmod(".", 0o500)
"""
    assert bench.run('python3 "$PARSIMONY_IN/p.py"', files={"p.py": program.encode()}).exit_status == 0


def test_a_place_is_not_shared(tmp_path: Path) -> None:
    root = tmp_path / "open"
    root.mkdir(mode=0o777)
    root.chmod(0o777)
    with pytest.raises(PermanentError, match="others may write"):
        Places(root).make(ExecutionRequest("k", "n", ("true",), {}))


def test_a_working_directory_has_no_meaning_here(bench: Bench) -> None:
    request = ExecutionRequest("k", "n", ("true",), {}, workdir="/testbed")
    with pytest.raises(PermanentError, match="working directory"):
        bench.do(bench.sandbox.run(request))


def test_an_outbox_swapped_under_the_reader(tmp_path: Path) -> None:
    place = Places(tmp_path / "p").make(ExecutionRequest("k", "n", ("true",), {}))
    place.fill(archive.checked_inbox({"a/b": b"x"}))
    assert (place.path / "in/a/b").read_bytes() == b"x"
    deep = place.path / "out" / "/".join("d" * 40)
    deep.mkdir(parents=True)
    (deep / "x").write_bytes(b"too deep")
    (place.path / "out/top").write_bytes(b"ok")
    outbox = place.collect(1 << 20)
    assert outbox.files == {"top": b"ok"}
    assert "1 in the outbox not read" in outbox.notes[0]
    place.remove()
    place.remove()  # again is fine
    assert not place.path.exists()


# ---- what an environment is


def test_the_digest_follows_what_is_on_the_path(tmp_path: Path) -> None:
    tool = tmp_path / "git"
    tool.write_text("#!/bin/sh\necho git version 1\n")
    tool.chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    first = machine.environment_digest(path, "namespaces")
    assert first == machine.environment_digest(path, "namespaces")
    assert first != machine.environment_digest(path, "process")
    tool.write_text("#!/bin/sh\necho git version 2\n")
    assert first != machine.environment_digest(path, "namespaces")


def test_a_tool_that_does_not_run_is_no_error(tmp_path: Path) -> None:
    for name in ("python3", "node"):
        (tmp_path / name).write_bytes(b"\x7fELF nonsense")
        (tmp_path / name).chmod(0o755)
    assert machine.environment_digest(str(tmp_path), "process").startswith("sha256:")


# ---- the supervisor's parts


def test_specifications_there_and_back() -> None:
    spec = Spec(["a", "\udcff\n"], {"K": "\u00fc"}, "/b", "/w", True, False, ["/r"], 1.5, 2.0, 3, 4, 5, 6)
    assert Spec.parse(spec.line()) == spec
    assert spec.line().count(b"\n") == 1
    outcome = Outcome("memory", None, 0.5, 7, problem="p\n", unrunnable=True)
    assert Outcome.parse(outcome.line()) == outcome


def test_a_tree_of_processes() -> None:
    shell = subprocess.Popen(["/bin/sh", "-c", "sleep 60 & sleep 60 & wait"], start_new_session=True)
    try:
        asyncio.run(until(lambda: len(tree.descendants(shell.pid)) == 2))
        pids = tree.descendants(shell.pid)
        assert shell.pid in tree.descendants(os.getpid())
        assert 0 < tree.proportional_bytes(pids) <= tree.resident_bytes(pids)
        assert tree.cpu_seconds([os.getpid()]) > 0
        assert tree.start_ticks(shell.pid) is not None
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    assert tree.descendants(shell.pid) == []
    assert tree.resident_bytes([shell.pid]) == tree.proportional_bytes([shell.pid]) == 0
    assert tree.start_ticks(shell.pid) is None


def test_the_tree_without_lists_of_children() -> None:
    shell = subprocess.Popen(["/bin/sh", "-c", "sleep 60 & wait"], start_new_session=True)
    try:
        asyncio.run(until(lambda: len(tree.descendants(shell.pid)) == 1))
        assert tree._children_by_parent()(shell.pid) == tree.descendants(shell.pid)
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def test_disk_in_use(tmp_path: Path) -> None:
    before = tree.disk_bytes(str(tmp_path))
    (tmp_path / "a").mkdir()
    (tmp_path / "a/data").write_bytes(b"x" * MIB)
    (tmp_path / "a/again").hardlink_to(tmp_path / "a/data")
    (tmp_path / "a/link").symlink_to("/usr")
    assert MIB <= tree.disk_bytes(str(tmp_path)) - before < 1.2 * MIB
