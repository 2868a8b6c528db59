"""What the store takes and what it refuses, and what it says of a set afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from parsimony.chain import Chain
from parsimony.contamination import Cutoff, Moment
from parsimony.errors import InputError, LedgerCorrupt
from parsimony.records import ABComparison, ContaminationStatus, Recommendation, Role
from parsimony.sets import Member, SetStore, may_generalize, record_comparison
from parsimony.sets.state import BURNED, CREATED
from parsimony.tasks import Task

MakeTasks = Callable[..., list[Task]]
MakeComparison = Callable[..., ABComparison]

DEV, REG, HOLD = Role.DEVELOPMENT, Role.REGRESSION, Role.HOLDOUT_LIVE


def ids(store: SetStore, name: str) -> list[str]:
    return [member.task_id for member in store.state.active(store.state.named(name))]


def test_three_sets_have_three_roles_and_the_statuses_that_follow(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("dev", DEV, make_tasks("d1 d2"), "static:human_eval")
    store.create("reg", REG, make_tasks("r1"), "live:swe_bench_live")
    store.create("hold", HOLD, make_tasks("h1"), "held_out:swe_bench_pro")
    store.create("live", HOLD, make_tasks("l1"), "live:swe_bench_live")
    records = {name: store.state.record(one) for name, one in store.state.sets.items()}
    assert [record.role for record in records.values()] == [DEV, REG, HOLD, HOLD]
    assert [record.contamination_status for record in records.values()] == [
        ContaminationStatus.KNOWN,
        ContaminationStatus.PARTIALLY_KNOWN,
        ContaminationStatus.UNSEEN,
        ContaminationStatus.CONTINUOUSLY_REFRESHED,
    ]
    assert records["dev"].to_json() == {
        "set_id": "dev",
        "role": "development",
        "task_ids": ["d1", "d2"],
        "contamination_status": "known",
        "refresh_source": "static:human_eval",
        "last_decision_use": 0,
        "burned": False,
    }


@pytest.mark.parametrize(
    ("first", "second"), [(DEV, REG), (REG, DEV), (DEV, HOLD), (HOLD, DEV), (REG, HOLD), (HOLD, REG)]
)
def test_a_task_has_one_role_at_a_time(store: SetStore, make_tasks: MakeTasks, first: Role, second: Role) -> None:
    store.create("one", first, make_tasks("a"), "live:x")
    with pytest.raises(InputError, match="one role at a time"):
        store.create("two", second, make_tasks("a b"), "live:x")
    assert list(store.state.sets) == ["one"]


def test_a_burned_task_is_burned_everywhere_and_its_set_says_so(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("dev", DEV, make_tasks("a b"), "live:x")
    store.create("dev2", DEV, make_tasks("a c"), "held_out:y")
    store.burn("dev", ["a"], "tuned the prompt on it")
    for name in ("dev", "dev2"):
        record = store.state.record(store.state.named(name))
        assert record.burned
        assert record.last_decision_use > 0
        assert store.state.status(store.state.named(name), "a") is ContaminationStatus.KNOWN
        assert record.contamination_status is ContaminationStatus.PARTIALLY_KNOWN


def test_a_burned_task_joins_no_holdout(store: SetStore, ledger: Path, make_tasks: MakeTasks) -> None:
    store.create("dev", DEV, make_tasks("a b"), "live:x")
    store.burn("dev", ["a"], "looked")
    store.retire("dev", ["a"], "done")
    size = ledger.stat().st_size
    with pytest.raises(InputError, match=r"'a' is burned \(entry 2: looked\)"):
        store.create("hold", HOLD, make_tasks("a z"), "live:x")
    assert ledger.stat().st_size == size


def test_another_name_does_not_help(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("dev", DEV, make_tasks("a", statement="the same"), "live:x")
    store.burn("dev", ["a"], "looked")
    with pytest.raises(InputError, match="burned"):
        store.create("hold", HOLD, make_tasks("renamed", statement="the same"), "live:x")
    with pytest.raises(InputError, match="burned"):
        store.create("hold", HOLD, make_tasks("a", statement="rewritten"), "live:x")


def test_a_chain_of_names_does_not_help_either(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("dev", DEV, make_tasks("a", statement="first"), "live:x")
    store.create("dev2", DEV, make_tasks("a", statement="second"), "live:x")
    store.create("dev3", DEV, make_tasks("b", statement="second"), "live:x")
    store.burn("dev", ["a"], "looked")
    assert store.state.burn_of("b") is not None
    assert store.state.burn_of(Member.of(make_tasks("new", statement="second")[0])) is not None


def test_one_task_under_two_names_is_refused_in_one_set(store: SetStore, make_tasks: MakeTasks) -> None:
    with pytest.raises(InputError, match="two names"):
        store.create("dev", DEV, make_tasks("a b", statement="same"), "live:x")
    with pytest.raises(InputError, match="twice"):
        store.create("dev", DEV, make_tasks("a a"), "live:x")
    with pytest.raises(InputError, match="empty"):
        store.create("dev", DEV, [], "live:x")


def test_a_task_that_was_optimized_against_joins_no_holdout(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("dev", DEV, make_tasks("a b"), "live:x")
    store.retire("dev", ["a"], "too easy")
    with pytest.raises(InputError, match="optimized against"):
        store.create("hold", HOLD, make_tasks("a"), "live:x")


def test_a_burned_holdout_task_leaves_and_may_become_regression_data(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("hold", HOLD, make_tasks("a b"), "held_out:x")
    store.burn("hold", ["a"], "chose the model by it")
    record = store.state.record(store.state.named("hold"))
    assert record.task_ids == ("b",)
    assert not record.burned
    assert record.contamination_status is ContaminationStatus.UNSEEN
    assert record.last_decision_use > 0
    store.create("reg", REG, make_tasks("a"), "held_out:x")
    assert store.state.status(store.state.named("reg"), "a") is ContaminationStatus.KNOWN


def test_a_holdout_of_nothing_more_is_a_record_too(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("hold", HOLD, make_tasks("a"), "held_out:x")
    store.burn("hold", ["a"], "used")
    assert store.state.record(store.state.named("hold")).task_ids == ()
    assert not may_generalize(["a"], store).allowed


def test_sources_and_cutoffs_of_a_holdout(store: SetStore, make_tasks: MakeTasks) -> None:
    with pytest.raises(InputError, match="stands still"):
        store.create("hold", HOLD, make_tasks("a"), "static:human_eval")
    with pytest.raises(InputError, match="--cutoff"):
        store.create("hold", HOLD, make_tasks("a"), "timestamp_gated:live_code_bench")
    with pytest.raises(InputError, match="not surely after the cutoff"):
        store.create("hold", HOLD, make_tasks("a"), "timestamp_gated:live_code_bench", cutoff="2026-05")
    with pytest.raises(InputError, match="no created_at"):
        store.create("hold", HOLD, make_tasks("a", created_at=None), "live:x")
    with pytest.raises(InputError, match="no created_at"):
        store.create("hold", HOLD, make_tasks("a", created_at=None), "timestamp_gated:x", cutoff="2020-01")
    with pytest.raises(InputError, match="source"):
        store.create("hold", HOLD, make_tasks("a"), "elsewhere:x")
    with pytest.raises(InputError, match="name"):
        store.create("a b", HOLD, make_tasks("a"), "live:x")
    assert len(store.chain) == 0
    store.create("hold", HOLD, make_tasks("a"), "timestamp_gated:live_code_bench", cutoff="2026-04")
    store.create("unheard", HOLD, make_tasks("b", created_at=None), "held_out:pro")


def test_what_a_row_claims_is_written_down_and_ignored(store: SetStore, make_tasks: MakeTasks) -> None:
    claimed = make_tasks("a", row={"contamination_status": "unseen", "burned": False})
    entry = store.create("dev", DEV, claimed, "static:old")
    assert entry.data["ignored_claims"] == {"a": {"contamination_status": "unseen", "burned": "False"}}
    assert store.state.status(store.state.named("dev"), "a") is ContaminationStatus.KNOWN


def test_rotation_retires_what_is_not_named_and_nothing_comes_back(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("hold", HOLD, make_tasks("a b"), "live:x")
    store.rotate("hold", make_tasks("b c"), "a month is over")
    assert ids(store, "hold") == ["b", "c"]
    with pytest.raises(InputError, match="was retired"):
        store.rotate("hold", make_tasks("a b c"), "back")
    with pytest.raises(InputError, match="was retired"):
        store.create("hold2", HOLD, make_tasks("a"), "live:x")
    with pytest.raises(InputError, match="not the task that was assigned"):
        store.rotate("hold", make_tasks("b", statement="rewritten"), "mended")
    assert ids(store, "hold") == ["b", "c"]


def test_a_rotation_to_a_later_cutoff_holds_for_all_tasks(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("hold", HOLD, make_tasks("a"), "timestamp_gated:x", cutoff="2026-01")
    new = make_tasks("b", created_at="2026-09-01T00:00:00Z")
    with pytest.raises(InputError, match="'a' may not be in it"):
        store.rotate("hold", [*make_tasks("a"), *new], "a new model", cutoff="2026-06")
    assert store.state.named("hold").cutoff == "2026-01"
    store.rotate("hold", new, "a new model", cutoff="2026-06")
    assert (store.state.named("hold").cutoff, ids(store, "hold")) == ("2026-06", ["b"])


def test_only_tasks_of_the_set_can_be_burned_and_retired(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("dev", DEV, make_tasks("a"), "live:x")
    for call in (store.burn, store.retire):
        with pytest.raises(InputError, match="not in it"):
            call("dev", ["b"], "why")
        with pytest.raises(InputError, match="is ''"):
            call("dev", ["a"], "")
        with pytest.raises(InputError, match="no set"):
            call("nope", ["a"], "why")
    store.retire("dev", ["a"], "why")
    with pytest.raises(InputError, match="was retired"):
        store.burn("dev", ["a"], "why")


# ---- decisions


def test_a_promotion_reads_the_regression_set_alone(
    store: SetStore, ledger: Path, make_tasks: MakeTasks, make_comparison: MakeComparison
) -> None:
    store.create("reg", REG, make_tasks("r1 r2"), "static:x")
    store.create("hold", HOLD, make_tasks("h1 h2"), "held_out:y")
    store.record_comparison(make_comparison("plan first", Recommendation.REJECT), ["r2", "r1"], ["run-1"])
    record_comparison(ledger, make_comparison("plan first"), task_ids=["h1"], runs=["run-2"])
    store.refresh()
    assert may_generalize(["h1"], store).allowed
    entry = store.decide("plan first", "reg")
    assert entry.data["verdict"] == "reject"
    assert entry.data["burned"] == ["h1", "r1", "r2"]
    assert ids(store, "hold") == ["h2"]
    assert store.state.record(store.state.named("reg")).burned
    assert not may_generalize(["h1"], store).allowed
    with pytest.raises(InputError, match="used up"):
        store.decide("plan first", "reg")


@pytest.mark.parametrize(
    ("recommendation", "verdict"),
    [(Recommendation.KEEP, "promote"), (Recommendation.PARE_BACK, "pare_back"), (Recommendation.REJECT, "reject")],
)
def test_the_verdict_is_that_of_the_comparison(
    store: SetStore,
    make_tasks: MakeTasks,
    make_comparison: MakeComparison,
    recommendation: Recommendation,
    verdict: str,
) -> None:
    store.create("reg", REG, make_tasks("r1"), "static:x")
    number = store.record_comparison(make_comparison("c", recommendation), ["r1"], ["run"]).number
    assert store.decide("c", "reg", comparison=number).data["verdict"] == verdict


def test_a_promotion_needs_the_whole_regression_set_and_nothing_else(
    store: SetStore, make_tasks: MakeTasks, make_comparison: MakeComparison
) -> None:
    store.create("reg", REG, make_tasks("r1 r2"), "static:x")
    store.create("dev", DEV, make_tasks("d1"), "static:x")
    with pytest.raises(InputError, match="no comparison"):
        store.decide("c", "reg")
    store.record_comparison(make_comparison("c"), ["r1"], ["run"])
    with pytest.raises(InputError, match="leaves out"):
        store.decide("c", "reg")
    store.record_comparison(make_comparison("c"), ["r1", "r2", "d1"], ["run"])
    with pytest.raises(InputError, match="other tasks"):
        store.decide("c", "reg")
    with pytest.raises(InputError, match="development set"):
        store.decide("c", "dev")
    with pytest.raises(InputError, match="no comparison of"):
        store.decide("c", "reg", comparison=1)


def test_a_second_change_burns_the_holdout(
    store: SetStore, make_tasks: MakeTasks, make_comparison: MakeComparison
) -> None:
    store.create("hold", HOLD, make_tasks("h1 h2"), "held_out:y")
    store.record_comparison(make_comparison("a"), ["h1"], ["run-1"])
    store.record_comparison(make_comparison("b"), ["h1"], ["run-1"])  # another arm of the same run: one look
    store.record_comparison(make_comparison("a"), ["h1"], ["run-2"])  # more seeds of the same change
    assert ids(store, "hold") == ["h1", "h2"]
    store.record_comparison(make_comparison("c"), ["h1", "h2"], ["run-3"])
    assert ids(store, "hold") == ["h2"]
    burn = store.state.burn_of("h1")
    assert burn is not None
    assert "second change" in burn.reason


def test_what_was_compared_before_is_held_out_too_late(
    store: SetStore, make_tasks: MakeTasks, make_comparison: MakeComparison
) -> None:
    store.record_comparison(make_comparison("a"), ["h1"], ["run-1"])
    with pytest.raises(InputError, match="before it was held out"):
        store.create("hold", HOLD, make_tasks("h1"), "held_out:y")


# ---- generalization


def cutoff(text: str, model: str = "m") -> dict[str, Cutoff | None]:
    return {model: Cutoff(model, Moment.parse(text), "card")}


def test_only_a_whole_holdout_may_be_called_generalization(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("hold", HOLD, make_tasks("h1 h2"), "held_out:y")
    store.create("dev", DEV, make_tasks("d1"), "live:x")
    assert may_generalize(["h1", "h2"], store).label == "generalization"
    decision = may_generalize(["h1", "d1", "u1"], store)
    assert not decision.allowed
    assert decision.reasons == ("1 of 3 tasks in a development set (d1)", "1 of 3 tasks in no set (u1)")
    assert decision.label.startswith("not generalization: ")
    assert not may_generalize([], store).allowed


def test_dated_sources_need_a_known_cutoff_before_them(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("hold", HOLD, make_tasks("h1"), "live:x")
    assert "no model is told" in may_generalize(["h1"], store).label
    assert "cutoff of m is unknown" in may_generalize(["h1"], store, cutoffs={"m": None}).label
    assert may_generalize(["h1"], store, cutoffs=cutoff("2026-04")).allowed
    assert "not surely made after" in may_generalize(["h1"], store, cutoffs=cutoff("2026-05")).label
    both = cutoff("2026-04") | cutoff("2026-06", "n")
    assert "cutoff of n" in may_generalize(["h1"], store, cutoffs=both).label


def test_held_out_sources_keep_to_a_cutoff_that_is_known(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("hold", HOLD, make_tasks("h1"), "held_out:x")
    assert may_generalize(["h1"], store, cutoffs={"m": None}).allowed
    assert not may_generalize(["h1"], store, cutoffs=cutoff("2026-08")).allowed


def test_a_task_that_was_changed_is_not_the_one_held_out(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("hold", HOLD, make_tasks("h1"), "held_out:x")
    print_ = Member.of(make_tasks("h1")[0]).fingerprint
    assert may_generalize(["h1"], store, fingerprints={"h1": print_}).allowed
    assert "changed since" in may_generalize(["h1"], store, fingerprints={"h1": "sha256:0"}).label


def test_retired_tasks_say_so(store: SetStore, make_tasks: MakeTasks) -> None:
    store.create("hold", HOLD, make_tasks("h1 h2"), "held_out:x")
    store.retire("hold", ["h1"], "old")
    assert "retired" in may_generalize(["h1"], store).label


# ---- the ledger under it


def test_everything_comes_back_from_the_file(
    store: SetStore, ledger: Path, make_tasks: MakeTasks, make_comparison: MakeComparison
) -> None:
    store.create("reg", REG, make_tasks("r1"), "static:x")
    store.create("hold", HOLD, make_tasks("h1 h2 h3"), "live:x")
    store.rotate("hold", make_tasks("h2 h3"), "old")
    store.record_comparison(make_comparison("c"), ["r1"], ["run"])
    store.record_comparison(make_comparison("c"), ["h2"], ["run"])
    store.decide("c", "reg")
    store.record_finding("leak", {"tasks": 3})
    assert SetStore.open(ledger).state == store.state


def test_an_entry_that_breaks_a_rule_is_found_though_it_is_sealed(
    store: SetStore, ledger: Path, make_tasks: MakeTasks
) -> None:
    store.create("dev", DEV, make_tasks("a"), "live:x")
    store.burn("dev", ["a"], "looked")
    members = [Member.of(one).to_json() for one in make_tasks("a")]
    forged = {"set": "hold", "role": "holdout_live", "source": "live:x", "cutoff": None, "members": members}
    Chain.open(ledger).append(CREATED, forged)
    with pytest.raises(LedgerCorrupt, match=r"jsonl:3: breaks a rule"):
        SetStore.open(ledger)


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (CREATED, {}),
        (CREATED, {"set": "s", "role": "boss", "source": "live:x", "members": []}),
        (CREATED, {"set": "s", "role": "development", "source": "live:x", "cutoff": None, "members": [{"task": 1}]}),
        (CREATED, {"set": 3, "role": "development", "source": "live:x", "members": []}),
        (BURNED, {"set": "s", "tasks": "a", "decision": "x"}),
        (BURNED, {"set": "dev", "tasks": ["a", "a"], "decision": "x"}),
        ("comparison", {"comparison": {}, "tasks": ["a"], "runs": ["r"]}),
        ("set.decision", {"regression": "dev", "comparison": 1}),
        ("set.rotated", {"set": "dev", "members": 1, "reason": "x"}),
    ],
)
def test_odd_entries_are_no_traceback(
    store: SetStore, ledger: Path, make_tasks: MakeTasks, kind: str, data: dict[str, object]
) -> None:
    store.create("dev", DEV, make_tasks("a"), "live:x")
    Chain.open(ledger).append(kind, data)
    with pytest.raises(LedgerCorrupt, match="breaks a rule"):
        SetStore.open(ledger)


def test_an_edited_burn_is_found(store: SetStore, ledger: Path, make_tasks: MakeTasks) -> None:
    store.create("dev", DEV, make_tasks("a b"), "live:x")
    store.burn("dev", ["a"], "looked")
    original = ledger.read_bytes()
    for edited in (original.replace(b'"tasks":["a"]', b'"tasks":["b"]'), b"".join(original.splitlines(True)[:1])):
        ledger.write_bytes(edited)
        with pytest.raises(LedgerCorrupt):
            SetStore.open(ledger)


def test_two_stores_see_each_other(store: SetStore, ledger: Path, make_tasks: MakeTasks) -> None:
    other = SetStore.open(ledger)
    store.create("dev", DEV, make_tasks("a"), "live:x")
    with pytest.raises(InputError, match="already"):
        other.create("dev", DEV, make_tasks("b"), "live:x")
    other.burn("dev", ["a"], "looked")
    with pytest.raises(InputError, match="burned"):
        store.create("hold", HOLD, make_tasks("a"), "live:x")
