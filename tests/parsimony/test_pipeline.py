"""The flag of an embedding system: it alone switches between the grading plane and nothing."""

from __future__ import annotations

import pytest

from parsimony.errors import InputError
from parsimony.pipeline import DEFAULT, FLAG, Setting, Unmeasured, route, setting
from parsimony.records import Score, TestGate
from parsimony.tasks import Candidate

CANDIDATE = Candidate("t-1", "arm", 1, b"diff")
GATE = TestGate(total=1, passed=1)
SCORE = Score(
    instance_id="t-1", patch_ref=CANDIDATE.patch_ref, fail_to_pass=GATE, pass_to_pass=GATE, graded_by="x", graded_at=1
)


def graded(candidate: Candidate) -> Score:
    assert candidate is CANDIDATE
    return SCORE


def never(candidate: Candidate) -> Score:
    raise AssertionError("graded while the flag is down")


def test_the_flag_is_down_until_somebody_sets_it() -> None:
    assert DEFAULT is Setting.UNMEASURED
    for environment in ({}, {FLAG: "unmeasured"}):
        assert route(CANDIDATE, never, environment) == Unmeasured("t-1", CANDIDATE.patch_ref)


def test_the_flag_alone_routes_to_the_plane() -> None:
    assert route(CANDIDATE, graded, {FLAG: "27"}) is SCORE


@pytest.mark.parametrize("told", ["", "28", "yes", "Unmeasured", "27 "])
def test_other_words_are_refused(told: str) -> None:
    with pytest.raises(InputError, match="27 or to unmeasured"):
        setting({FLAG: told})


def test_the_environment_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FLAG, "27")
    assert route(CANDIDATE, graded) is SCORE
    monkeypatch.delenv(FLAG)
    assert isinstance(route(CANDIDATE, never), Unmeasured)
