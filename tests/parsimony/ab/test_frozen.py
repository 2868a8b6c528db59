"""Freeze everything, change one thing: each field by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from parsimony import ab
from parsimony.ab.frozen import FROZEN
from parsimony.errors import InputError
from parsimony.runs import Settings
from tests.parsimony.ab.conftest import STATED, compared, grids, make_run

TABLES = {"a": [[1, 0]], "b": [[1, 1]]}
OTHER: dict[str, Any] = {
    "model": "model-2",
    "temperature": 0.7,
    "token_budget": 2000,
    "tool_budget": 60,
    "task_set": "sha256:others",
    "environment_image": "sha256:other",
    "timeout": 90.0,
    "candidate_count": 5,
}


def frozen(ours: Settings, theirs: Settings) -> ab.Frozen:
    return ab.freeze(*grids(make_run(TABLES, settings={"a": ours, "b": theirs})))


def test_the_other_values_cover_every_field() -> None:
    assert set(OTHER) == set(FROZEN)


@pytest.mark.parametrize("name", FROZEN)
def test_an_unequal_field_is_named_with_both_values(name: str) -> None:
    with pytest.raises(InputError) as caught:
        frozen(STATED, replace(STATED, **{name: OTHER[name]}))
    assert caught.value.place.field == f"frozen.{name}"
    assert repr(getattr(STATED, name)) in str(caught.value)
    assert repr(OTHER[name]) in str(caught.value)


def test_comparing_models_is_no_ab() -> None:
    with pytest.raises(InputError, match="parsimony matrix"):
        frozen(STATED, replace(STATED, model="model-2"))


@pytest.mark.parametrize("name", FROZEN)
def test_what_only_one_arm_states_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="not stated") as caught:
        frozen(STATED, replace(STATED, **{name: None}))
    assert caught.value.place.field == f"frozen.{name}"


PLACEHOLDERS: dict[str, Any] = {
    "model": "not stated",
    "temperature": 0.0,
    "token_budget": 0,
    "tool_budget": 0,
    "task_set": "not stated",
    "environment_image": "not stated",
    "timeout": 1800.0,  # the longest limit of the tasks
    "candidate_count": 2,  # the seeds
}


@pytest.mark.parametrize("name", FROZEN)
def test_what_neither_states_is_said(name: str) -> None:
    settings = replace(STATED, **{name: None})
    found = frozen(settings, settings)
    assert found.not_stated == (name,)
    assert getattr(found.config, name) == PLACEHOLDERS[name]
    one = compared(TABLES, settings={"a": settings, "b": settings})
    assert any(name in note and "neither arm states" in note for note in one.notes)


def test_a_timeout_that_nothing_tells_is_refused() -> None:
    run = replace(make_run(TABLES, settings=dict.fromkeys(TABLES, Settings())), tasks={})
    with pytest.raises(InputError, match="not known for either arm"):
        ab.freeze(*grids(run))


def test_the_harness_is_what_may_differ() -> None:
    settings = {"a": STATED, "b": replace(STATED, harness_version="h2")}
    one = compared(TABLES, settings=settings)
    assert [arm.harness_version for arm in one.record.arms] == ["h1", "h2"]
    assert not any("nothing was changed" in note for note in one.notes)
    assert any("nothing was changed" in note for note in compared(TABLES).notes)
