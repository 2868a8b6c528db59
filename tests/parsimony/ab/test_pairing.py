"""Which arms, on which tasks and seeds; pooling."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parsimony import ab
from parsimony.canonical import digest_json
from parsimony.errors import InputError
from tests.parsimony.ab.conftest import STATED, grids, make_run

ONE = [[1, 0]]


@pytest.mark.parametrize(
    ("arms", "baseline", "candidates", "expected"),
    [
        (["x", "y"], None, (), ("x", ("y",))),
        (["y", "baseline"], None, (), ("baseline", ("y",))),
        (["x", "y"], "y", (), ("y", ("x",))),
        (["x", "y"], None, ("x",), ("y", ("x",))),
        (["baseline", "x", "y"], None, (), ("baseline", ("x", "y"))),
        (["x", "y", "z"], "z", ("y",), ("z", ("y",))),
    ],
)
def test_choice(arms: list[str], baseline: str | None, candidates: tuple[str, ...], expected: object) -> None:
    assert ab.choose(make_run(dict.fromkeys(arms, ONE)), baseline, candidates) == expected


@pytest.mark.parametrize(
    ("arms", "baseline", "candidates", "message"),
    [
        (["x"], None, (), "a comparison needs two"),
        (["x", "y", "z"], None, (), "--baseline"),
        (["x", "y"], "q", (), "has no arm 'q'"),
        (["x", "y"], "x", ("q",), "has no arm 'q'"),
        (["x", "y"], "x", ("x",), "'x' twice"),
        (["x", "y", "z"], "x", ("y", "y"), "'y' twice"),
    ],
)
def test_refused_choices(arms: list[str], baseline: str | None, candidates: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ab.choose(make_run(dict.fromkeys(arms, ONE)), baseline, candidates)


def test_the_arm_of_a_run_that_stands_for_one_side() -> None:
    assert ab.only_arm(make_run({"x": ONE}), None, "baseline") == "x"
    assert ab.only_arm(make_run({"x": ONE, "candidate": ONE}), None, "candidate") == "candidate"
    assert ab.only_arm(make_run({"x": ONE, "y": ONE}), "y", "candidate") == "y"
    with pytest.raises(InputError, match="--candidate"):
        ab.only_arm(make_run({"x": ONE, "y": ONE}), None, "candidate")


def aligned(first: object, second: object, *, common: bool = False) -> ab.Pair:
    base, _ = grids(make_run({"a": first, "b": first}))  # type: ignore[dict-item]
    _, candidate = grids(make_run({"a": second, "b": second}))  # type: ignore[dict-item]
    return ab.align(base, candidate, common=common)


def test_other_tasks_are_refused_or_left_out_aloud() -> None:
    with pytest.raises(InputError, match="only 'b' has the task t1") as caught:
        aligned([[1, 0]], [[1, 0], [0, 0]])
    assert caught.value.place.field == "tasks"
    pair = aligned([[1, 0]], [[1, 0], [0, 0]], common=True)
    assert pair.baseline.tasks == pair.candidate.tasks == ("t0",)
    assert any("t1" in note for note in pair.notes)


def test_other_seeds_are_refused_or_left_out_aloud() -> None:
    with pytest.raises(InputError, match="only 'a' has the seed 3") as caught:
        aligned([[1, 0, 1]], [[1, 0]])
    assert caught.value.place.field == "seeds"
    pair = aligned([[1, 0, 1]], [[1, 0]], common=True)
    assert pair.baseline.seeds == (1, 2)
    assert any("seed 3" in note for note in pair.notes)


def test_nothing_in_common_is_refused_even_so() -> None:
    base, _ = grids(make_run({"a": ONE, "b": ONE}))
    _, other = grids(make_run({"a": ONE, "b": ONE}, first=5))
    with pytest.raises(InputError, match="share tasks"):
        ab.align(base, other, common=True)


def test_a_candidate_that_only_one_arm_has_is_missing_in_the_other() -> None:
    run = make_run({"a": [[1, 0], [1, 1]], "b": [[1, 0], [1, 1]]})
    kept = tuple(t for t in run.trials if (t.task_id, t.arm, t.seed) != ("t1", "b", 2))
    pair = ab.align(*grids(replace(run, trials=kept)))
    assert (pair.baseline.missing, pair.candidate.missing) == (0, 1)


def test_a_task_with_fewer_seeds_in_both_arms_is_refused_or_left_out() -> None:
    run = make_run({"a": [[1, 0], [1, 1]], "b": [[1, 0], [1, 1]]})
    both = grids(replace(run, trials=tuple(t for t in run.trials if (t.task_id, t.seed) != ("t1", 2))))
    with pytest.raises(InputError, match="1 of 2 tasks were not planned for every seed, for example t1"):
        ab.align(*both)
    assert ab.align(*both, common=True).baseline.tasks == ("t0",)


def test_what_is_shared_has_digests_of_its_own() -> None:
    """The digest of the whole task set must not stand beside a part of it."""
    base, _ = grids(make_run({"a": [[1, 0]], "b": [[1, 0]]}))
    wide = replace(STATED, task_set="sha256:wider", environment_image="sha256:more")
    run = make_run({"a": [[1, 0], [0, 0]], "b": [[1, 0], [0, 0]]}, settings=dict.fromkeys("ab", wide))
    _, candidate = grids(run)
    images = {"image:1": "sha256:i", "image:2": "sha256:j"}
    pair = ab.align(base, candidate, common=True, images=(images, images))
    frozen = ab.freeze(pair.baseline, pair.candidate).config
    one = run.tasks["t0"]
    assert frozen.task_set == digest_json({"t0": [one.digest, one.gates_digest]})
    assert frozen.environment_image == digest_json({"image:1": "sha256:i"})


def test_another_environment_of_a_shared_task_is_refused() -> None:
    base, candidate = grids(make_run({"a": [[1, 0]], "b": [[1, 0]]}))
    pair = ab.align(base, candidate, common=True, images=({"image:1": "sha256:i"}, {"image:1": "sha256:k"}))
    with pytest.raises(InputError) as caught:
        ab.freeze(pair.baseline, pair.candidate)
    assert caught.value.place.field == "frozen.environment_image"


# ---- pooling


def test_other_patches_under_the_same_seed_are_another_sample() -> None:
    first = make_run({"a": ONE, "b": ONE})
    second = make_run({"a": ONE, "b": ONE}, run_id="run-2", source="runs/two", patch="again-")
    pooled = ab.pool([first, second])
    base, candidate = grids(pooled.run)
    assert base.seeds == candidate.seeds == (1, 2, 3, 4)
    assert list(pooled.notes) == ["seed 1 of runs/two counts as seed 3", "seed 2 of runs/two counts as seed 4"]


def test_the_same_patches_are_repeats() -> None:
    first, second = (make_run({"a": ONE, "b": ONE}, run_id=name, source=name) for name in ("one", "two"))
    pooled = ab.pool([first, second])
    base, _ = grids(pooled.run)
    assert base.seeds == (1, 2)
    assert [trial.repeat for trial in base.cells["t0", 1].trials] == [0, 1]
    assert "4 executions in two are repeats" in pooled.notes[0]


def test_more_tasks_are_pooled_under_one_set_of_seeds() -> None:
    first = make_run({"a": ONE, "b": ONE})
    second = make_run({"a": ONE, "b": ONE}, run_id="run-2", first=1)
    base, candidate = grids(ab.pool([first, second]).run)
    assert ab.align(base, candidate).baseline.tasks == ("t0", "t1")


def test_a_run_is_not_pooled_with_itself() -> None:
    run = make_run({"a": ONE, "b": ONE})
    with pytest.raises(InputError, match="pooled twice"):
        ab.pool([run, run])


def test_other_settings_are_not_pooled() -> None:
    first = make_run({"a": ONE, "b": ONE})
    changed = {"a": STATED, "b": replace(STATED, temperature=1.0)}
    second = make_run({"a": ONE, "b": ONE}, run_id="run-2", source="two", settings=changed)
    with pytest.raises(InputError, match=r"two: temperature: is 1.0 for arm 'b', and 0.0"):
        ab.pool([first, second], common=True)


def test_a_task_of_the_same_name_with_other_tests_is_not_pooled() -> None:
    first = make_run({"a": ONE, "b": ONE})
    second = make_run({"a": ONE, "b": ONE}, run_id="run-2")
    other = replace(second.tasks["t0"], fail_to_pass=("b",))
    with pytest.raises(InputError, match="t0 is not the task of that name"):
        ab.pool([first, replace(second, tasks={"t0": other})])
