"""Patches and sources made to exhaust: each ends in a record or an InputError, and a process with limits survives.

A case runs in a process of its own under limits of processor time and memory that are far above what it takes, and far
below what it took or would take where work is quadratic or a limit is not held.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
import zlib
from collections.abc import Mapping

import pytest

CPU_SECONDS = 20
MEMORY = 1536 << 20

_CHILD = """
import json, pickle, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
from parsimony.errors import InputError
from parsimony.footprint import measure_patch
files, patch, track, language = pickle.load(sys.stdin.buffer)
try:
    told = {"churn": measure_patch(files, patch, track=track, language=language).churn}
except InputError as error:
    told = {"error": str(error)}
told["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps(told))
""".replace("SECONDS", str(CPU_SECONDS))

Base = Mapping[str, bytes]


def run(files: Base, patch: bytes, track: str | None, language: str = "python") -> dict[str, object]:
    """What measuring ends in, in a process with limits."""
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", _CHILD],
        input=pickle.dumps((dict(files), patch, track, language)),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    told: dict[str, object] = json.loads(done.stdout)
    peak = told.pop("peak")
    assert isinstance(peak, int)
    assert peak < MEMORY
    return told


def new_file(path: str, body: bytes, *, mode: bytes = b"100644") -> bytes:
    """A patch that adds a file."""
    name = path.encode()
    lines = body.split(b"\n")
    head = b"diff --git a/%b b/%b\nnew file mode %b\n--- /dev/null\n+++ b/%b\n@@ -0,0 +1,%d @@\n"
    return head % (name, name, mode, name, len(lines)) + b"".join(b"+%b\n" % line for line in lines)


def hunks(count: int) -> bytes:
    """One file, changed at every other line."""
    one = b"@@ -%d +%d @@\n-x\n+y\n"
    return b"--- a/p/f.py\n+++ b/p/f.py\n" + b"".join(one % (row, row) for row in range(1, 2 * count, 2))


HEADERS = b"".join(b"diff --git a/p/%d.txt b/p/%d.txt\n" % (number, number) for number in range(80_000))
CHANGE = b"--- a/p/f.py\n+++ b/p/f.py\n@@ -1 +1 @@\n-x\n+y\n"
F = "p/f.py"

PATCHES: dict[str, tuple[Base, bytes, dict[str, str | int]]] = {
    "eighty thousand files without a change": (
        {},
        HEADERS + new_file(F, b"x"),
        {"units-v1": 1, "units-v2": 1},
    ),
    "five thousand new files": (
        {},
        b"".join(new_file(f"p/{number}.py", b"x") for number in range(5_000)),
        {"units-v1": 5_000, "units-v2": 5_000},
    ),
    "a file named twenty thousand times": (
        {F: b"x\n"},
        CHANGE * 20_000,
        {"units-v1": "two sections", "units-v2": "two sections"},
    ),
    "twenty thousand hunks": (
        {F: b"x\nz\n" * 20_000},
        hunks(20_000),
        {"units-v1": 40_000, "units-v2": 40_000},
    ),
    "a million lines": ({}, new_file(F, b"\n" * 999_999 + b"x"), {"units-v1": 1, "units-v2": 1}),
    "nine million lines": ({}, b"x\n" * 9_000_000, {"units-v1": "over 8000000 lines", "units-v2": "over 8000000"}),
    "one line of 70 MB": ({}, b"x" * 70_000_000, {"units-v1": "over the limit", "units-v2": "over the limit"}),
    "a base of 50 MB": (
        {F: b"x\n" * 25_000_000},
        CHANGE,
        {"units-v1": "over 8000000 lines", "units-v2": "over 8000000 lines"},
    ),
    "a new file of 50 MB": (
        {},
        new_file(F, b"#" * 50_000_000),
        {"units-v1": "over the limit", "units-v2": "over the limit"},
    ),
    "hunk headers alone": (
        {F: b"x\n"},
        CHANGE + b"@@ -1 +1 @@\n" * 100_000,
        {"units-v1": "neither a space", "units-v2": "does not have"},
    ),
    "counts that nothing has": (
        {F: b"x\n"},
        CHANGE.replace(b"-1 ", b"-1,999999999999999999 "),
        {"units-v1": "does not have", "units-v2": "does not have"},
    ),
    "a path out of the tree": (
        {},
        new_file("../../etc/x.py", b"x"),
        {"units-v1": "leaves the tree", "units-v2": "leaves the tree"},
    ),
    "a path through its own link": (
        {},
        new_file("p/l", b"/etc", mode=b"120000") + new_file("p/l/x.py", b"x"),
        {"units-v1": 1, "units-v2": "runs through"},
    ),
    "a NUL": (
        {F: b"x\n"},
        CHANGE.replace(b"+y", b"+\0"),
        {"units-v1": "holds a NUL", "units-v2": "holds a NUL"},
    ),
}


@pytest.mark.parametrize("track", ["units-v1", "units-v2"])
@pytest.mark.parametrize("name", PATCHES)
def test_patches(name: str, track: str) -> None:
    files, patch, ends = PATCHES[name]
    ending(run(files, patch, track), ends[track])


def ending(told: Mapping[str, object], expected: str | int) -> None:
    if isinstance(expected, int):
        assert told == {"churn": expected}
    else:
        assert expected in str(told.get("error"))


def bomb(size: int, stated: int) -> bytes:
    """Binary data that inflate to `size` zeros and say that they are `stated`."""
    packed = zlib.compress(bytes(size), 9)
    lines = []
    for at in range(0, len(packed), 52):
        part = packed[at : at + 52]
        letter = bytes([64 + len(part) if len(part) <= 26 else 70 + len(part)])
        lines.append(letter + base64.b85encode(part + bytes(-len(part) % 4)) + b"\n")
    zeros, ones = b"0" * 40, b"1" * 40
    head = b"diff --git a/p/f.py b/p/f.py\nnew file mode 100644\nindex %b..%b\nGIT binary patch\nliteral %d\n"
    return head % (zeros, ones, stated) + b"".join(lines) + b"\nliteral 0\nHcmV?d00001\n\n"


@pytest.mark.parametrize("stated", [10, 2**28])
def test_bombs_in_binary_patches(stated: int) -> None:
    """A quarter of a gigabyte of zeros in a quarter of a megabyte, in two sections or announced as ten bytes."""
    ending(run({}, bomb(2**28, stated) * 2, "units-v2"), "limit of" if stated > 10 else "do not have the stated 10")


SOURCES: dict[str, tuple[bytes, str | None]] = {
    "an f-string of a million fields": (b'x = f"' + b"{a}" * 1_000_000 + b'"', "words and marks"),
    "an f-string of 250,000 fields": (b'x = f"' + b"{a}" * 250_000 + b'"', "too many fields"),
    "a list of two million numbers": (b"x = [" + b"0," * 2_000_000 + b"]", "words and marks"),
    "800,000 statements": (b"x\n" * 800_000, "words and marks"),
    "two million brackets": (b"(" * 2_000_000, "words and marks"),
    "half a million brackets": (b"(" * 500_000, "too long"),
    "half a million signs": (b"x = " + b"-" * 500_000 + b"1", "too long"),
    "a chain of attributes": (b"x" + b".a" * 150_000, "too long"),
    "a sum of many numbers": (b"1" + b"+1" * 150_000, "too long"),
    "many elif": (b"if a:\n pass\n" + b"elif b:\n pass\n" * 5_000, ""),
    "a staircase": (b"\n".join(b" " * depth + b"if a:" for depth in range(1_500)), ""),
    "an integer of 200,000 digits": (b"x = 0x" + b"f" * 200_000, "thousands of digits"),
    "an open text": (b'"""' + b"\nx" * 100_000, "cannot be split"),
    "fifty thousand open texts": (b'"\n' * 50_000, ""),
}
"""Source and what its error says; "" where interpreters differ in that, None where its tokens alone are known."""


@pytest.mark.parametrize("name", SOURCES)
def test_python_sources(name: str) -> None:
    source, problem = SOURCES[name]
    told = run({}, new_file(F, source), "units-v1")
    if problem is None:
        assert told == {"churn": None}
    elif problem:
        ending(told, problem)


NESTED = {
    "go": ("p/f.go", b"package p\nvar x = "),
    "java": ("p/F.java", b"class A { int x = "),
    "rust": ("p/f.rs", b"const X: u8 = "),
    "c": ("p/f.c", b"int x = "),
    "cpp": ("p/f.cc", b"int x = "),
    "javascript": ("p/f.js", b"x = "),
    "typescript": ("p/f.ts", b"x = "),
}


def available(language: str) -> None:
    """Skip where the parser of a language is not there."""
    if language in ("javascript", "typescript"):
        if not os.environ.get("PARSIMONY_NODE_MODULES") or shutil.which("node") is None:
            pytest.skip("PARSIMONY_NODE_MODULES does not name a folder with typescript, or there is no node")
    elif importlib.util.find_spec(f"tree_sitter_{language}") is None:
        pytest.skip(f"tree-sitter-{language} is not installed")


@pytest.mark.parametrize("language", NESTED)
def test_deep_nesting_in_other_languages(language: str) -> None:
    available(language)
    path, start = NESTED[language]
    told = run({}, new_file(path, start + b"(" * 100_000 + b"1" + b")" * 100_000 + b";"), None, language)
    assert "churn" in told or path in str(told["error"])


@pytest.mark.parametrize("language", NESTED)
def test_large_files_and_nul_in_other_languages(language: str) -> None:
    available(language)
    path, start = NESTED[language]
    ending(run({}, new_file(path, b"x" * (5 << 20)), None, language), "over the limit")
    told = run({}, new_file(path, start + b"\0\xff"), None, language)
    ending(told, "UTF-8")
