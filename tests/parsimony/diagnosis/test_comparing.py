"""Which stage moved, and what is noise."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import chain, repeat

import pytest

from parsimony.diagnosis import Change, Diagnosis, diagnose, means, sentence
from parsimony.errors import InputError
from parsimony.scorecard.note import Found, Note

Make = Callable[..., Note]
NAMES = ("before", "after")


def arm(make: Make, losses: dict[str, int], *, repos: int = 50, shuffle: int = 0, name: str = "a") -> list[Note]:
    """Candidates lost as often as told at each stage, in an order of its own."""
    lost = list(chain.from_iterable(repeat(stage, times) for stage, times in losses.items()))
    if shuffle:
        random.Random(shuffle).shuffle(lost)
    return [make(index, lost=stage, repos=repos, arm=name) for index, stage in enumerate(lost)]


def changed(found: Diagnosis) -> dict[str, Change]:
    return {one.measure.name: one.change for one in found.stages}


def test_the_example_of_the_build_spec(make: Make) -> None:
    """A localization gain from 51 % to 62 % that a later stage swallows: end to end nothing moves (build spec §5.2)."""
    before = arm(make, {"": 20, "gates": 7, "patching": 24, "localization+patching": 11, "localization": 38})
    after = arm(make, {"": 20, "gates": 7, "patching": 35, "localization": 38})
    found = diagnose(before, after, names=NAMES)
    assert sentence(found) == "file recall 51 % → 62 %, resolved flat, residual gap now at patching"
    assert found.resolved is not None
    assert (found.resolved.baseline, found.resolved.candidate) == (0.2, 0.2)
    assert [funnel.bottleneck for funnel in found.funnels] == ["localization", "patching"]
    moved = {one.measure.stage for one in found.stages if one.change is not Change.FLAT}
    assert moved == {"localization"}


def test_a_gain_needs_an_interval_that_leaves_zero_out(make: Make) -> None:
    before = arm(make, {"": 50, "localization": 50}, shuffle=1)
    after = arm(make, {"": 53, "localization": 47}, shuffle=2)
    found = diagnose(before, after, names=NAMES)
    assert set(changed(found).values()) == {Change.FLAT}
    assert sentence(found).startswith("no stage moved beyond noise, resolved flat, residual gap still at localization")


def test_a_loss_is_told_as_well(make: Make) -> None:
    found = diagnose(arm(make, {"": 90, "gates": 10}), arm(make, {"": 40, "patching": 60}), names=NAMES)
    assert changed(found)["apply"] is Change.LOSS
    assert found.resolved is not None
    assert found.resolved.change is Change.LOSS
    assert "patches that apply 100 % → 40 %" in sentence(found)
    assert "resolved 90 % → 40 %, residual gap now at patching" in sentence(found)


def test_of_patches_that_do_not_apply_nothing_is_said_to_build(make: Make) -> None:
    found = diagnose(arm(make, {"": 100}), arm(make, {"": 40, "patching": 60}), names=NAMES)
    build = next(one for one in found.stages if one.measure.name == "build")
    assert (build.candidate, build.tasks) == (1.0, 40)


def test_one_repository_tells_nothing_from_noise(make: Make) -> None:
    before, after = (arm(make, losses, repos=1) for losses in ({"": 5, "localization": 5}, {"": 9, "localization": 1}))
    found = diagnose(before, after, names=NAMES)
    assert changed(found)["file_recall"] is Change.UNKNOWN
    assert changed(found)["apply"] is Change.FLAT  # there is no difference at all
    assert sentence(found).startswith(
        "too few repositories to tell any stage from noise, resolved 50 % → 90 % (too few"
    )


def test_three_repositories_that_agree_are_no_proof_and_ten_are(make: Make) -> None:
    for repos, change in ((3, Change.UNKNOWN), (10, Change.GAIN)):
        before = arm(make, {"localization": repos}, repos=repos)
        found = diagnose(before, arm(make, {"": repos}, repos=repos), names=NAMES)
        assert changed(found)["file_recall"] is change


def test_tasks_of_one_repository_count_as_one(make: Make) -> None:
    """The same tasks in fewer repositories give a wider interval when repositories move together."""
    widths = []
    for repos in (100, 10):
        before = [make(i, lost="localization", repos=repos) for i in range(100)]
        after = [make(i, lost="localization" if i % 10 < 5 else "", repos=repos) for i in range(100)]
        (one,) = (x for x in diagnose(before, after, names=NAMES).stages if x.measure.name == "file_recall")
        assert one.low is not None
        assert one.high is not None
        widths.append(one.high - one.low)
        assert (one.tasks, one.clusters) == (100, repos)
    assert widths[1] > 2 * widths[0]


def test_seeds_of_a_task_are_averaged_first(make: Make) -> None:
    before = [make(1, seed=seed, lost="" if seed else "localization") for seed in range(4)] + [make(2, lost="gates")]
    after = [make(1), make(2)]
    (one,) = (x for x in diagnose(before, after, names=NAMES).stages if x.measure.name == "file_recall")
    assert (one.baseline, one.candidate, one.tasks) == (0.875, 1.0, 2)


def test_what_is_not_like_for_like_is_told(make: Make) -> None:
    before = [make(i) for i in range(4)]
    after = [make(i, source="patch") for i in range(3)] + [replace(make(3), resolved=None)]
    told = diagnose(before, after, names=NAMES).warnings
    assert told[0] == "localization is not like for like: from trace in before, from patch and trace in after"
    assert told[1] == "1 of 4 verdicts of after are missing; they take no part"


def test_sides_without_a_task_in_common(make: Make) -> None:
    with pytest.raises(InputError, match="no task in common"):
        diagnose([make(1)], [make(2)], names=NAMES)


def test_measures_that_neither_side_has_are_not_compared(make: Make) -> None:
    bare = [replace(make(i), planning=None, files=None, symbols=None) for i in range(5)]
    found = diagnose(bare, bare, names=NAMES)
    assert "file_recall" not in changed(found)
    assert "residual gap not known" in sentence(found)
    nothing = diagnose([replace(note, patching=None) for note in bare], bare, names=NAMES)
    assert sentence(nothing).startswith("no stage is known on both sides, resolved flat")
    assert any("no stages are known" in warning for warning in found.warnings)


def test_means_leave_out_what_is_not_known(make: Make) -> None:
    notes = [make(1), make(2, lost="localization"), replace(make(3), files=None, resolved=None)]
    found = means(notes)
    assert (found["file_recall"].value, found["file_recall"].trials) == (0.5, 2)
    assert (found["resolved"].value, found["resolved"].trials) == (0.5, 2)
    assert found["dollars"].value == pytest.approx(0.001)
    assert means([])["file_recall"].value is None


def test_a_target_that_was_never_hit_has_the_rank_of_infinity(make: Make) -> None:
    never, third = Found("trace", 1, 9, 0.0, 0, {}), Found("trace", 1, 9, 1.0, 3, {})
    found = means([replace(make(1), files=never), replace(make(2), files=third)])
    assert found["reciprocal_rank"].value == pytest.approx(1 / 6)
