"""`parsimony medals`: scores of competitions as medals by their leaderboards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from parsimony.cli import DONE, PARTIAL, screen
from parsimony.errors import InputError
from parsimony.value import Attempt, Leaderboard, Medal, MedalTable, SeedMedals, read_attempts, read_leaderboard, tally
from parsimony.value.medals import ENOUGH_SEEDS

CLASSES = (Medal.GOLD, Medal.SILVER, Medal.BRONZE)


def run(scores: Path, folder: Path, *, everything: bool, as_json: bool) -> int:
    """Tell medals; the exit status.

    Args:
        everything: every leaderboard of the folder is a competition that was planned, not only those with a row.
    """
    attempts, rejected = read_attempts(scores)
    there = _files(folder)
    named = list(dict.fromkeys([one.competition for one in attempts]))
    boards, unreadable = _boards(list(there) if everything else named, there, folder)
    rejected += unreadable
    used = sorted(boards)
    tables = tally(attempts, boards, used)
    for error in rejected:
        screen.console(stderr=True).print(Text(f"rejected: {error}"))
    if not tables:
        raise InputError("has no row that can be used", mend="mend the rows above", file=str(scores))
    whole = not rejected and not any(one.missing for one in tables)
    if as_json:
        screen.print_json(_json(tables, attempts, boards, rejected, len(there)))
    else:
        _print(tables, len(there))
    return DONE if whole else PARTIAL


def _files(folder: Path) -> Mapping[str, Path]:
    """Leaderboards by competition: `<id>.csv`, or `<id>/leaderboard.csv` as MLE-bench keeps them."""
    if not folder.is_dir():
        raise InputError("is no folder", mend="name the folder of the leaderboards", file=str(folder))
    found = {path.parent.name: path for path in sorted(folder.glob("*/leaderboard.csv"))}
    found |= {path.stem: path for path in sorted(folder.glob("*.csv"))}
    if not found:
        mend = "put <competition>.csv or <competition>/leaderboard.csv there"
        raise InputError("has no leaderboard", mend=mend, file=str(folder))
    return found


def _boards(
    wanted: Sequence[str], there: Mapping[str, Path], folder: Path
) -> tuple[dict[str, Leaderboard], list[InputError]]:
    boards: dict[str, Leaderboard] = {}
    rejected: list[InputError] = []
    for name in wanted:
        try:
            if name not in there:
                raise InputError(f"has no leaderboard of {name!r}", mend=f"add {name}.csv", file=str(folder))
            boards[name] = read_leaderboard(there[name], name)
        except InputError as error:
            rejected.append(error)
    return boards, rejected


def _print(tables: Sequence[MedalTable], there: int) -> None:
    out = screen.console()
    shown = len(tables[0].competitions)
    title = f"medals on {shown} of {there} competitions"
    board = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
    board.add_column("arm", overflow="fold", max_width=26)
    for heading in ("seeds", "any medal ± SE", "gold", "silver", "bronze", "> median", "invalid"):
        board.add_column(heading, justify="right", no_wrap=True)
    for one in tables:
        board.add_row(
            Text(one.arm),
            str(len(one.seeds)),
            _headline(one),
            *(f"{100 * float(one.rate_of(medal)):.1f} %" for medal in CLASSES),
            str(sum(seed.above_median for seed in one.seeds)),
            str(sum(seed.invalid for seed in one.seeds)),
        )
    out.print(board)
    for line in _notes(tables):
        out.print(Text(line))


def _headline(one: MedalTable) -> str:
    low, high = (100 * float(end) for end in one.mean)
    if one.missing:
        return f"{low:.1f} to {high:.1f} %"
    error = one.standard_error
    return f"{low:.1f} %" if error is None else f"{low:.1f} ± {100 * error:.1f} %"


def _notes(tables: Sequence[MedalTable]) -> list[str]:
    lines = []
    for one in tables:
        if one.missing:
            lines.append(
                f"{one.arm}: {one.missing} submissions have no row: bounds, no point (MLE-bench counts them as none)"
            )
        if len(one.seeds) < ENOUGH_SEEDS:
            lines.append(f"{one.arm}: {len(one.seeds)} of the {ENOUGH_SEEDS} seeds that MLE-bench asks for")
    return lines


def _json(
    tables: Sequence[MedalTable],
    attempts: Sequence[Attempt],
    boards: Mapping[str, Leaderboard],
    rejected: Sequence[InputError],
    there: int,
) -> dict[str, Any]:
    return {
        "competitions": list(tables[0].competitions),
        "leaderboards": there,
        "arms": [_arm(one, attempts, boards) for one in tables],
        "rejected": [str(error) for error in rejected],
        "notes": _notes(tables),
    }


def _arm(one: MedalTable, attempts: Sequence[Attempt], boards: Mapping[str, Leaderboard]) -> dict[str, Any]:
    bounds = [float(end) for end in one.mean]
    return {
        "arm": one.arm,
        "any_medal": None if one.missing else bounds[0],
        "any_medal_bounds": bounds,
        "standard_error": one.standard_error,
        "missing": one.missing,
        "seeds": [_seed(each) for each in one.seeds],
        "submissions": [
            {
                "competition_id": each.competition,
                "seed": each.seed,
                "score": each.score,
                "medal": one.each[each.competition, each.seed].value,
                "above_median": boards[each.competition].above_median(each.score),
            }
            for each in attempts
            if each.arm == one.arm and each.competition in boards
        ],
    }


def _seed(one: SeedMedals) -> dict[str, Any]:
    low, high = one.any_medal
    return {
        "seed": one.seed,
        "competitions": one.competitions,
        "any_medal": None if one.missing else float(low),
        "any_medal_bounds": [float(low), float(high)],
        **{medal.value: one.medals.get(medal, 0) for medal in CLASSES},
        "above_median": one.above_median,
        "invalid": one.invalid,
        "missing": one.missing,
    }
