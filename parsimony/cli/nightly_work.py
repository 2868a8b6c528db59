"""What the commands of `parsimony nightly` do."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from cluster.logs import configure_logs
from parsimony.cli import CANNOT, DONE, NO, PARTIAL, nightly_screen, screen
from parsimony.cli.nightly_config import Configured, read
from parsimony.cli.progress import make_observer
from parsimony.errors import InputError
from parsimony.nightly import (
    Account,
    Book,
    Conclusion,
    Night,
    Point,
    State,
    due,
    histories,
    junit,
    markdown,
    missed,
    next_due,
    points,
    read_date,
    suspects,
)
from parsimony.nightly.book import FILE
from parsimony.schedules import TIMERS

PAGE, JUNIT, SUMMARY = "trend.html", "junit.xml", "summary.md"
MISSED = (
    "A missed night loses no verdict, but what broke in it is seen later: a regression is then of any night since the"
    " last good one. Run a missed date later with `--date`, where its predictions are still there."
)
_STATUS = {State.PASSED: DONE, State.REGRESSION: NO, State.VOID: CANNOT, State.REFUSED: CANNOT}


def now() -> datetime:
    """The moment, in UTC."""
    return datetime.now(UTC)


def open_book(configured: Configured) -> Book:
    """The ledger of the nightly; its folder is made where it is not there."""
    try:
        configured.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        mend = "name a path where a folder can be made, under `nights:`"
        raise InputError(f"can be no folder ({error.strerror})", mend=mend, file=str(configured.folder)) from None
    return Book.open(configured.folder / FILE, configured.name)


# ---- run


def run(path: Path, wanted: str | None, *, if_due: bool, as_json: bool) -> int:
    """Grade a night, compare it, write it down, and write its files."""
    from parsimony.cli.nightly_grading import Tonight, conduct

    configured, at = read(path), now()
    book = open_book(configured)
    day = _day(configured, book, wanted, at, if_due=if_due)
    if day is None:
        return _not_due(configured, book, at, as_json=as_json)
    over = _over(book, day)
    if not over:
        configure_logs()
        with make_observer(as_json=as_json) as observer:
            conduct(Tonight(configured, book, day, observer))
    account = account_of(configured, book, day, at)
    folder = configured.folder / str(day)
    write_files(account, folder)
    if as_json:
        screen.print_json({"folder": str(folder), "already_over": over, **account.to_json()})
    else:
        nightly_screen.show_night(account, folder, already=over)
    return exit_status(book, account.conclusion)


def exit_status(book: Book, conclusion: Conclusion) -> int:
    """0 passed, or accepted; 1 a regression; 2 void, or not comparable; 3 something is missing or was rejected."""
    if conclusion.state is State.PASSED or conclusion.day in book.accepted:
        return PARTIAL if conclusion.data["rejected"] else DONE
    return _STATUS.get(conclusion.state, PARTIAL)


def _over(book: Book, day: date) -> bool:
    found = book.conclusions.get(day)
    return found is not None and (found.state.final or day in book.accepted)


def _day(configured: Configured, book: Book, wanted: str | None, at: datetime, *, if_due: bool) -> date | None:
    """The date of the night to run; None where none is due."""
    planned, today = configured.planned() if if_due else None, at.astimezone(UTC).date()
    if wanted is not None:
        day = read_date(wanted, "--date")
        if day > today:
            raise InputError(f"is {day}, which is still to come", mend=f"today is {today} in UTC", field="--date")
        return None if if_due and _over(book, day) else day
    if planned is None:
        return today
    over = [one for one in book.conclusions if _over(book, one)]
    return due(planned, over, at) or _unfinished(configured, book)


def _unfinished(configured: Configured, book: Book) -> date | None:
    """The newest night, where it was begun and is not over."""
    newest = max(configured.begun(), default=None)
    return None if newest is None or _over(book, newest) else newest


def _not_due(configured: Configured, book: Book, at: datetime, *, as_json: bool) -> int:
    following = nightly_screen.stamp(next_due(configured.planned(), _held(book), at))
    if as_json:
        screen.print_json({"date": None, "next_due": following})
    else:
        screen.console().print(f"not due before {following}")
    return DONE


def _held(book: Book) -> tuple[date, ...]:
    return tuple(book.conclusions)


# ---- what reports tell


def account_of(configured: Configured, book: Book, day: date, at: datetime) -> Account:
    """A night and what it is seen against."""
    conclusions = book.conclusions
    lost: list[str] = []
    counted = [one for d, one in conclusions.items() if d <= day and one.state is not State.VOID and one.data["night"]]
    window = configured.file.statistics.window
    nights = [night for one in counted[-window:] if (night := _night(configured, one, lost)) is not None]
    conclusion = conclusions[day]
    # A void night has its numbers on file, but no verdict of it counts and no task is judged by it.
    shown = nights[-1] if nights and nights[-1].day == day else None
    gone = missed(configured.schedule, _held(book), at) if configured.schedule is not None else ()
    notes = [*conclusion.data["notes"], *lost]
    if conclusion.data["rejected"]:
        notes.append(f"{conclusion.data['rejected']} rows of the inputs were rejected (rejects.jsonl)")
    blind = [one["detectable"] for one in conclusion.data["comparisons"] if one["detectable"] is not None]
    if blind:
        notes.append(f"with 80 % power this gate sees a drop of {100 * max(blind):.1f} points")
    return Account(
        name=configured.name,
        conclusion=conclusion,
        night=shown,
        histories=histories(nights) if shown is not None else (),
        window=window,
        trend=points(book, gone, day),
        owners=configured.owners,
        last_good=book.last_good(day),
        notes=tuple(notes),
    )


def _night(configured: Configured, conclusion: Conclusion, lost: list[str]) -> Night | None:
    """The record of a night, as it was written down; None where it is gone or changed, which is then told."""
    from parsimony.cli.nightly_grading import NIGHT

    try:
        night = Night.read(configured.folder / str(conclusion.day) / NIGHT)
    except InputError as error:
        lost.append(f"the night {conclusion.day} is in no history: {error}")
        return None
    if night.digest != conclusion.data["night"]:
        lost.append(f"the night {conclusion.day} is in no history: {NIGHT} was changed after it was written down")
        return None
    return night


def write_files(account: Account, folder: Path) -> None:
    """The page, JUnit and Markdown; the latter also where a CI system shows it."""
    from parsimony.cli.nightly_grading import write_text
    from parsimony.report.nightly_page import nightly_page

    folder.mkdir(parents=True, exist_ok=True)
    text = markdown(account)
    write_text(folder / PAGE, nightly_page(account))
    write_text(folder / JUNIT, junit(account))
    write_text(folder / SUMMARY, text)
    told = os.environ.get("GITHUB_STEP_SUMMARY")
    if told:
        _append(Path(told), text)


def _append(path: Path, text: str) -> None:
    """Append a summary to the file of a job, unless it is there already."""
    before = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
    if text not in before:
        with path.open("a", encoding="utf-8", errors="replace") as file:
            file.write(text if not before or before.endswith("\n") else f"\n{text}")


# ---- the baseline


def accept(path: Path, wanted: str, why: str, *, as_json: bool) -> int:
    """Make a night the baseline."""
    from parsimony.cli.nightly_grading import outcomes_digest

    configured = read(path)
    book, day = open_book(configured), read_date(wanted)
    entry = book.accept(day, why, outcomes_digest(configured.folder / str(day)))
    if as_json:
        screen.print_json({"baseline": str(day), "entry": None if entry is None else entry.number})
    else:
        told = (
            "is the baseline already; nothing was written"
            if entry is None
            else f"is the baseline (entry {entry.number})"
        )
        screen.console().print(f"{configured.name}: {day} {told}", markup=False)
    return DONE


def rollback(path: Path, why: str, *, as_json: bool) -> int:
    """Go back to the accepted night before."""
    configured = read(path)
    taken, now_is = open_book(configured).rollback(why)
    if as_json:
        screen.print_json({"baseline": str(now_is), "rolled_back": str(taken)})
    else:
        screen.console().print(f"{configured.name}: {taken} was taken back; the baseline is {now_is}", markup=False)
    return DONE


# ---- status and schedule


def status(path: Path, *, as_json: bool) -> int:
    """Nights, the baseline, what is due, and what was missed."""
    configured, at = read(path), now()
    book = open_book(configured)
    held, planned = _held(book), configured.schedule
    gone = missed(planned, held, at) if planned is not None else ()
    following = next_due(planned, held, at) if planned is not None else None
    trend = points(book, gone)
    range_ = _suspects(book, trend)
    told = {
        "name": configured.name,
        "baseline": None if book.baseline is None else str(book.baseline),
        "accepted": [str(day) for day in book.accepted],
        "nights": [_point_json(point) for point in trend],
        "missed": [str(day) for day in gone],
        "next_due": nightly_screen.stamp(following),
        "state": nightly_screen.standing(planned, held, gone, at),
        "suspects": [{"date": str(point.day), "state": point.state} for point in range_],
    }
    if as_json:
        screen.print_json(told)
    else:
        nightly_screen.show_status(told, trend, MISSED)
    return NO if told["state"] == "overdue" else DONE


def _suspects(book: Book, trend: tuple[Point, ...]) -> tuple[Point, ...]:
    """For a regression that nobody has accepted: the nights in one of which it came."""
    newest = next(reversed(book.conclusions.values()), None)
    if newest is None or newest.state is not State.REGRESSION or newest.day in book.accepted:
        return ()
    return suspects(trend, book.last_good(newest.day))


def _point_json(point: Point) -> dict[str, Any]:
    return {
        "date": str(point.day),
        "state": point.state,
        "baseline": point.baseline,
        "accepted": point.accepted,
        "arms": point.arms,
        "reasons": list(point.reasons),
    }


def schedule(path: Path, timer: str, *, as_json: bool) -> int:
    """When nights are due, and what starts them."""
    configured, at = read(path), now()
    planned = configured.planned()
    held = _held(open_book(configured))
    gone = missed(planned, held, at)
    following = nightly_screen.stamp(next_due(planned, held, at))
    state = nightly_screen.standing(planned, held, gone, at)
    ready = TIMERS[timer](planned, configured.job())
    if as_json:
        told = {"schedule": planned.words, "next_due": following, "state": state}
        screen.print_json({**told, "missed": [str(day) for day in gone], "missed_means": MISSED, timer: ready})
        return DONE
    out = screen.console()
    out.print(f"{configured.name} runs {planned.words}; next due {following}: {state}", markup=False)
    if gone:
        out.print(f"missed: {', '.join(map(str, gone))}", markup=False)
    out.print(MISSED, markup=False)
    out.print()
    out.print(ready.rstrip("\n"), markup=False, soft_wrap=True)
    return DONE
