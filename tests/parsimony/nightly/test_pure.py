"""Calendar, flips, owners, canaries, ledger and the texts, without any grading."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError, LedgerCorrupt
from parsimony.nightly import (
    Account,
    Book,
    Canary,
    Flip,
    Night,
    Owners,
    Rule,
    State,
    broken,
    due,
    expected,
    histories,
    junit,
    markdown,
    missed,
    next_due,
    points,
    read_date,
    suspects,
    unproven,
)
from parsimony.schedules import Cron, Schedule
from tests.parsimony.nightly.conftest import a_night, a_task, day

DAILY = Schedule(cron=Cron.parse("30 3 * * *"), grace=timedelta(hours=6))
MONDAYS = Schedule(cron=Cron.parse("30 3 * * 1"), grace=timedelta(hours=6))
EVERY_2 = Schedule(every=timedelta(days=2), grace=timedelta(hours=6))


def at(number: int, hour: int = 12) -> datetime:
    return datetime(2026, 12, number, hour, tzinfo=UTC)


def data(number: int, **more: Any) -> dict[str, Any]:
    plain: dict[str, Any] = {"baseline": None, "reasons": [], "notes": [], "missing": 0, "rejected": 0}
    files: dict[str, Any] = {"night": "sha256:n", "outcomes": f"sha256:{number}", "arms": {}, "comparisons": []}
    return {"date": str(day(number)), **plain, **files, "canaries": [], **more}


# ---- calendar


def test_missed_nights_of_a_crontab() -> None:
    assert missed(DAILY, [day(1), day(4)], at(5, 3)) == (day(2), day(3))
    assert missed(DAILY, [day(1), day(4)], at(5, 9)) == (day(2), day(3)), "within the grace"
    assert missed(DAILY, [day(1), day(4)], at(5, 10)) == (day(2), day(3), day(5))
    assert missed(DAILY, [], at(5)) == ()
    assert missed(MONDAYS, [day(1), day(14)], at(20)) == (day(7),)  # the seventh and the fourteenth are Mondays


def test_a_night_by_hand_between_is_no_substitute_for_a_crontab() -> None:
    assert missed(MONDAYS, [day(1), day(8)], at(9)) == (day(7),)


def test_missed_nights_of_an_interval() -> None:
    assert missed(EVERY_2, [day(1), day(3), day(5)], at(6)) == ()
    assert missed(EVERY_2, [day(1), day(2), day(4)], at(4)) == ()
    assert missed(EVERY_2, [day(1), day(6)], at(6)) == (day(3), day(5))


def test_due_is_the_newest_night_that_did_not_take_place() -> None:
    assert due(DAILY, [], at(5)) == day(5)
    assert due(DAILY, [day(1)], at(1)) is None
    assert due(DAILY, [day(1)], at(2, 3)) is None
    assert due(DAILY, [day(1)], at(2, 4)) == day(2)
    assert due(DAILY, [day(1)], at(9, 1)) == day(8), "before the hour it is the night before"
    assert next_due(DAILY, [day(1)], at(1)) == datetime(2026, 12, 2, 3, 30, tzinfo=UTC)
    assert due(EVERY_2, [day(1)], at(4)) == day(3)


@given(
    st.sets(st.integers(1, 28), min_size=1),
    st.integers(1, 31),
    st.sampled_from([DAILY, MONDAYS, EVERY_2, Schedule(cron=Cron.parse("*/5 * * * *"))]),
)
def test_nothing_that_took_place_is_missed_or_due(held: set[int], now: int, schedule: Schedule) -> None:
    nights = {day(number) for number in held if number <= now} or {day(1)}
    gone, following = missed(schedule, nights, at(now, 23)), due(schedule, nights, at(now, 23))
    assert not nights & set(gone)
    assert list(gone) == sorted(set(gone))
    assert following is None or max(nights) < following <= day(now)
    dates = [one for one, _ in expected(schedule, nights, at(now, 23))]
    assert dates == sorted(set(dates)), "a date once, in order, also where many moments lie in a day"


@pytest.mark.parametrize("text", ["", "2026-1-01", "2026-02-30", "٢٠٢٦-١٢-٠١", "2026-12-01T00:00", " 2026-12-01"])
def test_wrong_dates(text: str) -> None:
    with pytest.raises(InputError, match="such as 2026-12-01"):
        read_date(text)


# ---- flips


def kinds(*rows: Mapping[str, int | None]) -> dict[str, Flip]:
    return {one.task_id: one.kind for one in histories([a_night(n, row) for n, row in enumerate(rows, 1)])}


def test_one_flip_is_a_change_and_two_are_flaky() -> None:
    assert kinds({"t": 3}, {"t": 3}, {"t": 1}) == {"t": Flip.NEWLY_BROKEN}
    assert kinds({"t": 0}, {"t": 2}) == {"t": Flip.MENDED}
    assert kinds({"t": 3}, {"t": 0}, {"t": 3}) == {"t": Flip.FLAKY}
    assert kinds(*[{"t": 3}] * 4, {"t": 0}, {"t": 3}, *[{"t": 0}] * 2) == {"t": Flip.FLAKY}
    assert kinds(*[{"t": 3}] * 4, {"t": 0}, {"t": 3}, *[{"t": 0}] * 3) == {"t": Flip.NEWLY_BROKEN}, "now for good"
    assert kinds(*[{"t": 0}] * 3, {"t": 3}, *[{"t": 0}] * 3) == {"t": Flip.FLAKY}, "it failed as long before"
    assert kinds({"t": 0}, {"t": 1}) == {"t": Flip.STEADY}, "most seeds decide"
    assert kinds({"t": None}) == {"t": Flip.UNKNOWN}
    assert kinds({"t": 3}, {"t": None}, {"t": 3}) == {"t": Flip.STEADY}, "no verdict is no failure"
    assert kinds({"t": 3}, {}, {"t": 0}) == {"t": Flip.NEWLY_BROKEN}
    assert kinds() == {}


def test_a_newly_broken_task_names_its_nights() -> None:
    nights = [a_night(1, {"t": 3}), a_night(2, {"t": 3}), a_night(3, {"t": None}), a_night(4, {"t": 0})]
    nights.append(a_night(5, {"t": 0}, patches="q"))
    (one,) = histories(nights)
    assert (one.changed, one.last_good, one.marks, one.same_patches) == (day(4), day(2), "++?--", True)


def test_other_patches_are_told() -> None:
    (one,) = histories([a_night(1, {"t": 3}), a_night(2, {"t": 0}, patches="q")])
    assert one.same_patches is False


def test_executions_that_disagree_are_flaky_without_any_flip() -> None:
    (one,) = histories([a_night(1, {"t": 3}, flaky=True)])
    assert one.kind is Flip.FLAKY


def test_a_tie_is_not_resolved_and_missing_seeds_leave_it_open() -> None:
    assert a_task("t", 1, seeds=2).verdict is False
    assert replace(a_task("t", 1), missing=1).verdict is None
    assert replace(a_task("t", 2), missing=1).verdict is True
    assert replace(a_task("t", 0), missing=1).verdict is False


def test_a_night_reads_back_as_it_was(tmp_path: Path) -> None:
    night = replace(
        a_night(1, {"t": 3, "ü\n": None}),
        canaries=(Canary("t", "gold", "before", "resolved", ("r",)),),
        quarantined={"q": {"repo": "o/r", "reasons": ["x"]}},
    )
    path = tmp_path / "night.json"
    path.write_text(json.dumps(night.to_json()), encoding="utf-8")
    assert Night.read(path) == night
    assert Night.read(path).digest == night.digest
    for bad in (b"", b"[]", b"{}", b"nan", b'{"schema": 2}', b"\xff", b"[" * 100_000):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"night\.json"):
            Night.read(path)
    with pytest.raises(InputError, match="cannot be read"):
        Night.read(tmp_path / "gone.json")


# ---- owners and canaries


def test_the_first_rule_that_fits_names_the_owner() -> None:
    owners = Owners([Rule("a", task="x-*"), Rule("b", repo="o/*"), Rule("c", task="*", repo="p/[ab]")])
    assert owners.of("x-1", "o/r") == "a"
    assert owners.of("y", "o/r") == "b"
    assert owners.of("y", "p/a") == "c"
    assert owners.of("y", "p/c") is None
    assert owners.of("X-1", "") is None, "case counts"


def test_canaries_hold_or_not() -> None:
    def one(name: str, outcome: str) -> Canary:
        return Canary("t", name, "after", outcome)

    good = [one("gold", "resolved"), one("empty", "empty_patch"), one("exit-zero", "tampered")]
    assert broken(good) == unproven(good) == ()
    assert len(broken([one("gold", "timed_out"), one("trivial", "resolved")])) == 2
    assert broken([one("gold", "missing")]) == ()
    assert len(unproven([one("gold", "missing"), one("trivial", "missing")])) == 2


# ---- the ledger


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book.open(tmp_path / "nights.jsonl", "demo")


def test_a_night_is_concluded_once(book: Book) -> None:
    book.conclude(State.INCOMPLETE, data(1, missing=2))
    book.conclude(State.INCOMPLETE, data(1, missing=2))
    book.conclude(State.INCOMPLETE, data(1, missing=1))
    assert len(book.chain) == 2
    assert book.conclude(State.PASSED, data(1), accept="first").state is State.PASSED
    assert book.conclude(State.REGRESSION, data(1)).state is State.PASSED, "what is over stays"
    assert (len(book.chain), book.accepted) == (4, (day(1),))


def test_an_acceptance_that_was_torn_off_is_made_up_for(book: Book) -> None:
    book.conclude(State.PASSED, data(1))
    book.conclude(State.PASSED, data(1), accept="first")
    assert book.accepted == (day(1),)
    book.conclude(State.PASSED, data(1), accept="first")
    assert len(book.chain) == 2


def test_rolling_back_goes_one_accepted_night_back(book: Book) -> None:
    for number in (1, 2, 3):
        book.conclude(State.PASSED, data(number), accept="passed")
    assert book.rollback("slow") == (day(3), day(2))
    assert book.rollback("slower") == (day(2), day(1))
    with pytest.raises(InputError, match="no accepted night before"):
        book.rollback("more")
    assert book.accept(day(3), "again", "sha256:3") is not None
    assert (book.baseline, book.outcomes_of(day(3)), book.outcomes_of(day(2))) == (day(3), "sha256:3", None)


def test_the_last_good_night_passed_or_was_accepted(book: Book) -> None:
    book.conclude(State.PASSED, data(1), accept="first")
    book.conclude(State.REGRESSION, data(2))
    book.conclude(State.VOID, data(3))
    assert book.last_good(day(4)) == day(1)
    book.accept(day(2), "meant", "sha256:2")
    assert book.last_good(day(4)) == day(2)
    assert book.last_good(day(1)) is None


def test_two_writers_see_each_other(tmp_path: Path, book: Book) -> None:
    other = Book.open(tmp_path / "nights.jsonl", "demo")
    book.conclude(State.PASSED, data(1), accept="first")
    assert other.conclude(State.REGRESSION, data(1)).state is State.PASSED
    assert len(other.chain) == 2


def test_a_changed_line_is_found(tmp_path: Path, book: Book) -> None:
    book.conclude(State.REGRESSION, data(1))
    path = tmp_path / "nights.jsonl"
    path.write_bytes(path.read_bytes().replace(b"night.regression", b"night.passed"))
    with pytest.raises(LedgerCorrupt):
        Book.open(path, "demo")


def test_suspects_end_with_the_first_night_that_showed_it(book: Book) -> None:
    states = (State.PASSED, State.INCOMPLETE, State.REGRESSION, State.REGRESSION)
    for number, state in zip((1, 3, 4, 5), states, strict=True):
        book.conclude(state, data(number))
    found = suspects(points(book, [day(2)]), book.last_good(day(5)))
    assert [(one.day, one.state) for one in found] == [
        (day(2), "missed"),
        (day(3), "incomplete"),
        (day(4), "regression"),
    ]


# ---- texts


def account(book: Book, nights: Sequence[Night], missing: Sequence[date] = (), **more: Any) -> Account:
    name = nights[-1].day
    trend = points(book, missing, name)
    return Account("demo", book.conclusions[name], nights[-1], histories(nights), 14, trend, Owners(), **more)


@given(st.text(max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_texts_hold_any_name(tmp_path_factory: pytest.TempPathFactory, name: str, owner: str, reason: str) -> None:
    book = Book.open(tmp_path_factory.mktemp("n") / "nights.jsonl", "demo")
    clean = [text.encode("utf-8", "replace").decode() for text in (name, owner, reason)]
    book.conclude(State.REGRESSION, data(2, reasons=[clean[2]]))
    nights = [a_night(1, {name: 3}), a_night(2, {name: 0})]
    told = replace(account(book, nights), owners=Owners([Rule(owner, task="*")]))
    root = ET.fromstring(junit(told))
    assert [root.get(key) for key in ("tests", "failures", "errors", "skipped")] == ["2", "2", "0", "0"]
    text = markdown(told)
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == 1
    assert rows[0].replace("\\|", "").count("|") == 7


def test_junit_has_the_usual_shape(book: Book) -> None:
    book.conclude(State.INCOMPLETE, data(3, reasons=["2 candidates have no verdict"], missing=2))
    nights = [
        a_night(1, {"a": 3, "b": 3, "c": 0, "d": 3, "e": 3}),
        a_night(2, {"a": 3, "b": 3, "c": 0, "d": 0, "e": 3}),
        a_night(3, {"a": 3, "b": 0, "c": 0, "d": 3, "e": None}),
    ]
    root = ET.fromstring(junit(account(book, nights)))
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        assert int(str(suite.get("tests"))) == len(suite.findall("testcase")) == len(suite)
        for key, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(str(suite.get(key))) == len(suite.findall(f"testcase/{tag}"))
        for case in suite:
            assert {"name", "classname", "time"} == set(case.keys())
            assert case[0].tag == "properties"
            assert len(case) <= 2
    outcome = {case.get("name"): [part.tag for part in case][1:] for case in root[1]}
    assert outcome == {"a": [], "b": ["failure"], "c": ["skipped"], "d": ["skipped"], "e": ["error"]}
    assert root[0][0].find("error") is not None


def test_the_page_names_what_it_must(book: Book) -> None:
    from parsimony.report.nightly_page import nightly_page

    arm = {"rate": 0.5, "interval": [0.4, 0.6], "bounds": [0.5, 0.5], "missing": 0}
    arms = {"a": {**arm, "cost": {"dollars": None, "tokens": None, "cpu_seconds": 2.0}}}
    book.conclude(State.PASSED, data(1, arms=arms), accept="first")
    book.conclude(State.VOID, data(3, reasons=["a canary <b>"]))
    book.conclude(State.REGRESSION, data(4, arms=arms, reasons=["a: worse"], baseline=str(day(1))))
    nights = [a_night(1, {"<t>": 3}), a_night(4, {"<t>": 0})]
    page = nightly_page(account(book, nights, [day(2)], last_good=day(1)))
    assert "2026-12-02 (missed), 2026-12-03 (void), 2026-12-04 (regression)" in page
    assert "&lt;t&gt;" in page
    assert "<t>" not in page
    assert "passed · baseline" in page
    assert "<script" not in page
    assert "a canary &lt;b&gt;" in page
