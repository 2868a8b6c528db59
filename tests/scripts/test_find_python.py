from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "find-python"


def find(python: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": python}
    return subprocess.run([SCRIPT], env=environment, capture_output=True, text=True, check=False)


def test_the_named_one_is_taken() -> None:
    assert find(sys.executable).stdout == f"{sys.executable}\n"


def test_the_first_that_will_do_is_taken() -> None:
    assert find(f"no-such-python {sys.executable}").stdout == f"{sys.executable}\n"


def test_none_that_will_do(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    found = find(str(old))
    assert found.returncode == 2
    assert found.stdout == ""
    assert str(old) in found.stderr
    assert "python3-venv" in found.stderr
