"""Check that docs/dependencies.md, pyproject.toml and constraints.txt say the same, and hold our rule for dependencies.

    python scripts/check_dependencies.py             what the files say
    python scripts/check_dependencies.py --online    also the release dates, from the index that pip is set up for

The rule: nothing is installed unless its release is more than 72 hours old and it has at least 10 stars or was read by
us. Every direct dependency has a row in the table with its standing; every pin of constraints.txt must be old enough.
"""

from __future__ import annotations

import argparse
import json
import re
import ssl
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
MINIMUM_AGE = timedelta(hours=72)
MINIMUM_STARS = 10
STARS = re.compile(r"(?:over|≥) ([\d,]+) stars")
CHECKED_ON = re.compile(r"Release dates read on (\d{4}-\d{2}-\d{2})")


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    name: str
    version: str
    released: str
    standing: str
    used_in: str
    reason: str


def direct_requirements() -> dict[str, Requirement]:
    """Every requirement of pyproject.toml, of all extras, by canonical name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    requirements = [Requirement(line) for line in lines]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def pins() -> tuple[dict[str, str], list[str]]:
    """{canonical name: version} of constraints.txt, and what is wrong with its lines."""
    found: dict[str, str] = {}
    problems = []
    for number, line in enumerate((ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("#") or not line.strip():
            continue
        match = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+!]+)", line)
        if match is None:
            problems.append(f"constraints.txt:{number}: not name==version: {line}")
        else:
            found[canonicalize_name(match[1])] = match[2]
    return found, problems


def read_table(text: str) -> list[Row]:
    """The rows of the tables of direct dependencies: those with six cells whose first is a name in backquotes."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 6 and re.fullmatch(r"`[\w.-]+`", cells[0]):
            rows.append(Row(cells[0].strip("`"), *cells[1:]))
    return rows


def check_files(rows: list[Row], pinned: dict[str, str], checked_on: datetime) -> Iterator[str]:
    """What does not fit between table, pyproject.toml and constraints.txt, and what breaks the rule."""
    requirements = direct_requirements()
    by_name = {canonicalize_name(row.name): row for row in rows}
    for name in sorted(requirements.keys() - by_name.keys()):
        yield f"docs/dependencies.md: no row for {name}, which pyproject.toml asks for"
    for name in sorted(by_name.keys() - requirements.keys() - {"setuptools"}):
        yield f"docs/dependencies.md: {name} is in the table, but pyproject.toml does not ask for it"
    for name, requirement in requirements.items():
        if name not in pinned:
            yield f"constraints.txt: no pin for {name}"
        elif not requirement.specifier.contains(pinned[name], prereleases=True):
            yield f"constraints.txt: {name}=={pinned[name]} is not {requirement.specifier}, as pyproject.toml asks"
    for name, row in by_name.items():
        if name in pinned and row.version != pinned[name]:
            yield f"docs/dependencies.md: {name} is {row.version} there and {pinned[name]} in constraints.txt"
        yield from check_row(row, checked_on)


def check_row(row: Row, checked_on: datetime) -> Iterator[str]:
    """What one row lacks by the rule."""
    if checked_on - datetime.fromisoformat(row.released).replace(tzinfo=UTC) <= MINIMUM_AGE:
        yield f"docs/dependencies.md: {row.name} {row.version} was less than 72 hours old"
    stars = STARS.search(row.standing)
    enough = stars is not None and int(stars[1].replace(",", "")) >= MINIMUM_STARS
    if not enough and not row.standing.startswith("read:"):
        yield f"docs/dependencies.md: {row.name} has neither 10 stars nor a reading (`read: ...`)"
    if not row.reason or not row.used_in:
        yield f"docs/dependencies.md: {row.name} needs a reason and the place where it is used"


def pip(*arguments: str) -> str:
    """What pip prints."""
    command = [sys.executable, "-m", "pip", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def pip_setting(name: str) -> str | None:
    """A setting of pip's own configuration (files and environment), None when it is not set."""
    found = re.search(rf"^[\w:.]+\.{re.escape(name)}='(.*)'$", pip("config", "list"), re.MULTILINE)
    return found[1] if found else None


def index_url() -> str:
    """The index that pip would ask: its setting, else the default that its help names."""
    set_up = pip_setting("index-url")
    if set_up is not None:
        return set_up.rstrip("/")
    found = re.search(r"--index-url.*?\(default\s+(\S+)\)", pip("download", "--help"), re.DOTALL)
    if found is None:
        raise SystemExit("pip does not say which index it uses")
    return found[1].rstrip("/")


def released(index: str, name: str, version: str, tls: ssl.SSLContext) -> datetime | None:
    """When the first file of this release was uploaded; None when the index does not tell."""
    headers = {"Accept": "application/vnd.pypi.simple.v1+json"}
    request = urllib.request.Request(f"{index}/{name}/", headers=headers)
    with urllib.request.urlopen(request, timeout=60, context=tls) as answer:
        files = json.load(answer)["files"]
    times = [file["upload-time"] for file in files if "upload-time" in file and _version(file["filename"]) == version]
    return min(map(datetime.fromisoformat, times), default=None)


def _version(filename: str) -> str | None:
    try:
        parse = parse_wheel_filename if filename.endswith(".whl") else parse_sdist_filename
        return str(parse(filename)[1])
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def check_online(rows: list[Row], pinned: dict[str, str]) -> Iterator[str]:
    """What the index says against the pins and the table's dates."""
    index = index_url()
    tls = ssl.create_default_context(cafile=pip_setting("cert"))
    now = datetime.now(UTC)
    stated: dict[str, str] = {canonicalize_name(row.name): row.released for row in rows}
    for name, version in pinned.items():
        at = released(index, name, str(Version(version)), tls)
        if at is None:
            yield f"{name}=={version}: the index does not tell when it was released"
        elif now - at <= MINIMUM_AGE:
            yield f"{name}=={version}: released {at:%Y-%m-%d %H:%M}, less than 72 hours ago"
        elif stated.get(name, f"{at:%Y-%m-%d}") != f"{at:%Y-%m-%d}":
            yield f"docs/dependencies.md: {name} {version} was released on {at:%Y-%m-%d}, not {stated[name]}"


def main() -> int:
    """Print what is wrong, a line each; 1 when there is anything, 2 when the index cannot be asked."""
    parser = argparse.ArgumentParser(description="Check the table of dependencies.")
    parser.add_argument("--online", action="store_true", help="ask the package index for the date of every pin")
    options = parser.parse_args()
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    checked = CHECKED_ON.search(text)
    if checked is None:
        print("docs/dependencies.md: does not say when the release dates were read")
        return 1
    rows = read_table(text)
    pinned, problems = pins()
    problems += check_files(rows, pinned, datetime.fromisoformat(checked[1]).replace(tzinfo=UTC))
    if options.online:
        try:
            problems += check_online(rows, pinned)
        except (urllib.error.URLError, KeyError, json.JSONDecodeError) as error:
            print(f"the package index cannot be asked: {error!r}", file=sys.stderr)
            return 2
    print("\n".join(problems) or f"{len(rows)} direct dependencies and {len(pinned)} pins, as they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
