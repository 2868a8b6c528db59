"""The witness itself: exit statuses, time limits, nothing that outlives it, a memory that is its own."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

INIMAGE = Path(__file__).parents[3] / "parsimony" / "inimage" / "python"


def alive(marker):
    """Processes whose command line holds `marker`."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and marker in (entry / "cmdline").read_bytes().decode("utf-8", "replace"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("command", "status", "signal"), [("exit 0", 0, None), ("exit 7", 7, None), ("kill -SEGV $$", 139, 11)]
)
def test_exit_status_is_that_of_the_command(bench, command, status, signal):
    outcome = bench.run(command)
    assert outcome.status == status
    assert outcome.record["command"]["exit_status"] == outcome.report.exit_status == status
    assert outcome.record["command"]["signal"] == signal


def test_the_command_sees_what_it_should(bench):
    outcome = bench.run(
        'cat; echo "$0|$PARSIMONY_TREE|$(pwd)"; test -S "$PARSIMONY_CHANNEL" && echo socket; echo error >&2;'
        "python -c 'import signal; print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)'"
    )
    assert outcome.output.splitlines() == [f"/bin/bash|{bench.tree}|{bench.tree}", "socket", "error", "True"]


def test_the_secrets_are_gone_before_the_command_starts(bench):
    outcome = bench.run(
        f"ls {bench.outside}/in; tr '\\0' '\\n' </proc/$PPID/environ; tr '\\0' '\\n' </proc/$PPID/cmdline"
    )
    assert "secrets.json\n" not in outcome.output.split("--")[0].replace("--secrets", "")
    assert bench.key not in outcome.output
    assert not (bench.outside / "in" / "secrets.json").exists()


def test_time_limit_kills_everything_and_keeps_what_was_reported(bench):
    marker = f"marker{os.getpid()}x{time.monotonic_ns()}"
    sleeper = f"import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(300)  # {marker}"
    bench.write(
        {
            "test_it.py": "import os, subprocess, sys, time\n"
            f"SLEEPER = {sleeper!r}\n"
            "def test_a(): pass\n"
            "def test_b():\n"
            "    subprocess.Popen([sys.executable, '-c', SLEEPER], start_new_session=True)\n"
            "    if os.fork() == 0:\n"
            "        os.setsid()\n"
            "        if os.fork() == 0:\n"
            "            os.execv(sys.executable, [sys.executable, '-c', SLEEPER])\n"
            "        os._exit(0)\n"
            "    open('reached', 'w').close()\n"
            "    time.sleep(300)\n"
        }
    )
    outcome = bench.run("trap '' TERM; pytest -p no:cacheprovider", timeout=12)
    assert outcome.status == 124
    assert outcome.report.timed_out
    assert outcome.report.exit_status is None
    assert (bench.tree / "reached").exists(), outcome.output
    assert outcome.statuses == {"test_it.py::test_a": "passed"}
    assert alive(marker) == []


def test_nothing_outlives_the_command(bench):
    marker = f"marker{os.getpid()}x{time.monotonic_ns()}"
    outcome = bench.run(f"(setsid sh -c 'trap \"\" TERM; : {marker}; sleep 300; sleep 300' &) ; sleep 0.2; exit 3")
    assert outcome.status == 3
    assert outcome.record["command"]["exit_status"] == 3
    assert alive(marker) == []


def test_a_tree_that_keeps_forking_is_killed(bench):
    marker = f"marker{os.getpid()}x{time.monotonic_ns()}"
    program = (
        "import os, time\n"
        f"end = time.monotonic() + 60  # {marker}\n"
        "for _ in range(3):\n    os.fork()\n"
        "while time.monotonic() < end:\n"
        "    if os.fork():\n        os._exit(0)\n"
        "    os.setsid()\n    time.sleep(0.001)\n"
    )
    outcome = bench.run(f"python -c '{program}' & sleep 0.5; exit 0", timeout=30)
    assert outcome.status == 0
    assert outcome.record["findings"] == []
    assert alive(marker) == []


def test_somebody_else_is_left_alone(bench):
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True) as neighbour:
        try:
            bench.run("sleep 60 & exit 0")
            bench.run("sleep 60", timeout=0.3)
            assert neighbour.poll() is None
        finally:
            neighbour.kill()


def test_a_witness_that_is_ended_kills_the_tree_and_writes_its_report(bench):
    outcome = bench.run("sleep 0.3; kill -TERM $PPID; sleep 60")
    assert outcome.record["command"]["interrupted"] == 15
    assert outcome.report.exit_status is None


@pytest.mark.skipif(sys.platform != "linux", reason="asks the Linux kernel")
def test_the_memory_of_the_witness_cannot_be_read(bench):
    outcome = bench.run(
        "python - <<'E'\nimport os\nfor name in ('mem', 'environ', 'maps'):\n"
        "    try:\n        open(f'/proc/{os.getppid()}/{name}', 'rb').read(1)\n        print(name, 'open')\n"
        "    except OSError as error:\n        print(name, 'closed')\nE\ntrue"
    )
    witness = outcome.record["witness"]
    if not witness["sealed"]:
        pytest.skip("this kernel lets no process seal itself")
    assert "mem open" not in outcome.output
    assert outcome.output.count("closed") >= 1


def test_watched_files_must_not_change(bench):
    bench.write({"tests/test_a.py": "", "tests/test_b.py": ""})
    outcome = bench.run("echo >> tests/test_a.py; touch tests/test_b.py", watch=["tests/test_a.py", "tests/test_b.py"])
    assert "tests/test_a.py was changed while the tests ran" in outcome.report.problems
    assert not any("test_b" in problem for problem in outcome.report.problems)


def test_resources_are_counted_for_the_whole_tree(bench):
    program = "import time; x = bytearray(60 << 20)\nwhile time.process_time() < 0.5: pass"
    burn = f"python -c '{program}'"
    outcome = bench.run(f"{burn} & {burn} & wait")
    command = outcome.record["command"]
    assert command["cpu_seconds"] >= 0.8
    assert command["peak_memory_bytes"] >= 60 << 20
    assert command["wall_seconds"] > 0


def test_wrong_usage_and_a_broken_secrets_file(tmp_path):
    witness = [sys.executable, "-I", "-S", "-B", str(INIMAGE / "witness.py")]
    assert subprocess.run([*witness, "--report", "x"], capture_output=True, check=False).returncode == 125
    (tmp_path / "secrets.json").write_text("[]")
    words = [
        "--secrets",
        str(tmp_path / "secrets.json"),
        "--report",
        str(tmp_path / "r"),
        "--timeout",
        "5",
        "--",
        "true",
    ]
    assert subprocess.run([*witness, *words], capture_output=True, check=False).returncode == 125
    assert not (tmp_path / "r").exists()


def test_it_goes_on_where_the_kernel_cannot_be_asked(bench):
    """Without ctypes nothing is sealed and no orphan adopted: the report says so, and the run is as good."""
    blocked = bench.outside / "blocked"
    blocked.mkdir()
    (blocked / "witness_without_ctypes.py").write_text(
        "import runpy, sys\nsys.modules['ctypes'] = None\nsys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    bench.witness_prefix = [str(blocked / "witness_without_ctypes.py")]
    bench.write({"test_it.py": "def test_a(): pass\n"})
    outcome = bench.run("sleep 300 & pytest -q test_it.py")
    assert outcome.statuses == {"test_it.py::test_a": "passed"}
    assert outcome.report.problems == ()
    assert outcome.record["witness"]["sealed"] is False
    assert outcome.record["witness"]["lowered"] is False
    assert any("seal" in note for note in outcome.report.notes)


def test_every_in_image_file_is_python_3_6():
    """Syntax and names only: what runs in an image of Python 3.6 is tried for real where that version is here."""
    for path in INIMAGE.rglob("*.py"):
        compile(path.read_text(), str(path), "exec", dont_inherit=True)
        text = path.read_text()
        assert not re.search(
            r":=|\bmatch .*:$|from __future__ import annotations|removeprefix|\bdataclass", text, re.MULTILINE
        ), path


def test_the_two_ends_sign_alike():
    spec = importlib.util.spec_from_file_location("parsimony_code", INIMAGE / "inject" / "parsimony_code.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    import hashlib
    import hmac

    for key in (b"", b"k" * 32, b"k" * 64, b"k" * 200):
        assert module.signer(key)(b"message").decode() == hmac.new(key, b"message", hashlib.sha256).hexdigest()


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("PYTHONPATH=src pytest", 'PYTHONPATH="$PARSIMONY_PYTHONPATH":src pytest'),
        ('export PYTHONPATH="a b"', 'export PYTHONPATH="$PARSIMONY_PYTHONPATH":"a b"'),
        ("PYTHONPATH= pytest", 'PYTHONPATH="$PARSIMONY_PYTHONPATH" pytest'),
        ("PYTHONPATH='' pytest", 'PYTHONPATH="$PARSIMONY_PYTHONPATH" pytest'),
        ("export PYTHONPATH=", 'export PYTHONPATH="$PARSIMONY_PYTHONPATH"'),
        ("MY_PYTHONPATH=x; echo $PYTHONPATH", "MY_PYTHONPATH=x; echo $PYTHONPATH"),
    ],
)
def test_assignments_of_the_python_path(text, changed, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(INIMAGE))
    import witness_command

    assert witness_command.prepared(["/bin/sh", "-c", text, "x"]) == ["/bin/sh", "-c", changed, "x"]
    script = tmp_path / "tests.sh"
    script.write_text(text)
    expected = ["/bin/bash", str(script)] if text == changed else ["/bin/bash", "-c", changed, str(script)]
    assert witness_command.prepared(["/bin/bash", str(script)]) == expected
    assert witness_command.prepared(["python", "-c", text]) == ["python", "-c", text]
