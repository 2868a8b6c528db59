"""Commands about measured footprints: leaderboard, footprint-report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from parsimony.cli import DONE, screen
from parsimony.errors import InputError
from parsimony.footprint import leaderboard as boards
from parsimony.measurements import PYTHON, Record, read_results, seeds_pooled
from parsimony.modulecommand import write_text

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Choice:
    """What of the records is compared, and how.

    Attributes:
        agents: only these; empty for all.
        mode: kind of metrics, for medians.
        ordering: one of `parsimony.footprint.leaderboard.ORDERINGS`.
        draws, seed: of the paired bootstrap behind rank intervals.
    """

    agents: tuple[str, ...]
    shared: bool
    mode: str
    ordering: str
    draws: int
    seed: int


def leaderboard(files: Sequence[Path], choice: Choice, *, as_json: bool) -> int:
    """A table where a person looks, JSON where a program or a file takes the output."""
    records = [record for file in files for record in _read(file)]
    tracks = _by_track(records) if any(file.is_dir() for file in files) else {"": records}
    rows = {language: _rows(found, choice) for language, found in tracks.items()}
    if as_json or not sys.stdout.isatty():
        alone = next(iter(rows.values()), [])
        screen.print_json(alone if len(rows) < 2 else rows)
    else:
        for language, found in rows.items():
            if len(rows) > 1:
                screen.console().print(Text(f"\n{language}", style="bold"))
            screen.console().print((_medians if choice.ordering == boards.MEDIANS else _means)(found))
    if len(versions := sorted({record.analyzer_version for record in records})) > 1:
        screen.console(stderr=True).print(Text(f"note: these records are of analyzers {' and '.join(versions)}"))
    return DONE


def _read(path: Path) -> Sequence[Record]:
    """The records of a results file, or of a run: there the seeds of an arm are attempts of one agent."""
    if not path.is_dir():
        return read_results(path).records
    from cluster.rundir import RunFolder

    found = RunFolder.existing(path).footprints
    if not found.exists():
        mend = f"grade it with `footprint: units-v1` in its sweep, or run `parsimony regrade {path}`"
        raise InputError("has no footprints", mend=mend, file=str(path))
    return seeds_pooled(read_results(found, keep_seeds=True).records)


def _by_track(records: Sequence[Record]) -> dict[str, list[Record]]:
    """A run may have tasks of several languages, whose counts are never pooled."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(str(record.track["language"]) if record.track else PYTHON, []).append(record)
    return found


def _rows(records: Sequence[Record], choice: Choice) -> list[dict[str, object]]:
    agents = list(choice.agents) or None
    if choice.ordering == boards.MEDIANS:
        return boards.leaderboard(records, agents=agents, shared=choice.shared, mode=choice.mode)
    return boards.means(
        records,
        agents=agents,
        shared=choice.shared,
        include_failed=choice.ordering == boards.ALL_MEANS,
        draws=choice.draws,
        seed=choice.seed,
    )


def _medians(rows: Sequence[Row]) -> Table:
    table = Table(
        title="footprint of analysed successes, medians", title_justify="left", show_edge=False, pad_edge=False
    )
    table.add_column("agent", overflow="fold")
    for heading in ("tasks", "net units", "churn", "× human", "files", "AST", "branches", "solved"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        medians = ("net_units", "churn", "model_human_ratio", "files_changed", "ast_delta", "complexity_delta")
        shown = [_number(row[f"median_{name}"]) for name in medians]
        table.add_row(
            Text(row["agent"]), str(row["successful_tasks_analyzed"]), *shown, screen.percent(row["resolve_rate"])
        )
    return table


def _means(rows: Sequence[Row]) -> Table:
    what = "all measured attempts" if rows and rows[0]["ordering"] == boards.ALL_MEANS else "measured solved attempts"
    table = Table(title=f"mean footprint of {what} in scope", title_justify="left", show_edge=False, pad_edge=False)
    for heading in ("rank", "95 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("agent", overflow="fold")
    for heading in ("net units", "churn", "solved", "measured", "coverage"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        ends = row["rank_interval_95"]
        table.add_row(
            "–" if row["rank"] is None else str(row["rank"]),
            "–" if ends is None else f"{ends[0]} to {ends[1]}",
            Text(row["agent"]),
            _number(row["mean_net_units"]),
            _number(row["mean_churn"]),
            screen.percent(row["resolve_rate"]),
            f"{row['measured_tasks']}/{row['attempts']}",
            screen.percent(row["coverage"]),
        )
    return table


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def report(panel_file: Path, files: Sequence[Path], out: Path, *, draws: int, seed: int) -> int:
    """Write the footprint page."""
    from parsimony.report.footprint_page import footprint_page
    from parsimony.scoring.commands import read_panel

    panel, sha256 = read_panel(str(panel_file))
    records = [record for file in files for record in read_results(file).records]
    write_text(footprint_page(panel, records, panel_sha256=sha256, draws=draws, seed=seed), str(out))
    screen.console(stderr=True).print(Text(f"wrote {out}"))
    return DONE
