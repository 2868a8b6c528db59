"""`parsimony difficulty`: the item-response fit of a bank of tasks, and its mid-range set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from cluster.finished import read_run
from cluster.rundir import write_atomically
from parsimony.cli import DONE, NO, PARTIAL, screen
from parsimony.cli.collecting import no_collections
from parsimony.difficulty import (
    Band,
    By,
    Difficulty,
    Options,
    Response,
    analyse,
    bank_of,
    gather,
    read_responses,
    wording,
)
from parsimony.errors import InputError

SHOWN = 20
"""Respondents that the terminal lists; all are in --json and on the page."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. See the help of the command."""

    runs: tuple[Path, ...]
    responses: tuple[Path, ...]
    respondent: str
    band: str
    under_test: tuple[str, ...]
    draws: int
    seed: int

    def options(self) -> Options:
        """As options of the analysis."""
        return Options(Band.parse(self.band), self.under_test, self.draws, self.seed)


@dataclass(frozen=True, slots=True)
class Output:
    """Where results go."""

    write_set: Path | None = None
    page: Path | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Inputs:
    """What was read.

    Attributes:
        missing: candidates without a verdict.
    """

    responses: tuple[Response, ...]
    missing: int
    rejected: tuple[InputError, ...]
    notes: tuple[str, ...]


def run(request: Request, output: Output) -> int:
    """Analyse; the exit status."""
    options = request.options()
    options.check()
    inputs = _read(request)
    found = analyse(bank_of(inputs.responses), options)
    for error in inputs.rejected:
        screen.console(stderr=True).print(Text(f"rejected: {error}"))
    notes = [*inputs.notes, *found.warnings]
    if inputs.missing:
        notes.insert(0, f"{inputs.missing} candidates have no verdict; they are no failures and take no part")
    _write(output, found, notes)
    if output.as_json:
        screen.print_json(_json(found, inputs, options))
    else:
        _print(found, notes, output)
    if not found.selected:
        return NO
    return PARTIAL if inputs.rejected or inputs.missing or not found.converged else DONE


def _read(request: Request) -> Inputs:
    if not request.runs and not request.responses:
        raise InputError(
            "there is nothing to read", mend="name folders of runs, or a file with --responses", field="RUN"
        )
    with no_collections():
        gathered = gather([read_run(folder) for folder in _once(request.runs, "RUN")], By(request.respondent))
    responses, rejected = list(gathered.responses), []
    owners = {one.respondent: "a run" for one in responses}
    for path in _once(request.responses, "--responses"):
        more, bad = read_responses(path)
        for one in more:
            owner = owners.setdefault(one.respondent, str(path))
            if owner != str(path):
                problem = f"{one.respondent!r} is a respondent of {owner} too"
                raise InputError(problem, mend="rename one, or leave one out", file=str(path), field="respondent")
        responses += more
        rejected += bad
    return Inputs(tuple(responses), gathered.missing, tuple(rejected), gathered.notes)


def _once(paths: Sequence[Path], field: str) -> Sequence[Path]:
    """The paths, each named once."""
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise InputError("is named twice", mend="name it once", file=str(path), field=field)
        seen.add(path.resolve())
    return paths


def _write(output: Output, found: Difficulty, notes: Sequence[str]) -> None:
    if output.write_set is not None:
        text = "".join(f"{name}\n" for name in found.selected)
        write_atomically(screen.writable(output.write_set), text.encode("utf-8", "surrogatepass"))
    if output.page is not None:
        from parsimony.report.difficulty_page import difficulty_page

        write_atomically(screen.writable(output.page), difficulty_page(found, notes).encode("utf-8", "replace"))


def _json(found: Difficulty, inputs: Inputs, options: Options) -> dict[str, Any]:
    stability = asdict(found.stability)
    ranks = [stability.pop(name) for name in ("full", "middle", "full_ranks", "middle_ranks")]
    return {
        "options": asdict(options),
        "agents": found.agents,
        "fit": {
            "converged": found.converged,
            "steps": found.steps,
            "largest_derivative": found.gradient,
            "mean_log_discrimination": found.stretch,
        },
        "tasks": [asdict(item) for item in found.items],
        "respondents": [
            asdict(one) | dict(zip(("mean_full", "mean_mid_range", "rank_full", "rank_mid_range"), its, strict=True))
            for one, *its in zip(found.respondents, *ranks, strict=True)
        ],
        "mid_range": {
            "tasks": list(found.selected),
            "saved": len(found.items) - len(found.selected),
            "kept_information": found.kept_information,
            **stability,
        },
        "missing_candidates": inputs.missing,
        "rejected_rows": len(inputs.rejected),
        "notes": list(inputs.notes),
        "warnings": list(found.warnings),
    }


def _print(found: Difficulty, notes: Sequence[str], output: Output) -> None:
    out = screen.console()
    out.print(_respondents(found))
    if len(found.respondents) > SHOWN:
        out.print(Text(f"… {len(found.respondents) - SHOWN} more (--json lists all)"))
    out.print()
    for line in (wording.census(found), wording.saving(found), wording.ranks(found), wording.fit(found)):
        out.print(Text(line))
    for note in notes:
        out.print(Text(f"to be known: {note}"))
    for name, path in (("mid-range set", output.write_set), ("page", output.page)):
        if path is not None:
            out.print(Text(f"{name}: {path}"))


def _respondents(found: Difficulty) -> Table:
    """By rank on the full set."""
    table = Table(title="respondents by rank on all tasks", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("respondent", overflow="fold", max_width=30)
    for heading in ("tasks", "ability ± error", "solved, all tasks", "rank, mid-range"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one, mean, rank, middle in wording.ranked(found)[:SHOWN]:
        table.add_row(
            wording.rank(rank),
            Text(one.name),
            str(one.tasks),
            wording.ability(one),
            screen.percent(mean),
            wording.rank(middle),
        )
    return table
