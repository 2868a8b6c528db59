"""What every sandbox promises, held against each of them. Exemptions, with their reasons, are in conftest.py."""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import threading
import time
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from cluster.sandboxes import container, labels
from cluster.sandboxes.ownership import own_labels
from parsimony.errors import PermanentError
from parsimony.execution import GIB, MIB, Ending
from tests.cluster.sandboxes.conftest import RUN, Bench, alive, until

# A tree that does all it can to live on: it ignores signals, leaves its session, and is nobody's child.
STUBBORN = """
trap '' TERM INT HUP
(setsid sh -c "trap '' TERM HUP; sleep {marker} & sleep {marker}; :" >/dev/null 2>&1 &)
(sh -c "sleep {marker} & exit" &)
echo started
"""


@pytest.fixture
def marker() -> str:
    """A number of seconds that no other process sleeps."""
    return f"{random.randrange(10**6, 10**7)}.{random.randrange(10**6)}"


def test_inbox_command_and_outbox(bench: Bench) -> None:
    files = {
        "run.sh": b"echo from a file\n",
        "a b/c d/e.txt": b"spaced",
        "deep/er/f": b"",
        "\u00fc/\u4e2d.txt": b"\xff\x00",
    }
    result = bench.run(
        """
        sh "$PARSIMONY_IN/run.sh"
        mkdir -p "$PARSIMONY_OUT/x y" && cp -r "$PARSIMONY_IN/a b" "$PARSIMONY_IN/deep" "$PARSIMONY_OUT/x y/"
        cp "$PARSIMONY_IN"/*/*.txt "$PARSIMONY_OUT"
        [ "$PWD" = "$PARSIMONY_WORK" ] && echo x >here && cat here
        echo "$TZ $LANG $PYTHONHASHSEED"
        """,
        files=files,
    )
    assert result.ending is Ending.EXITED
    assert result.exit_status == 0
    assert result.log.head == b"from a file\nx\nUTC C.UTF-8 0\n"
    assert result.outputs == {"x y/a b/c d/e.txt": b"spaced", "x y/deep/er/f": b"", "\u4e2d.txt": b"\xff\x00"}
    assert set(result.phases) == {"queue", "create", "inject", "start", "run", "collect"}
    assert result.usage.wall_seconds > 0


def test_the_request_wins_over_pinned_variables_but_not_over_places(bench: Bench) -> None:
    request = bench.request('echo "$TZ $EXTRA"; ls -d "$PARSIMONY_IN"')
    wanted = {"TZ": "Asia/Tokyo", "EXTRA": "a=b c", "PARSIMONY_IN": "/nowhere"}
    result = bench.do(bench.sandbox.run(replace(request, environment=wanted)))
    assert result.exit_status == 0
    assert result.log.head.startswith(b"Asia/Tokyo a=b c\n/")


def test_exit_statuses(bench: Bench) -> None:
    async def all_of_them() -> list[int | None]:
        scripts = ("exit 0", "exit 3", "kill -KILL $$", "kill -TERM $$")
        results = await asyncio.gather(*(bench.sandbox.run(bench.request(script)) for script in scripts))
        assert all(result.ending is Ending.EXITED for result in results)
        return [result.exit_status for result in results]

    assert bench.do(all_of_them()) == [0, 3, 128 + 9, 128 + 15]


def test_output_is_kept_byte_by_byte_in_its_order(bench: Bench) -> None:
    result = bench.run(r"printf '\377\376\000a'; printf '\303(' >&2; printf '\n\r\300\200'; printf 'b' >&2")
    assert result.log.head == b"\xff\xfe\x00a\xc3(\n\r\xc0\x80b"
    assert (result.log.tail, result.log.total_bytes, result.log.omitted_bytes) == (b"", 11, 0)


def test_a_deadline_kills_the_whole_tree(bench: Bench, marker: str) -> None:
    result = bench.run(
        STUBBORN.format(marker=marker) + f"echo kept >$PARSIMONY_OUT/kept\nwhile :; do sleep {marker}; done",
        timeout_s=1.5,
    )
    assert result.ending is Ending.DEADLINE
    assert result.exit_status is None
    assert result.log.head == b"started\n"
    assert result.outputs == {"kept": b"kept\n"}
    assert result.usage.wall_seconds >= 1.5
    assert not alive(marker)


def test_nothing_survives_the_command(bench: Bench, marker: str) -> None:
    result = bench.run(STUBBORN.format(marker=marker) + "sleep 0.2; exit 5")
    assert (result.ending, result.exit_status) == (Ending.EXITED, 5)
    assert not alive(marker)


def test_a_tree_that_keeps_forking_is_caught_up_with(bench: Bench, marker: str) -> None:
    """Each member starts its successor in a session of its own, and is gone."""
    files = {"spawn.sh": b'setsid sh "$0" "$1" &\n'}
    spawn = f'for i in 1 2 3; do sh "$PARSIMONY_IN/spawn.sh" {marker} & done; sleep 0.3; exit 5'
    result = bench.run(spawn, files=files)
    assert (result.ending, result.exit_status) == (Ending.EXITED, 5)
    assert not alive(marker)


def test_more_memory_than_allowed(bench: Bench) -> None:
    limit = 96 * MIB
    result = bench.run("echo before; exec tail /dev/zero", memory_bytes=limit)
    assert result.ending is Ending.OUT_OF_MEMORY
    assert result.exit_status is None
    assert result.memory_kills >= 1
    assert result.log.head == b"before\n"
    assert result.usage.peak_memory_bytes is not None
    assert result.usage.peak_memory_bytes >= 0.9 * limit


def test_more_disk_than_allowed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "FIRST_WATCH_S", 0.3)
    script = 'for i in 1 2 3 4; do head -c 16000000 /dev/zero >"$PARSIMONY_WORK/$i"; done; sleep 30'
    result = bench.run(script, disk_bytes=32 * MIB)
    assert result.ending is Ending.DISK_LIMIT
    assert result.exit_status is None


def test_a_gibibyte_of_output_in_constant_memory(bench: Bench) -> None:
    with _PeakMemory() as memory:
        result = bench.run(f"printf head-; head -c {GIB} /dev/zero; printf -- -tail", output_bytes=2 * MIB)
    assert result.ending is Ending.EXITED
    assert result.log.total_bytes == GIB + 10
    assert (len(result.log.head), len(result.log.tail)) == (MIB, MIB)
    assert result.log.head.startswith(b"head-\0\0")
    assert result.log.tail.endswith(b"\0\0-tail")
    assert result.log.omitted_bytes == GIB + 10 - 2 * MIB
    assert memory.growth_bytes < 48 * MIB


def test_a_neighbour_is_untouched(bench: Bench, marker: str) -> None:
    async def three() -> None:
        neighbour = "i=0; while [ $i -lt 25 ]; do echo $i; i=$((i + 1)); sleep 0.1; done; exit 7"
        killed, hungry, quiet = await asyncio.gather(
            bench.sandbox.run(bench.request(f"sleep {marker}", timeout_s=1.0)),
            bench.sandbox.run(bench.request("exec tail /dev/zero", memory_bytes=64 * MIB)),
            bench.sandbox.run(bench.request(neighbour)),
        )
        assert killed.ending is Ending.DEADLINE
        assert hungry.ending is Ending.OUT_OF_MEMORY
        assert (quiet.ending, quiet.exit_status, quiet.memory_kills) == (Ending.EXITED, 7, 0)
        assert quiet.log.head.split() == [str(number).encode() for number in range(25)]
        assert not quiet.notes or bench.kind == "process-plain"

    bench.do(three())


def test_64_mib_both_ways_byte_by_byte(bench: Bench) -> None:
    data = os.urandom(64 * MIB)
    result = bench.run(
        'cp "$PARSIMONY_IN/big" "$PARSIMONY_OUT/big"; sha256sum <"$PARSIMONY_IN/big"', files={"big": data}
    )
    assert result.log.head.split()[0] == hashlib.sha256(data).hexdigest().encode()
    assert hashlib.sha256(result.outputs["big"]).digest() == hashlib.sha256(data).digest()
    assert not [note for note in result.notes if "outbox" in note]


def test_an_outbox_full_of_tricks(bench: Bench) -> None:
    result = bench.run(
        r"""
        cd "$PARSIMONY_OUT" && echo one >one && ln one two && mkdir -p real/deeper && echo in >real/deeper/in
        ln -s /etc/passwd secret && ln -s / root && ln -s one three && ln -s real linked && ln -s ../../../etc up
        mkfifo pipe && echo dots >...  && echo odd >"$(printf 'new\nline')" && echo raw >"$(printf 'raw\377')"
        mkdir -p ..data && echo x >..data/x && chmod 000 one
        """
    )
    assert result.outputs == {
        "one": b"one\n",
        "two": b"one\n",
        "real/deeper/in": b"in\n",
        "...": b"dots\n",
        "new\nline": b"odd\n",
        "raw\udcff": b"raw\n",
        "..data/x": b"x\n",
    }
    [note] = [note for note in result.notes if "outbox" in note]
    assert note.startswith("6 in the outbox not read")


def test_an_outbox_that_is_gone(bench: Bench) -> None:
    """Whatever stands in its place: the candidate's doing, and no fault of the machinery."""

    async def all_of_them() -> None:
        replacements = (
            'rm -rf "$PARSIMONY_OUT"',
            'rm -rf "$PARSIMONY_OUT"; ln -s /etc "$PARSIMONY_OUT"',
            'rm -rf "$PARSIMONY_OUT"; ln -s "$PARSIMONY_OUT" "$PARSIMONY_OUT"',
            'rm -rf "$PARSIMONY_OUT"; echo x >"$PARSIMONY_OUT"',
            'above=$(dirname "$PARSIMONY_OUT"); rm -rf "$above"; echo x >"$above"',
        )
        results = await asyncio.gather(
            *(bench.sandbox.run(bench.request(f"({script}) 2>/dev/null; exit 4")) for script in replacements)
        )
        for result in results:
            assert (result.ending, result.exit_status, result.outputs) == (Ending.EXITED, 4, {})
        assert all(any("outbox" in note for note in result.notes) for result in results[:4])

    bench.do(all_of_them())


def test_an_outbox_beyond_its_cap(bench: Bench) -> None:
    script = 'cd "$PARSIMONY_OUT" && echo first >a && truncate -s 4T b && echo last >c'
    result = bench.run(script, artifact_bytes=MIB, disk_bytes=1 << 43)
    assert result.outputs == {"a": b"first\n"}
    assert [note for note in result.notes if "cut" in note]


def test_usage_is_told_even_of_short_runs(bench: Bench) -> None:
    result = bench.run("dd if=/dev/zero of=/dev/null bs=64M count=12 2>/dev/null")
    usage = result.usage
    assert usage.cpu_seconds is not None
    assert usage.peak_memory_bytes is not None
    assert 0 < usage.cpu_seconds < 20
    assert 64 * MIB <= usage.peak_memory_bytes < 256 * MIB


def test_cancellation_leaves_nothing(bench: Bench, marker: str) -> None:
    request = bench.request(STUBBORN.format(marker=marker) + f"sleep {marker}")

    async def cancelled() -> None:
        work = asyncio.ensure_future(bench.sandbox.run(request))
        await until(lambda: len(alive(f"sleep\0{marker}")) >= 3)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        assert not alive(marker)

    bench.do(cancelled())


def test_cancellation_before_anything_runs(bench: Bench) -> None:
    async def cancelled(after_s: float) -> None:
        work = asyncio.ensure_future(bench.sandbox.run(bench.request("sleep 30")))
        await asyncio.sleep(after_s)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    for after_s in () if bench.kind == "fake" else (0.0, 0.01, 0.05, 0.15):
        bench.do(cancelled(after_s))
    assert bench.run("echo still works").log.head == b"still works\n"


def test_two_at_once(bench: Bench, marker: str) -> None:
    async def overlapping() -> None:
        long = asyncio.ensure_future(bench.sandbox.run(bench.request(f"sleep {marker}")))
        await until(lambda: alive(f"sleep\0{marker}"))
        short = await bench.sandbox.run(bench.request("exit 6"))
        assert short.exit_status == 6
        assert alive(f"sleep\0{marker}")
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long

    bench.do(overlapping())


def test_the_same_name_twice_at_once(bench: Bench) -> None:
    request = bench.request("sleep 0.3")

    async def twice() -> list[object]:
        return list(
            await asyncio.gather(bench.sandbox.run(request), bench.sandbox.run(request), return_exceptions=True)
        )

    results = bench.do(twice())
    assert sum(isinstance(result, PermanentError) for result in results) == 1


def test_a_name_that_is_taken(bench: Bench) -> None:
    request = bench.request("echo fresh >$PARSIMONY_OUT/x")
    bench.abandon(request.name, own_labels(request, time.time()))
    assert bench.do(bench.sandbox.run(request)).outputs == {"x": b"fresh\n"}

    foreign = bench.request("exit 0")
    for marks in ({"someone": "else"}, own_labels(foreign, 0) | {labels.ATTEMPT: "2"}):
        bench.abandon(foreign.name, marks)
        with pytest.raises(PermanentError):
            bench.do(bench.sandbox.run(foreign))
        assert foreign.name in bench.standing()
        bench.forget(foreign.name)


def test_reaping_touches_only_ours(bench: Bench) -> None:
    ours = {labels.MANAGED_BY: labels.OURS}
    run = f"run-{uuid.uuid4().hex[:8]}"
    past, future = str(int(time.time()) - 10), str(int(time.time()) + 10**6)
    left = {
        "this-run": ours | {labels.RUN: run, labels.EXPIRES: future},
        "other-run": ours | {labels.RUN: RUN, labels.EXPIRES: future},
        "expired": ours | {labels.RUN: RUN, labels.EXPIRES: past},
        "foreign": {labels.RUN: run, labels.EXPIRES: past},
    }
    names = {f"psm-test-{run}-{name}": marks for name, marks in left.items()}
    for name, marks in names.items():
        bench.abandon(name, marks)

    def standing() -> set[str]:
        return {name.rpartition(f"{run}-")[2] for name in bench.standing() & set(names)}

    try:
        assert bench.do(bench.sandbox.reap(run, dry_run=True)) == [f"psm-test-{run}-this-run"]
        assert standing() == {"this-run", "other-run", "expired", "foreign"}
        assert bench.do(bench.sandbox.reap(run)) == [f"psm-test-{run}-this-run"]
        assert standing() == {"other-run", "expired", "foreign"}
        assert f"psm-test-{run}-expired" in bench.do(bench.sandbox.reap())
        assert "foreign" in standing()
        if bench.kind != "fake":
            assert standing() == {"other-run", "foreign"}
        assert bench.do(bench.sandbox.reap(run)) == []
    finally:
        for name in names:
            bench.forget(name)


def test_reaping_leaves_what_runs_here(bench: Bench) -> None:
    async def reaped() -> None:
        work = asyncio.ensure_future(bench.sandbox.run(bench.request("sleep 0.7; exit 9")))
        await asyncio.sleep(0.3)
        assert await bench.sandbox.reap(RUN) == []
        assert (await work).exit_status == 9

    bench.do(reaped())


def test_a_command_that_is_not_there(bench: Bench) -> None:
    for program in ("no-such-program", "/no/such/program", "/etc"):
        request = replace(bench.request("exit 0"), command=(program, "x"))
        with pytest.raises(PermanentError, match="command"):
            bench.do(bench.sandbox.run(request))


def test_an_inbox_that_cannot_be(bench: Bench) -> None:
    for files in ({"../x": b""}, {"/x": b""}, {"a": b"", "a/b": b""}, {"a": b"", "./a": b""}, {"": b""}):
        with pytest.raises(PermanentError, match="inbox"):
            bench.run("exit 0", files=files)


def test_declared_isolation_holds(bench: Bench) -> None:
    able = bench.sandbox.capabilities
    result = bench.run("cat /proc/net/dev; echo --; ls /proc")
    interfaces, _, processes = result.log.head.partition(b"--\n")
    seen = [line.split(b":")[0].strip() for line in interfaces.splitlines()[2:]]
    pids = [name for name in processes.split() if name.isdigit()]
    if able.network_off:
        assert seen == [b"lo"]
    if able.private_processes:
        assert len(pids) < 12
        assert alive(str(os.getpid())) is not None
    else:
        assert str(os.getpid()).encode() in pids


def test_the_environment_has_a_digest(bench: Bench) -> None:
    first, second = (bench.do(bench.sandbox.environment_digest(bench.image)) for _ in range(2))
    assert first == second
    assert first.startswith("sha256:")
    if bench.kind == "docker":
        assert bench.run("exit 0").image_digest == first


class _PeakMemory:
    """The most that this process's resident memory grows while the block runs."""

    def __enter__(self) -> Self:
        self._stop = threading.Event()
        self._before = self._peak = self._resident()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def growth_bytes(self) -> int:
        return self._peak - self._before

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self._peak = max(self._peak, self._resident())

    @staticmethod
    def _resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
