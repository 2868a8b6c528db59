"""The witness in node: what it says of a command, whom it kills, what it takes for a frame."""

from __future__ import annotations

import hashlib
import hmac
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from parsimony.testreports import channel
from parsimony.testreports.model import Canaries

CONNECT = """
const net = require('net'), crypto = require('crypto')
const socket = net.connect(process.env.PARSIMONY_CHANNEL)
socket.once('data', (data) => {
  const { key, canaries } = JSON.parse(data)
  let n = 0
  const send = (event) => {
    const text = JSON.stringify(event)
    const mac = crypto.createHmac('sha256', Buffer.from(key, 'hex')).update(`${n} ${text}`).digest('hex').slice(0, 32)
    return `${n++} ${mac} ${text}\\n`
  }
  socket.end(PROGRAM(send, canaries))
})
"""


@pytest.mark.parametrize(
    ("command", "status", "signal"), [("exit 0", 0, None), ("exit 3", 3, None), ("kill -9 $$", 137, 9)]
)
def test_exit_status(bench: Any, command: Any, status: Any, signal: Any) -> None:
    outcome = bench.run(command)
    assert outcome.status == status
    assert outcome.command["exit_status"] == status
    assert outcome.command["signal"] == signal
    assert outcome.command["timed_out"] is False


def test_a_command_that_is_not_there(bench: Any) -> None:
    assert bench.run("no-such-command").status == 127


def test_output_comes_through_and_input_is_empty(bench: Any) -> None:
    outcome = bench.run("echo out; echo err >&2; cat")
    assert outcome.output == "out\nerr\n"


def test_measures_processor_time_and_memory(bench: Any) -> None:
    outcome = bench.run(
        "node -e 'const b = Buffer.alloc(80e6, 1); const t = Date.now(); while (Date.now() - t < 600);'"
    )
    cpu, peak = outcome.command["cpu_seconds"], outcome.command["peak_memory_bytes"]
    assert isinstance(cpu, float)
    assert 0.1 < cpu < 30
    assert isinstance(peak, int)
    assert peak > 80e6


def test_time_limit_ends_the_whole_tree(bench: Any, tmp_path: Any) -> None:
    pids = tmp_path / "pids"
    script = f"""
trap '' TERM INT HUP
echo $$ >>{pids}
(setsid sh -c 'trap "" TERM; echo $$ >>{pids}; sleep 300' &)
(sh -c 'echo $$ >>{pids}; sleep 300 & sleep 300' &)
sleep 300
"""
    outcome = bench.run(script, timeout=1.5)
    assert outcome.status == 124
    assert outcome.command["timed_out"] is True
    assert outcome.command["exit_status"] is None
    assert outcome.report.timed_out
    started = [int(line) for line in pids.read_text().split()]
    assert len(started) == 3
    assert not any(_lives(pid) for pid in started)


def test_nothing_outlives_the_command(bench: Any, tmp_path: Any) -> None:
    pids = tmp_path / "pids"
    outcome = bench.run(f"sh -c 'echo $$ >{pids}; sleep 300' & sleep 0.5")
    assert outcome.status == 0
    assert outcome.command["survivors"] != 0
    assert not _lives(int(pids.read_text()))


def test_a_neighbour_is_left_alone(bench: Any) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as neighbour:
        bench.run("sleep 0.3 & sleep 0.2")
        assert neighbour.poll() is None
        neighbour.kill()


def test_the_report_is_signed(bench: Any) -> None:
    outcome = bench.run("true")
    body, _, signature = outcome.data.partition(b"\n")
    changed = body.replace(b'"timed_out":false', b'"timed_out":true')
    assert changed != body
    key = bytes(32)
    signed = body + b"\n" + json.dumps({"mac": hmac.new(key, body, hashlib.sha256).hexdigest()}).encode()
    canaries = Canaries("cp", "cf")
    assert channel.read(signed, canaries=canaries, key=key).tampered is False
    assert channel.read(changed + b"\n" + signature, canaries=canaries, key=key).tampered


def test_a_changed_reporter_is_a_finding(bench: Any) -> None:
    outcome = bench.run('echo \'//\' >>"$(dirname "$PWD")/in box/node/session.cjs"')
    findings = outcome.record["findings"]
    assert isinstance(findings, list)
    assert any("session.cjs was changed" in text for text in findings)


def test_frames_are_checked(bench: Any) -> None:
    program = """
const PROGRAM = (send, canaries) => [
  send({ event: 'session', framework: 'x', pid: process.pid }),
  'no frame at all\\n',
  '1 00000000000000000000000000000000 {"event":"finish"}\\n',
  send({ event: 'start', id: 'a' }).replace('"a"', '"b"'),
].join('')
"""
    bench.write({"client.js": program + CONNECT})
    outcome = bench.run("node client.js")
    (session,) = outcome.record["sessions"]
    assert session["bad_frames"] == 3
    assert [event["event"] for event in session["events"]] == ["session"]
    assert outcome.report.tampered


def test_a_flood_does_not_fill_the_memory(bench: Any) -> None:
    program = "const PROGRAM = (send) => send({ event: 'session' }) + 'x'.repeat(3e6)\n"
    bench.write({"client.js": program + CONNECT})
    (session,) = bench.run("node client.js").record["sessions"]
    assert session["bad_frames"] == 1
    assert session["closed"] is True


def test_processes_without_tests_say_nothing(bench: Any) -> None:
    outcome = bench.run('node -e 1; node -e \'require("child_process").execSync("node -e 1")\'')
    assert outcome.record["sessions"] == []


def test_existing_options_are_kept(bench: Any) -> None:
    outcome = bench.run(
        "node -e 'console.log(process.env.NODE_OPTIONS.replace(/.*cjs./, \"\"))'",
        environment={"NODE_OPTIONS": "--stack-trace-limit=50"},
    )
    assert outcome.output == " --stack-trace-limit=50\n"


def _lives(pid: int) -> bool:
    for _ in range(20):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.05)
    return True
