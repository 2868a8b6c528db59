"""Rules of the house that no other tool holds us to."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Spelled so that this file does not match itself.
REGISTRY_HOSTS = re.compile(
    r"pypi\.(?:org)|python(?:hosted)|deb\.(?:debian\.org)|registry\.(?:npmjs)|proxy\.(?:golang)|static\.(?:crates)"
    r"|repo1?\.(?:maven)|(?:files|index)\.(?:docker\.io)"
)
MACHINE_PATHS = re.compile(r"/(?:wor[k])/|/tm[p]/w/|/roo[t]/\.|/hom[e]/[a-z]+/|/User[s]/[a-z]+/")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
IN_BACKQUOTES = re.compile(r"`((?:docs|configs|scripts|tests|benchmarks|images|helm)/[\w./*-]*[\w*])`")


@cache
def tracked() -> tuple[Path, ...]:
    """Files that belong to the repository, also when it came without its history."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split("\0") if listed.returncode == 0 else []
    paths = [ROOT / name for name in names if name] or [path for path in ROOT.rglob("*") if ".venv" not in path.parts]
    return tuple(path for path in paths if path.is_file())


def texts() -> list[tuple[Path, str]]:
    found = []
    for path in tracked():
        data = path.read_bytes()
        if b"\0" not in data:
            found.append((path, data.decode("utf-8", "replace")))
    return found


def packaged() -> list[Path]:
    return [path for path in tracked() if path.relative_to(ROOT).parts[0] in {"parsimony", "cluster"}]


def python_files() -> list[Path]:
    return [path for path in packaged() if path.suffix == ".py"]


def matches(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_registry_is_named() -> None:
    assert matches(REGISTRY_HOSTS) == []


def test_no_path_of_a_machine_is_named() -> None:
    assert matches(MACHINE_PATHS) == []


@pytest.mark.parametrize(
    "text", ["https://pypi" + ".org/simple", "see deb" + ".debian.org", "repo" + ".maven.apache.org"]
)
def test_the_pattern_finds_hosts(text: str) -> None:
    assert REGISTRY_HOSTS.search(text)


@pytest.mark.parametrize("text", ["/wor" + "k/main/x", "/roo" + "t/.cache", "/hom" + "e/ada/x"])
def test_the_pattern_finds_paths(text: str) -> None:
    assert MACHINE_PATHS.search(text)


def test_modules_stay_small() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_bytes().splitlines()) for path in python_files()}
    assert len(lengths) > 10
    assert {name: length for name, length in lengths.items() if length > 400} == {}


def test_functions_fit_a_screen() -> None:
    long = []
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > 60:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {length} lines")
    assert long == []


def test_links_of_the_documents_lead_somewhere() -> None:
    broken, followed = [], 0
    for path, text in texts():
        if path.suffix != ".md":
            continue
        for target in LINK.findall(text):
            place, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            followed += 1
            there = (path.parent / place).resolve() if place else path
            if not there.exists() or (anchor and there.suffix == ".md" and anchor not in anchors(there)):
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert followed > 5
    assert broken == []


def anchors(path: Path) -> set[str]:
    """The names that headings get on a code host: lower case, punctuation dropped, blanks as hyphens."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_files_that_documents_and_docstrings_name_are_there() -> None:
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, text in texts()
        if path.suffix in {".md", ".py"} and path.relative_to(ROOT).parts[0] != "tests" and path.name != "CHANGELOG.md"
        for name in IN_BACKQUOTES.findall(text)
        if not any(ROOT.glob(name))
    ]
    assert missing == []


def test_commands_of_the_documents_are_targets_of_make() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {
        target
        for path, text in texts()
        if path.suffix == ".md"
        for target in re.findall(r"(?:`|^ {4})make ([a-z]+)", text, re.MULTILINE)
    }
    assert {"demo", "test"} <= named <= targets


@pytest.mark.slow
def test_a_wheel_holds_everything_that_is_needed_at_run_time(tmp_path: Path) -> None:
    pytest.importorskip("setuptools", "77", reason="building a wheel needs the pinned setuptools in this environment")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    subprocess.run([*command, str(tmp_path), str(copied(tmp_path / "source"))], check=True, capture_output=True)
    held = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    wanted = {str(path.relative_to(ROOT)) for path in packaged()}
    assert wanted - held == set()


def copied(target: Path) -> Path:
    """The tracked files alone, so that building leaves nothing in the work tree."""
    for path in tracked():
        copy = target / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    return target
