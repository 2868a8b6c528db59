"""Whatever is done in whatever order, the rules hold: a state machine tries sequences of operations."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from parsimony.chain import Chain
from parsimony.errors import InputError, LedgerCorrupt
from parsimony.records import ContaminationStatus, Recommendation, Role
from parsimony.sets import Member, SetStore, may_generalize
from parsimony.sets.state import COMPARED
from parsimony.tasks import Task

NAMES = st.sampled_from("abcdef")
TEXTS = st.sampled_from(["one", "two", "three", ""])  # "": a content of its own
SETS = st.sampled_from(["s1", "s2", "s3", "s4"])
SOURCES = st.sampled_from(["static:x", "live:x", "timestamp_gated:x", "held_out:x"])
CUTOFFS = st.sampled_from([None, "2026-01", "2027-01"])
FRESH = {ContaminationStatus.UNSEEN, ContaminationStatus.CONTINUOUSLY_REFRESHED}


def make(name: str, text: str) -> Task:
    return Task(
        instance_id=name,
        repo="r",
        base_commit=None,
        fail_to_pass=("t",),
        pass_to_pass=(),
        log_format="pytest",
        created_at="2026-05-02",
        problem_statement=text or f"only {name}",
    )


TASKS = st.lists(st.builds(make, NAMES, TEXTS), min_size=1, max_size=4)


class Sequences(RuleBasedStateMachine):
    """Operations on a store, refused ones among them; two handles on one file."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "ledger.jsonl"
        self.stores = [SetStore.open(self.path), SetStore.open(self.path)]
        self.burned: set[str] = set()
        self.tuned: set[str] = set()
        self.change = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def attempt(self, name: str, *args: Any, **more: Any) -> None:
        """An operation that may be refused; then nothing has changed."""
        before = self.path.read_bytes() if self.path.exists() else b""
        self.stores.reverse()
        try:
            getattr(self.stores[0], name)(*args, **more)
        except InputError:
            assert (self.path.read_bytes() if self.path.exists() else b"") == before

    @rule(name=SETS, role=st.sampled_from(Role), tasks=TASKS, source=SOURCES, cutoff=CUTOFFS)
    def create(self, name: str, role: Role, tasks: list[Task], source: str, cutoff: str | None) -> None:
        self.attempt("create", name, role, tasks, source, cutoff=cutoff)

    @rule(name=SETS, tasks=TASKS, cutoff=CUTOFFS)
    def rotate(self, name: str, tasks: list[Task], cutoff: str | None) -> None:
        self.attempt("rotate", name, tasks, "time", cutoff=cutoff)

    @rule(name=SETS, tasks=st.lists(NAMES, min_size=1, max_size=3))
    def burn(self, name: str, tasks: list[str]) -> None:
        self.attempt("burn", name, tasks, "because")

    @rule(name=SETS, tasks=st.lists(NAMES, min_size=1, max_size=3))
    def retire(self, name: str, tasks: list[str]) -> None:
        self.attempt("retire", name, tasks, "because")

    @rule(tasks=st.lists(NAMES, min_size=1, max_size=4), change=st.sampled_from("xy"), run=st.sampled_from("123"))
    def compare(self, tasks: list[str], change: str, run: str) -> None:
        from parsimony.records import ABComparison

        record = {
            "change_under_test": change,
            "frozen": {
                "model": "m", "temperature": 0.0, "token_budget": 1, "tool_budget": 1, "task_set": "t",
                "environment_image": "i", "timeout": 1.0, "candidate_count": 1,
            },
            "arms": [
                {
                    "name": name, "harness_version": "1", "resolved": [1], "mean": 0.5, "variance": 0.0,
                    "confidence_interval": [0.0, 1.0],
                    "cost": {"tokens": 1, "calls": 1, "cpu": 1.0, "wall_time": 1.0, "dollars": 1.0},
                }
                for name in ("baseline", "candidate")
            ],
            "seeds": [0],
            "result": {"delta": 0.0, "significant": "no", "recommendation": Recommendation.KEEP.value},
        }  # fmt: skip
        self.attempt("record_comparison", ABComparison.from_json(record), tasks, [run])

    @rule(change=st.sampled_from("xy"), name=SETS)
    def decide(self, change: str, name: str) -> None:
        self.attempt("decide", change, name)

    @precondition(lambda self: self.path.exists() and self.path.stat().st_size)
    @rule(data=st.data())
    def damage(self, data: st.DataObject) -> None:
        """One byte of the file is another: it is found, and the file is put back."""
        original = self.path.read_bytes()
        position = data.draw(st.integers(0, len(original) - 1))
        other = data.draw(st.integers(0, 255).filter(lambda byte: byte != original[position]))
        self.path.write_bytes(original[:position] + bytes([other]) + original[position + 1 :])
        head = self.path.with_name("ledger.jsonl.head").read_bytes()
        try:
            found = SetStore.open(self.path)
        except LedgerCorrupt:
            pass
        else:  # the last line feed alone is mended, and nothing is lost
            assert position == len(original) - 1
            assert [entry.line for entry in found.chain.entries()][:-1] == original.splitlines(keepends=True)
        self.path.write_bytes(original)
        self.path.with_name("ledger.jsonl.head").write_bytes(head)

    @invariant()
    def what_is_read_is_what_is_known(self) -> None:
        for store in self.stores:
            store.refresh()
        assert SetStore.open(self.path).state == self.stores[0].state == self.stores[1].state

    @invariant()
    def burned_is_for_ever(self) -> None:
        state = self.stores[0].state
        assert all(state.burn_of(task) is not None for task in self.burned)
        self.burned |= {task for task in "abcdef" if state.burn_of(task) is not None}

    @invariant()
    def what_was_optimized_against_is_never_fresh(self) -> None:
        state = self.stores[0].state
        for one in state.sets.values():
            if one.role is not Role.HOLDOUT_LIVE:
                self.tuned |= {key for member in one.members.values() for key in state.same(*_keys(member))}
        for task in "abcdef":
            if task in self.burned | self.tuned:
                assert not may_generalize([task], self.stores[0]).allowed

    @invariant()
    def the_roles_are_apart(self) -> None:
        state = self.stores[0].state
        where: dict[str, Role] = {}
        for one in state.sets.values():
            for member in state.active(one):
                for key in _keys(member):
                    assert where.setdefault(key, one.role) is one.role

    @invariant()
    def statuses_follow_from_places(self) -> None:
        state = self.stores[0].state
        for one in state.sets.values():
            record = state.record(one)  # the record itself refuses a burned set that is unseen
            for task in one.members:
                fresh = state.status(one, task) in FRESH
                assert fresh == (one.role is Role.HOLDOUT_LIVE and task in record.task_ids)
                assert not (fresh and state.burn_of(task) is not None)

    @invariant()
    def decisions_use_comparisons_once(self) -> None:
        state = self.stores[0].state
        numbers = [entry.number for entry in Chain.open(self.path).entries(COMPARED)]
        assert list(state.comparisons) == numbers
        assert set(state.decided) <= set(numbers)


def _keys(member: Member) -> tuple[str, str]:
    return member.task_id, member.fingerprint


TestSequences = Sequences.TestCase
TestSequences.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
