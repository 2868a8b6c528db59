"""How fast footprints are measured, beside a calibration that needs no analyzer.

    PARSIMONY_COMMITS=FOLDER python benchmarks/footprint_rate.py [--passes 2] [--least 6] [--least-without-tokens 10]
                                                                 [--least-candidates 10] [--candidates 10]

FOLDER holds bare git repositories, one `OWNER+NAME/repo` or `OWNER+NAME` for each repository of the real commits
(PARSIMONY_VECTORS, or `../shared/vectors`, holds their rows). Sources and patches are in memory before anything is
timed. The calibration parses and walks each commit's base sources once, just before and just after the commit is
measured; the lower of the two counts, so that whatever else the machine does hits both alike. The table of times gives
what the original takes relative to the same calibration.

Three figures: with every field; without tokens; and each of ten candidates on one base, whose files are parsed for the
first of them only. Exit status 1 when one of them is below its least, or a row differs from its exact counts.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from parsimony.errors import InputError
from parsimony.footprint import load_track, measure_patch
from parsimony.footprint.python_track import PythonTrack

_INDEX = re.compile(rb"^index [0-9a-f]+\.\.[0-9a-f]+.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Commit:
    """One commit: its row, its patch and the files before it."""

    row: dict[str, Any]
    patch: bytes
    files: dict[str, bytes]

    @property
    def key(self) -> str:
        """The name of the commit in the table of times."""
        return f"{self.row['repo']}@{self.row['commit'][:12]}"


def vectors_folder() -> Path | None:
    """Where the shared vectors are: PARSIMONY_VECTORS, else beside the repository; None if neither is there."""
    named = os.environ.get("PARSIMONY_VECTORS")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "vectors"
    return folder if folder.is_dir() else None


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of the real commits."""
    with (folder / "real-commits-given.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def load(row: dict[str, Any], repositories: Path) -> Commit | None:
    """A commit out of `repositories`, which holds a bare repository `OWNER+NAME/repo` or `OWNER+NAME` each.

    Returns None if the repository, or the commit in it, is not there.

    Raises:
        ValueError: git gives another patch than the one of the row.
    """
    folder = repositories / row["repo"].replace("/", "+")
    folder = folder / "repo" if (folder / "repo").is_dir() else folder
    if not folder.is_dir():
        return None
    with tempfile.NamedTemporaryFile("w", suffix=".attributes") as attributes:
        attributes.write("*.py diff=python\n")
        attributes.flush()
        found = _git(
            folder,
            "-c", f"core.attributesFile={attributes.name}", "diff", row["base"], row["commit"], "--", *row["files"],
        )  # fmt: skip
    if found is None:
        return None
    patch = _INDEX.sub(b"", found)
    if hashlib.sha256(patch).hexdigest() != row["patch_sha256"]:
        raise ValueError(f"{row['repo']} {row['commit']}: the patch is not the one of the row")
    files = {path: _git(folder, "show", f"{row['base']}:{path}") for path in row["files"]}
    return Commit(row, patch, {path: data for path, data in files.items() if data is not None})


def _git(folder: Path, *arguments: str) -> bytes | None:
    environment = {
        **os.environ, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_LAZY_FETCH": "1",
    }  # fmt: skip
    command = ["git", "--git-dir", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    return done.stdout if done.returncode == 0 else None


EXACT = (
    "units_added", "units_deleted", "net_units", "churn", "structural_churn", "tokens_added", "tokens_deleted",
)  # fmt: skip


def track() -> PythonTrack:
    loaded = load_track("units-v1")
    assert isinstance(loaded, PythonTrack)
    return loaded


def calibrate(commit: Commit) -> float:
    """Parse each base source once and step through its tree."""
    started = time.process_time()
    for data in commit.files.values():
        try:
            tree = ast.parse(data.decode("utf-8-sig"))
        except (SyntaxError, ValueError):
            continue
        for _ in ast.walk(tree):
            pass
    return time.process_time() - started


def measure(commit: Commit, *, tokens: bool) -> None:
    try:
        measure_patch(commit.files, commit.patch, tokens=tokens)
    except InputError:
        assert commit.row["expected"]["status"] == "error", commit.key


def cold(commit: Commit, *, tokens: bool) -> float:
    """Seconds of the processor for one commit whose base was not seen before."""
    track().cache.clear()
    started = time.process_time()
    measure(commit, tokens=tokens)
    return time.process_time() - started


def candidates(commit: Commit, count: int) -> float:
    """Seconds for each of `count` patches on one base."""
    track().cache.clear()
    started = time.process_time()
    for _ in range(count):
        measure(commit, tokens=True)
    return (time.process_time() - started) / count


def paired(commits: Sequence[Commit], timed: Callable[[Commit], float], passes: int) -> tuple[float, float]:
    """Seconds measured and of the calibration, the lower of all passes for each commit."""
    measured, calibrated = 0.0, 0.0
    for commit in commits:
        taken: list[float] = []
        beside: list[float] = []
        for _ in range(passes):
            beside.append(calibrate(commit))
            gc.collect()
            taken.append(timed(commit))
            beside.append(calibrate(commit))
        measured += min(taken)
        calibrated += min(beside)
    return measured, calibrated


def original_ratio(commits: Sequence[Commit], folder: Path) -> float:
    """What the original takes for these commits, in calibrations."""
    times = json.loads((folder / "timing.json").read_text(encoding="utf-8"))
    by_key = dict(zip(times["commit_keys"], times["per_commit"], strict=True))
    known = [by_key[commit.key] for commit in commits]
    return float(sum(row["oracle"] for row in known) / sum(row["calibration"] for row in known))


def wrong(commit: Commit) -> list[str]:
    """What differs from the exact counts of a row."""
    exact = commit.row["exact"]
    try:
        metrics = measure_patch(commit.files, commit.patch).metrics()
    except InputError as error:
        return [] if exact is None else [f"{commit.key}: {error}"]
    if exact is None:
        return [f"{commit.key}: measured, and should not be"]
    other = commit.row.get("other_python", {}).get(".".join(map(str, sys.version_info[:3])), {})
    names = [name for name in EXACT if name not in other or not name.startswith("tokens")]
    return [
        f"{commit.key}: {name} is {metrics[name]}, not {exact[name]}" for name in names if metrics[name] != exact[name]
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--candidates", type=int, default=10)
    parser.add_argument("--least", type=float, default=6.0)
    parser.add_argument("--least-without-tokens", type=float, default=10.0)
    parser.add_argument("--least-candidates", type=float, default=10.0)
    options = parser.parse_args()
    folder, repositories = vectors_folder(), os.environ.get("PARSIMONY_COMMITS")
    if folder is None or not repositories:
        print("PARSIMONY_COMMITS must name the repositories, and PARSIMONY_VECTORS the rows", file=sys.stderr)
        return 2
    warnings.simplefilter("ignore")  # of sources: invalid escapes and the like
    wanted = list(rows(folder))
    commits = [commit for commit in (load(row, Path(repositories)) for row in wanted) if commit is not None]
    print(f"{len(commits)} of {len(wanted)} commits, Python {sys.version.split()[0]}")
    problems = [problem for commit in commits for problem in wrong(commit)]
    print("\n".join(problems) if problems else "every row has its exact counts")
    original = original_ratio(commits, folder)
    print(f"original: {original:.2f} calibrations")
    figures = (
        ("every field", options.least, lambda commit: cold(commit, tokens=True)),
        ("without tokens", options.least_without_tokens, lambda commit: cold(commit, tokens=False)),
        ("each candidate", options.least_candidates, lambda commit: candidates(commit, options.candidates)),
    )
    good = not problems
    for name, least, timed in figures:
        measured, calibration = paired(commits, timed, options.passes)
        ratio = measured / calibration
        print(f"{name}: {measured:.2f} s, {ratio:.2f} calibrations, {original / ratio:.1f} times the original's rate")
        good = good and original / ratio >= least
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
