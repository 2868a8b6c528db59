"""The funnel: where each candidate is lost, and which stage loses most."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from parsimony.diagnosis import funnel
from parsimony.diagnosis.funnel import STAGES, lost_at
from parsimony.scorecard.note import Found, Note
from parsimony.statistics import wilson

NAMES = [stage.name for stage in STAGES]
Make = Callable[..., Note]


def test_each_candidate_is_lost_at_the_first_stage_that_it_does_not_pass(make: Make) -> None:
    for index, name in enumerate(NAMES):
        assert lost_at(make(1, lost=name)) == index
    assert lost_at(make(1)) is None


def test_losses_are_of_those_that_came_so_far(make: Make) -> None:
    lost = ["localization"] * 4 + ["patching"] * 9 + ["gates"] * 2 + [""] * 5
    found = funnel([make(index, lost=name) for index, name in enumerate(lost)])
    assert [(step.name, step.came, step.lost) for step in found.steps] == [
        ("localization", 20, 4),
        ("planning", 16, 0),
        ("patching", 16, 9),
        ("building", 7, 0),
        ("structure", 7, 0),
        ("gates", 7, 2),
    ]
    assert found.bottleneck == "patching"
    assert found.step("patching").loss == 9 / 16
    assert found.step("patching").interval == wilson(9, 16)
    assert (found.placed, found.unplaced, found.around) == (20, 0, 0)


def test_a_bottleneck_that_chance_may_have_made_is_less_sure(make: Make) -> None:
    clear = funnel([make(i, lost=["patching", "patching", "", "localization"][i % 4], repos=50) for i in range(100)])
    assert clear.certainty is not None
    assert clear.certainty > 0.99
    close = funnel([make(i, lost=["localization", "", "patching", ""][i % 4], repos=100) for i in range(40)])
    assert close.certainty is not None
    assert 0.3 < close.certainty < 0.97
    assert funnel([make(i, lost="gates", repos=1) for i in range(9)]).certainty is None  # nothing to draw from


def test_the_same_draws_each_time(make: Make) -> None:
    notes = [make(i, lost=["localization", "", "patching", ""][i % 4], repos=100) for i in range(40)]
    assert funnel(notes) == funnel(notes)
    assert funnel(notes, seed=7).certainty != funnel(notes).certainty


def test_what_resolved_passed_every_stage_whatever_stands_for_it(make: Make) -> None:
    elsewhere = Found("patch", 1, 1, 0.0, 0, {1: 0.0})
    found = funnel([replace(make(1), files=elsewhere), make(2), make(3, lost="gates")])
    assert (found.steps[0].lost, found.around, found.bottleneck) == (0, 1, "gates")


def test_what_is_not_known_has_no_place(make: Make) -> None:
    found = funnel([make(1), replace(make(2), resolved=None), replace(make(3, lost="gates"), files=None)])
    assert (found.placed, found.unplaced, found.bottleneck, found.certainty) == (1, 2, None, None)


def test_a_stage_with_nothing_to_measure_is_passed(make: Make) -> None:
    bare = replace(make(1, lost="gates"), planning=None)
    assert lost_at(bare) == NAMES.index("gates")
    assert funnel([bare]).step("planning").measured == 0
    assert funnel([make(1)]).step("planning").measured == 1


def test_nothing_at_all() -> None:
    found = funnel([])
    assert (found.placed, found.bottleneck, [step.loss for step in found.steps]) == (0, None, [None] * len(NAMES))


@given(st.lists(st.sampled_from([*NAMES, ""]), max_size=40))
def test_everyone_is_resolved_or_lost_once(make: Make, lost: list[str]) -> None:
    found = funnel([make(index, lost=name) for index, name in enumerate(lost)], draws=20)
    assert sum(step.lost for step in found.steps) + lost.count("") == len(lost)
    assert [step.lost for step in found.steps] == [lost.count(name) for name in NAMES]
    for before, after in zip(found.steps, found.steps[1:], strict=False):
        assert after.came == before.came - before.lost
    if found.bottleneck:
        assert found.step(found.bottleneck).loss == max(step.loss or 0 for step in found.steps)
