"""A program that answers lines: kept, bounded, started again, and gone when its owner is."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from parsimony.footprint.languages.lineprocess import Ended, LineProcess

PROGRAM = """
import os, sys, time
for line in sys.stdin:
    word = line.strip()
    if word == "pid":
        word = str(os.getpid())
    elif word == "die":
        sys.exit(1)
    elif word == "spin":
        while True:
            pass
    elif word == "sleep":
        time.sleep(60)
    elif word == "long":
        word = "x" * 5_000_000
    print(word, flush=True)
"""


def start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


@pytest.fixture
def program() -> Iterator[LineProcess]:
    process = LineProcess(start)
    yield process
    process.close()


def ask(program: LineProcess, word: str, seconds: float = 20) -> str:
    return program.ask(word.encode() + b"\n", seconds).decode().strip()


def gone(pid: int) -> bool:
    return until(lambda: not Path(f"/proc/{pid}").exists() or "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text())


def until(true: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return true()


def test_one_program_answers_all_requests(program: LineProcess) -> None:
    pid = ask(program, "pid")
    assert ask(program, "a") == "a"
    assert ask(program, "pid") == pid
    program.close()
    assert gone(int(pid))
    assert ask(program, "pid") != pid


def test_long_lines_both_ways(program: LineProcess) -> None:
    word = "y" * 5_000_000
    assert ask(program, word) == word
    assert ask(program, "long") == "x" * 5_000_000


def test_a_longer_answer_than_allowed_ends_it() -> None:
    program = LineProcess(start, most=1000)
    with pytest.raises(Ended):
        ask(program, "long")
    assert ask(program, "a") == "a"
    program.close()


def test_threads_take_turns(program: LineProcess) -> None:
    words = [str(number) for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda word: ask(program, word), words)) == words


def test_a_program_that_dies_is_asked_twice_and_started_again(program: LineProcess) -> None:
    with pytest.raises(Ended):
        ask(program, "die")
    assert ask(program, "a") == "a"


def test_a_program_that_was_killed_meanwhile_is_started_again(program: LineProcess) -> None:
    pid = int(ask(program, "pid"))
    os.kill(pid, 9)
    assert ask(program, "a") == "a"
    assert int(ask(program, "pid")) != pid


def test_processor_time_is_bounded(program: LineProcess) -> None:
    pid = int(ask(program, "pid"))
    with pytest.raises(TimeoutError):
        ask(program, "spin", seconds=0.2)
    assert gone(pid)
    assert ask(program, "a") == "a"


def test_a_program_that_only_sleeps_is_ended_too(program: LineProcess) -> None:
    pid = int(ask(program, "pid"))
    with pytest.raises(TimeoutError):
        ask(program, "sleep", seconds=0.1)
    assert gone(pid)


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_a_program_of_its_own(program: LineProcess) -> None:
    pid = ask(program, "pid")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, ask(program, "pid").encode())
            program.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 100).decode() not in ("", pid)
    os.close(read)
    os.close(write)
    assert ask(program, "pid") == pid


@pytest.mark.usefixtures("tree_sitter")
def test_it_ends_with_an_owner_that_is_killed() -> None:
    owner = """
import time
from parsimony.footprint.languages import trees
trees.go().compare(b"", b"package p", tokens=True)
print(trees._process()._process.pid, flush=True)
time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", owner], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    assert gone(pid)
