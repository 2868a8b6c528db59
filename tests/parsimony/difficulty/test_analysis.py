"""The analysis as a whole, its warnings, responses out of runs and files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from parsimony.difficulty import By, Options, Place, Response, analyse, bank_of, gather, read_responses, wording
from parsimony.errors import InputError
from parsimony.runs import Run, Settings, Trial
from parsimony.scorer import Outcome
from parsimony.tasks import Task

OUTCOMES = {None: Outcome.MISSING, True: Outcome.RESOLVED, False: Outcome.NOT_RESOLVED}
Verdicts = dict[tuple[str, str, int], list[bool | None]]
"""By task, arm and seed, those of the repeats."""


def made(verdicts: Verdicts, source: str = "runs/one", settings: Settings | None = None, patch: str = "p") -> Run:
    trials = tuple(
        Trial(task, arm, seed, repeat, OUTCOMES[verdict], patch_ref=f"{patch}{arm}{seed}")
        for (task, arm, seed), repeats in verdicts.items()
        for repeat, verdict in enumerate(repeats)
    )
    tasks = {task: Task(task, "o/r", "c", ("a",), (), "pytest") for task, _, _ in verdicts}
    arms = {arm: settings or Settings() for _, arm, _ in verdicts}
    return Run(source, "made", source, tasks, arms, trials)


def told(run_or_runs: Run | list[Run], by: By = By.ARM) -> dict[tuple[str, str], tuple[float, float]]:
    runs = run_or_runs if isinstance(run_or_runs, list) else [run_or_runs]
    some = bank_of(gather(runs, by).responses)
    return {
        (name, task): (some.successes[i, j], some.trials[i, j])
        for i, name in enumerate(some.respondents)
        for j, task in enumerate(some.tasks)
        if some.trials[i, j]
    }


ONE: Verdicts = {("t1", "a", 1): [True], ("t1", "a", 2): [False, True], ("t1", "b", 1): [None], ("t2", "a", 1): [False]}


def test_candidates_are_trials_and_repeats_are_one() -> None:
    assert told(made(ONE)) == {("a", "t1"): (1.5, 2), ("a", "t2"): (0, 1)}
    by_seed = told(made(ONE), By.ARM_SEED)
    assert by_seed == {("a #1", "t1"): (1, 1), ("a #2", "t1"): (0.5, 1), ("a #1", "t2"): (0, 1)}
    assert {one.agent for one in gather([made(ONE)], By.ARM_SEED).responses} == {"a"}
    assert gather([made(ONE)], By.ARM).missing == 1


def test_the_same_patch_again_is_a_repeat_and_another_is_another_trial() -> None:
    again = made({("t1", "a", 1): [False]}, source="runs/two")
    assert told([made(ONE), again])["a", "t1"] == (1.0, 2)
    other = made({("t1", "a", 1): [False]}, source="runs/two", patch="q")
    assert told([made(ONE), other])["a", "t1"] == (1.5, 3)


def test_arms_of_one_name_and_another_model_are_other_agents() -> None:
    one, two = (made(ONE, source=f"runs/{model}", settings=Settings(model=model)) for model in ("m1", "m2"))
    assert {name for name, _ in told([one, two])} == {"a (runs/m1)", "a (runs/m2)"}
    (note,) = gather([one, two], By.ARM).notes[:1]
    assert "differ in harness or model" in note


def test_quarantined_tasks_take_no_part_in_any_run() -> None:
    gathered = gather([replace(made(ONE), quarantined={"t1": ("flaky",)}), made(ONE, source="runs/two")], By.ARM)
    assert {one.task_id for one in gathered.responses} == {"t2"}
    assert gathered.missing == 0
    assert "quarantined" in gathered.notes[0]


def responses(agents: int, tasks: int, seed: int = 0) -> list[Response]:
    random = np.random.default_rng(seed)
    ability, b = random.normal(size=agents), 1.5 * random.normal(size=tasks)
    chance = 1 / (1 + np.exp(b - ability[:, None]))
    hits = random.random(chance.shape) < chance
    return [Response(f"a{i}", f"a{i}", f"t{j}", float(hits[i, j]), 1) for i in range(agents) for j in range(tasks)]


def test_an_analysis_selects_the_middle_and_says_what_it_saves() -> None:
    some = bank_of(responses(12, 60))
    found = analyse(some, Options(draws=100))
    rates = some.shares.mean(axis=0)
    inside = (rates >= 0.3 - 1e-12) & (rates <= 0.7 + 1e-12)
    assert found.selected == tuple(name for name, chosen in zip(some.tasks, inside, strict=True) if chosen)
    assert 0 < len(found.selected) < 60
    for item in found.items:
        extreme = item.place in {Place.NONE, Place.ALL}
        assert (item.difficulty is None) is (item.discrimination_se is None) is extreme
        assert item.imprecise or not extreme
        assert (item.information == 0) is extreme
    told_by = {item.task_id: item.information for item in found.items}
    kept = sum(told_by[name] for name in found.selected) / sum(told_by.values())
    assert found.kept_information == pytest.approx(kept)
    assert f"saves {60 - len(found.selected)} of 60" in wording.saving(found)
    assert "Kendall" in wording.ranks(found)


def test_the_order_of_responses_plays_no_part() -> None:
    some = responses(8, 30)
    shuffled = [some[place] for place in np.random.default_rng(1).permutation(len(some))]
    assert analyse(bank_of(shuffled), Options(draws=50)) == analyse(bank_of(some), Options(draws=50))


def test_who_is_under_test_is_ranked_and_is_no_history() -> None:
    some = responses(12, 40)
    free = analyse(bank_of(some), Options(draws=0))
    held = analyse(bank_of(some), Options(under_test=("a3",), draws=0))
    without = analyse(bank_of([one for one in some if one.agent != "a3"]), Options(draws=0))
    assert [item.rate for item in held.items] == [item.rate for item in without.items]
    assert held.selected == without.selected
    assert held.agents == 11
    three = next(one for one in held.respondents if one.name == "a3")
    assert (three.ability, three.ability_se) == (None, None)
    assert held.stability.compared == 12
    assert held.stability.full == free.stability.full
    assert any("--under-test" in line for line in free.warnings)
    assert not any("--under-test" in line for line in held.warnings)


def test_small_banks_are_warned_about_by_the_rule_that_they_break() -> None:
    few = analyse(bank_of(responses(4, 20)), Options(draws=10)).warnings
    for words in ("4 historical agents; a band takes 10", "4 respondents; parameters", "4 respondents are ranked"):
        assert any(words in line for line in few), words
    # Seeds are respondents and no further agents.
    seeds = [replace(one, agent=f"m{int(one.respondent[1:]) % 3}") for one in responses(12, 20)]
    lines = analyse(bank_of(seeds), Options(draws=10)).warnings
    assert any("3 historical agents" in line for line in lines)
    assert not any("are ranked: fewer" in line for line in lines)
    many = analyse(bank_of(responses(210, 15)), Options(draws=2)).warnings
    assert not any("agents; a band" in line or "respondents; parameters" in line for line in many)
    assert any("few tasks for so many respondents" in line for line in many)


def test_missing_cells_are_told() -> None:
    some = [one for place, one in enumerate(responses(12, 20)) if place % 11]
    assert any("9.2 % of cells are missing" in line for line in analyse(bank_of(some), Options(draws=2)).warnings)


def test_a_bank_where_nothing_differs() -> None:
    found = analyse(bank_of(Response(f"a{i}", f"a{i}", f"t{j}", j % 2, 1) for i in range(5) for j in range(4)))
    assert found.selected == ()
    assert found.kept_information is None
    assert [item.place for item in found.items] == [Place.NONE, Place.ALL, Place.NONE, Place.ALL]
    assert "nothing to select" in wording.saving(found)
    assert "cannot be compared" in wording.ranks(found)


def test_requests_that_cannot_be() -> None:
    some = bank_of(responses(3, 4))
    with pytest.raises(InputError, match="--under-test"):
        analyse(some, Options(under_test=("nobody",)))
    with pytest.raises(InputError, match="1 historical"):
        analyse(some, Options(under_test=("a0", "a1")))
    for options in (Options(draws=-1), Options(draws=10**6), Options(seed=-1), Options(seed=2**40)):
        with pytest.raises(InputError):
            analyse(some, options)


def written(folder: Path, text: str, name: str = "responses.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


HEADER = "respondent,task_id,successes,trials\n"


def test_responses_are_read_from_both_kinds_of_tables(tmp_path: Path) -> None:
    lines = '{"respondent": "m", "task_id": "t", "successes": 1.5, "trials": 3}\n'
    for path in (written(tmp_path, f"{HEADER}m,t,1.5,3\n"), written(tmp_path, lines, "r.jsonl")):
        assert read_responses(path) == ([Response("m", "m", "t", 1.5, 3)], [])


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ("m,u,2,1", "successes"),
        ("m,u,-1,1", "successes"),
        ("m,u,0,0", "trials"),
        ("m,u,1,nan", "trials"),
        ("m,u,1,1e9", "trials"),
        ("m,u,1," + "9" * 400, "trials"),
        ("m,,1,1", "task_id"),
        (" ,u,1,1", "respondent"),
        ("m,t,1,1", "task_id"),
    ],
)
def test_a_bad_response_is_rejected_in_its_place(tmp_path: Path, row: str, field: str) -> None:
    found, (error,) = read_responses(written(tmp_path, f"{HEADER}m,t,1,3\n{row}\nm,v,1,1\n"))
    assert [one.task_id for one in found] == ["t", "v"]
    assert (error.place.row, error.place.field) == (3, field)


def test_files_without_a_response(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no rows"):
        read_responses(written(tmp_path, HEADER))
    with pytest.raises(InputError, match="successes"):
        read_responses(written(tmp_path, f"{HEADER}m,t,4,3\n"))
