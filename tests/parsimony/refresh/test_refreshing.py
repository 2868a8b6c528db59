"""What a refresh takes in, what it keeps, and what becomes of the sets."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from parsimony.chain import Chain
from parsimony.contamination import Cutoff, Moment
from parsimony.errors import InputError, LedgerCorrupt, LedgerError, LedgerLocked, TemporaryError
from parsimony.records import ContaminationStatus, Role
from parsimony.refresh import (
    REFRESHED,
    Fetched,
    FolderSource,
    Live,
    Mark,
    Refreshed,
    RowStore,
    Step,
    months_before,
    refresh,
    status,
)
from parsimony.sets import SetStore
from parsimony.tasks import read_tasks
from tests.parsimony.refresh.conftest import AFTER, NOW, MakePlace, Place, row

DAY = timedelta(days=1)


def new_of(found: Refreshed) -> list[str]:
    return [one.task.instance_id for answer in found.answers for one in answer.found.new]


def in_set(place: Place, name: str) -> list[str]:
    state = SetStore.open(place.root / "ledger.jsonl").state
    return [member.task_id for member in state.active(state.named(name))] if name in state.sets else []


def test_new_rows_come_into_the_store_and_the_live_set(place: Place) -> None:
    place.give(row("a"), row("b", "2026-06-01"), row("c", "2026-05-30"))
    found = refresh(place.plan(), NOW)
    assert found.whole
    assert found.rotated.joined == ("a", "c", "b")  # a file a month, in the order in which they came
    store = SetStore.open(place.root / "ledger.jsonl")
    record = store.state.record(store.state.named("live-v1"))
    assert record.role is Role.HOLDOUT_LIVE
    assert record.contamination_status is ContaminationStatus.CONTINUOUSLY_REFRESHED
    assert record.refresh_source == "live:feed"
    assert set(record.task_ids) == {"a", "b", "c"}
    names = sorted(path.name for path in (place.root / "store").glob("*.jsonl"))
    assert names == ["live.jsonl", "rows-2026-05.jsonl", "rows-2026-06.jsonl"]
    kept = read_tasks(place.root / "store" / "live.jsonl")
    assert {task.instance_id for task in kept.tasks} == {"a", "b", "c"}
    assert not kept.rejected


def test_where_a_row_came_from_is_in_the_ledger(place: Place) -> None:
    place.give(row("a"), row("b"))
    refresh(place.plan(), NOW)
    (entry,) = Chain.open(place.root / "ledger.jsonl").entries(REFRESHED)
    added = entry.data["added"][1]
    assert (added["task"], added["source"], added["file"], added["row"]) == ("b", "drop", "new.jsonl", 2)
    assert added["month"] == "2026-05"
    assert entry.data["cutoffs"] == [{"model": "", "date": "2026-01"}]


def test_the_date_gate(place: Place) -> None:
    place.give(
        row("old", "2025-12-31"),
        row("same month", "2026-01-31"),
        row("new", "2026-02-03"),
        row("without", None),
        row("unreadable", "last week"),
        row("to come", "2026-07-20"),
    )
    found = refresh(place.plan(), NOW)
    assert new_of(found) == ["new"]
    (answer,) = found.answers
    assert answer.found.too_old == 2
    assert [problem.split(":")[:2] for problem in answer.found.rejected] == [["new.jsonl", n] for n in "456"]
    assert all("created_at" in problem for problem in answer.found.rejected)
    assert "still to come" in answer.found.rejected[2]
    assert not found.whole


def test_of_several_cutoffs_all_hold(place: Place) -> None:
    place.give(row("a", "2026-02-10"), row("b", "2026-04-10"))
    model = Cutoff("m", Moment.parse("2026-03"), "card")
    found = refresh(place.plan(cutoffs=[AFTER, model]), NOW)
    assert new_of(found) == ["b"]
    assert SetStore.open(place.root / "ledger.jsonl").state.named("live-v1").cutoff == "2026-03"


def test_known_rows_conflicts_and_other_names(place: Place) -> None:
    place.give(row("a"))
    refresh(place.plan(), NOW)
    before = place.store_bytes()
    changed = row("a", problem_statement="something else")
    place.give(row("a"), changed, row("renamed", problem_statement="mend a"), file="more.jsonl")
    place.give(changed, file="again.jsonl")
    found = refresh(place.plan(), NOW + DAY)
    (answer,) = found.answers
    assert answer.found.known == 2  # under its name, and under another one
    (conflict,) = answer.found.conflicts
    assert (conflict.task_id, conflict.fields) == ("a", ("problem_statement",))
    assert "more.jsonl:2" in answer.found.rejected[0]  # the reader itself takes a name once a file
    assert "at new.jsonl:1" in str(conflict)
    assert not new_of(found)
    assert place.store_bytes() == before


def test_bad_rows_are_rejected_with_their_place_and_the_rest_comes(place: Place) -> None:
    place.give(row("a"), row("b", FAIL_TO_PASS=[]), {"instance_id": 7}, row("c", statement=float("nan")))
    (place.drop / "empty.jsonl").write_text("")
    (place.drop / "broken.json").write_text('[{"instance_id": "x"')
    (place.drop / ".half.jsonl").write_text("{")
    (place.drop / "notes.txt").write_text("hello")
    found = refresh(place.plan(), NOW)
    assert new_of(found) == ["a"]
    problems = "\n".join(found.answers[0].found.rejected)
    for wanted in (
        "new.jsonl:2: FAIL_TO_PASS",
        "new.jsonl:3: instance_id",
        "new.jsonl:4",
        "empty.jsonl",
        "broken.json",
    ):
        assert wanted in problems
    assert "half" not in problems
    assert "notes" not in problems
    again = refresh(place.plan(), NOW + DAY)
    assert len(again.answers[0].found.rejected) == len(found.answers[0].found.rejected)  # until they are mended
    place.give(row("a"))
    for name in ("empty.jsonl", "broken.json"):
        (place.drop / name).unlink()
    assert refresh(place.plan(), NOW + 2 * DAY).whole
    assert refresh(place.plan(), NOW + 3 * DAY).answers[0].state == "unchanged"


def test_a_base_tree_comes_with_its_row(place: Place) -> None:
    (place.drop / "tree").mkdir()
    (place.drop / "tree" / "x.json").write_text("{}")
    place.give(row("a", image=None, tree="tree"))
    found = refresh(place.plan(), NOW)
    assert found.whole
    (task,) = read_tasks(place.root / "store" / "live.jsonl").tasks
    (first,) = read_tasks(place.drop / "new.jsonl").tasks
    assert task.tree == first.tree
    (place.drop / "tree" / "x.json").write_text("[]")
    place.give(row("a", image=None, tree="tree"), file="again.jsonl")
    assert refresh(place.plan(), NOW + DAY).answers[0].found.conflicts[0].fields == ("tree",)


def test_other_rules_read_everything_anew(place: Place) -> None:
    place.give(row("a", "2026-02-10"), row("b", "2026-04-10"))
    late = Cutoff("", Moment.parse("2026-03"), "given")
    assert new_of(refresh(place.plan(after=late), NOW)) == ["b"]
    assert refresh(place.plan(after=late), NOW + DAY).answers[0].state == "unchanged"
    assert new_of(refresh(place.plan(), NOW + 2 * DAY)) == ["a"]
    found = refresh(place.plan(after=late), NOW + 3 * DAY)
    assert found.rotated.left == {"a": "not surely after the cutoff 2026-03"}
    assert in_set(place, "live-v1") == ["b"]
    assert in_set(place, "old-v1") == ["a"]


def test_tasks_grow_old_and_go_to_the_retired(place: Place) -> None:
    place.give(row("a", "2026-02-10"), row("b", "2026-05-10"))
    assert refresh(place.plan(window=3), NOW).rotated.refused == {"a": "older than 3 months"}
    assert in_set(place, "live-v1") == ["b"]
    late = datetime(2026, 8, 9, tzinfo=UTC)
    assert refresh(place.plan(window=3), late).rotated.left == {}
    found = refresh(place.plan(window=3), late + 2 * DAY)
    assert found.rotated.left == {"b": "older than 3 months"}
    assert found.rotated.moved == ("b",)
    assert (in_set(place, "live-v1"), in_set(place, "old-v1")) == ([], ["b"])
    assert refresh(place.plan(), late + 3 * DAY).rotated.joined == ("a",)  # a is still new to the live set, b is not
    assert (place.root / "store" / "live.jsonl").read_text().count("\n") == 1


def test_a_used_task_leaves_for_good(place: Place) -> None:
    place.give(row("a"), row("b"))
    refresh(place.plan(), NOW)
    SetStore.open(place.root / "ledger.jsonl").burn("live-v1", ["a"], "the prompt was tuned on it")
    place.give(row("a"), row("b"), row("z", problem_statement="mend a"))
    found = refresh(place.plan(), NOW + DAY)
    assert found.rotated.moved == ("a",)
    assert in_set(place, "live-v1") == ["b"]
    store = SetStore.open(place.root / "ledger.jsonl")
    assert store.state.record(store.state.named("old-v1")).burned
    seen = status(place.plan(), None, NOW + DAY)
    assert (seen.tasks["a"]["stand"], seen.tasks["a"]["status"]) == ("used", "known")
    assert seen.totals == {"live": 1, "used": 1, "retired": 0, "elsewhere": 0, "waiting": 0}


def test_a_task_that_serves_elsewhere_does_not_come_in(place: Place) -> None:
    place.give(row("a"), row("b"))
    task = read_tasks(place.drop / "new.jsonl").tasks[0]
    SetStore.open(place.root / "ledger.jsonl").create("dev", Role.DEVELOPMENT, [task], "static:x")
    found = refresh(place.plan(), NOW)
    assert found.rotated.joined == ("b",)
    assert "'dev', a development set" in found.rotated.refused["a"]
    assert status(place.plan(), None, NOW).tasks["a"]["stand"] == "elsewhere"


def test_sets_of_other_kinds_are_not_touched(place: Place) -> None:
    place.give(row("a"), row("b"))
    tasks = read_tasks(place.drop / "new.jsonl").tasks
    SetStore.open(place.root / "ledger.jsonl").create("live-v1", Role.REGRESSION, tasks, "static:x")
    with pytest.raises(InputError, match="'live-v1' is a regression set"):
        refresh(place.plan(), NOW)
    with pytest.raises(InputError, match="regression set"):
        Live("feed", "x", "x", Role.REGRESSION)


def test_what_a_row_says_of_itself_changes_nothing(place: Place) -> None:
    place.give(row("a", contamination_status="known", burned=True))
    refresh(place.plan(), NOW)
    store = SetStore.open(place.root / "ledger.jsonl")
    assert store.state.status(store.state.named("live-v1"), "a") is ContaminationStatus.CONTINUOUSLY_REFRESHED


class Failing:
    """A source that does not answer."""

    name, place = "far", "https://far/rows.jsonl"

    def fetch(self, since: Mark | None) -> Fetched:
        raise TemporaryError("far: no route")


def test_a_source_that_fails_takes_nothing_away(place: Place) -> None:
    place.give(row("a"))
    refresh(place.plan(), NOW)
    before = place.store_bytes()
    place.sources = [Failing()]
    found = refresh(place.plan(), NOW + DAY)
    assert found.entry is None
    assert found.answers[0].error == "far: no route"
    assert place.store_bytes() == before
    assert in_set(place, "live-v1") == ["a"]
    place.give(row("a"), row("b"))
    place.sources.append(FolderSource("drop", place.drop))
    found = refresh(place.plan(), NOW + 2 * DAY)
    assert new_of(found) == ["b"]
    assert not found.whole
    assert status(place.plan(), None, NOW).last == NOW  # the newest in which every source answered


# ---- interrupted


class Killed(BaseException):
    """As a kill: nothing may catch it."""


def kill_at(wanted: Step) -> Callable[[Step], None]:
    def after(step: Step) -> None:
        if step is wanted:
            raise Killed

    return after


@pytest.mark.parametrize("step", list(Step))
def test_killed_after_any_step_the_next_run_finishes_without_double_entries(step: Step, make_place: MakePlace) -> None:
    rows = [row("a"), row("b", "2026-06-03"), row("c")]
    whole, broken = make_place("whole"), make_place("broken")
    for place in (whole, broken):
        place.give(row("z", "2026-04-02"))
        refresh(place.plan(), NOW)
        place.give(*rows, file="more.jsonl")
    refresh(whole.plan(), NOW + DAY)
    with pytest.raises(Killed):
        refresh(broken.plan(), NOW + DAY, after=kill_at(step))
    for path in broken.drop.iterdir():
        path.unlink()  # the source has forgotten them meanwhile
    assert (broken.root / "store" / "pending.json").exists()
    finished = refresh(broken.plan(), NOW + 2 * DAY)
    assert finished.finished == (NOW + DAY).isoformat(timespec="microseconds")
    assert not (broken.root / "store" / "pending.json").exists()
    assert broken.store_bytes() == whole.store_bytes() | {
        f"store/{name}": (broken.root / "store" / name).read_bytes() for name in ("live.jsonl",)
    }
    for name in ("live-v1", "old-v1"):
        assert in_set(broken, name) == in_set(whole, name)
    entries = list(Chain.open(broken.root / "ledger.jsonl").entries(REFRESHED))
    assert [one["task"] for entry in entries for one in entry.data["added"]] == ["z", "a", "b", "c"]
    moments = [entry.data["refresh"] for entry in entries]
    assert len(set(moments)) == len(moments) == 3
    assert status(broken.plan(), None, NOW).totals["live"] == 4


def test_a_torn_row_is_cut_off_and_written_again(place: Place) -> None:
    place.give(row("a"), row("b"))
    with pytest.raises(Killed):
        refresh(place.plan(), NOW, after=kill_at(Step.ROWS))
    path = place.root / "store" / "rows-2026-05.jsonl"
    data = path.read_bytes()
    for end in (0, 10, data.index(b"\n") + 1, len(data) - 1):
        path.write_bytes(data[:end])
        store = RowStore(place.root / "store")
        work = store.read_pending()
        assert work is not None
        store.append("2026-05", [line.encode() for line in work["rows"]["2026-05"]])
        assert path.read_bytes() == data


def test_rows_that_were_touched_are_found(place: Place) -> None:
    place.give(row("a"), row("b"))
    refresh(place.plan(), NOW)
    path = place.root / "store" / "rows-2026-05.jsonl"
    data = path.read_bytes()
    first, second = data.splitlines(keepends=True)
    for bad, wanted in (
        (data.replace(b"mend b", b"mend c"), "rows-2026-05.jsonl:2"),
        (first, "'b' is gone"),
        (data + first, "already"),
        (data + second.replace(b'"b"', b'"x"'), "knows no 'x'"),
        (data[:-1], "has no end"),
        (data + b"[]\n", "no row"),
    ):
        path.write_bytes(bad)
        for look in (lambda: refresh(place.plan(), NOW + DAY), lambda: status(place.plan(), None, NOW)):
            with pytest.raises(LedgerCorrupt, match=wanted):
                look()
    path.write_bytes(data)
    assert status(place.plan(), None, NOW).totals["live"] == 2


def test_the_ledger_of_a_store_is_not_done_without(place: Place) -> None:
    place.give(row("a"))
    refresh(place.plan(), NOW)
    elsewhere = place.plan(ledger=place.root / "other.jsonl")
    for look in (lambda: refresh(elsewhere, NOW + DAY), lambda: status(elsewhere, None, NOW)):
        with pytest.raises(LedgerError, match="there is no ledger"):
            look()
    with pytest.raises(InputError, match="moment of an earlier refresh"):
        refresh(place.plan(), NOW)


def test_two_at_a_time_are_refused(place: Place) -> None:
    place.give(row("a"))
    with RowStore(place.root / "store").locked(), pytest.raises(LedgerLocked):
        refresh(place.plan(), NOW)
    assert refresh(place.plan(), NOW).whole


def test_what_is_pending_of_another_name_is_left_alone(place: Place) -> None:
    place.give(row("a"))
    with pytest.raises(Killed):
        refresh(place.plan(), NOW, after=kill_at(Step.PENDING))
    with pytest.raises(InputError, match="another refresh"):
        refresh(place.plan(live=Live("other", "live-v1", "old-v1")), NOW + DAY)
    (place.root / "store" / "pending.json").write_text("{")
    with pytest.raises(LedgerCorrupt, match="damaged"):
        refresh(place.plan(), NOW + DAY)


def test_a_plan_needs_a_gate_and_names(place: Place) -> None:
    with pytest.raises(InputError, match="after: is missing"):
        place.plan(cutoffs=[])
    with pytest.raises(InputError, match="'drop' twice"):
        place.plan(sources=[FolderSource("drop", place.drop)] * 2)
    with pytest.raises(InputError, match="is empty"):
        place.plan(sources=[])


def test_a_folder_that_is_not_there_is_a_failed_source(place: Place, tmp_path: Path) -> None:
    place.sources = [FolderSource("drop", tmp_path / "no")]
    found = refresh(place.plan(), NOW)
    assert found.entry is None
    assert "no such folder" in str(found.answers[0].error)


@pytest.mark.parametrize(
    ("moment", "months", "wanted"),
    [("2026-03-31", 1, "2026-02-28"), ("2024-03-31", 1, "2024-02-29"), ("2026-01-15", 13, "2024-12-15"),
     ("2026-07-01", 6, "2026-01-01"), ("0001-05-01", 12, "0001-01-01")],
)  # fmt: skip
def test_months_before(moment: str, months: int, wanted: str) -> None:
    assert months_before(datetime.fromisoformat(moment), months) == datetime.fromisoformat(wanted)


def test_the_kept_row_is_the_row(place: Place) -> None:
    """Also where it holds bytes that are no text: they stand as lone surrogates, as they do in the row."""
    first = row("a", patch="caf\udce9 ⟂", extra={"n": [1, 2.5, None]})
    place.give(first)
    assert refresh(place.plan(), NOW).whole
    assert json.loads((place.root / "store" / "rows-2026-05.jsonl").read_bytes()) == first
