"""Runs measured: the note and the exact record of every kind of candidate."""

import difflib
import io
import tarfile
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from parsimony.canonical import digest_bytes
from parsimony.execution import TestStatus
from parsimony.records import Scorecard
from parsimony.runs import Run, Spend, Trial
from parsimony.scorecard import Material, Measurer, Note, Trees
from parsimony.scorer import Outcome
from parsimony.tasks import Task, Trace

CORE = """\
class Box:
    def put(self, x):
        return x

    def take(self):
        return 1


def free():
    return 2
"""
OTHER = "def help():\n    return 0\n"
TREE = {"pkg/core.py": CORE, "pkg/other.py": OTHER, "tests/test_core.py": "def test(): pass\n"}
FIX = CORE.replace("return x", "return [x]").replace("return 2", "return 3")


def tree(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


def patch(files: Mapping[str, str], base: Mapping[str, str] = TREE) -> bytes:
    parts = []
    for path, text in files.items():
        old = base.get(path)
        head = f"diff --git a/{path} b/{path}\n" + ("new file mode 100644\n" if old is None else "")
        before = "/dev/null" if old is None else f"a/{path}"
        lines = difflib.unified_diff((old or "").splitlines(True), text.splitlines(True), before, f"b/{path}")
        parts.append(head + "".join(lines))
    return "".join(parts).encode()


TASK = Task(
    "t-1",
    "owner/repo",
    None,
    ("f1", "f2"),
    ("p1", "p2"),
    "pytest",
    test_cmd="pytest",
    tree=tree(TREE),
    patch=patch({"pkg/core.py": FIX}),
    language="python",
    row={"obligations": ["put gives a list", "free gives 3"]},
)
LLM = Spend(input_tokens=100, calls=2, wall_seconds=10.0, micro_dollars=2500)
GRADING = Spend(cpu_seconds=2.0, wall_seconds=3.0, micro_dollars=100)
ALL_RAN = dict.fromkeys(("f1", "f2", "p1", "p2"), TestStatus.PASSED)


def trial(outcome: Outcome = Outcome.RESOLVED, **more: Any) -> Trial:
    passed = 2 if outcome is Outcome.RESOLVED else 0
    given = {
        "execution_key": "k",
        "fail_to_pass": (passed, 2),
        "pass_to_pass": (2, 2),
        "regressions": 0,
        "llm": LLM,
        "compute": GRADING,
    }
    return Trial("t-1", "arm", 1, 0, outcome, **{**given, **more})


def measure(
    one: Trial, material: Material | None, task: Task = TASK, more: tuple[Trial, ...] = ()
) -> tuple[Note, Scorecard | None]:
    run = Run("run-1", "name", "here", {task.instance_id: task}, {}, (one, *more))
    return next(Measurer(Trees()).measure(run, lambda _: material))


def applied(files: Mapping[str, str], **more: Any) -> Material:
    data = patch(files)
    return Material(data, data, **{"tests": ALL_RAN, "exit_status": 0, **more})


def card(one: Trial, material: Material, task: Task = TASK) -> dict[str, Any]:
    note, record = measure(one, material, task)
    assert record is not None, note.missing
    return record.to_json()


def test_the_fix_itself_is_right_everywhere() -> None:
    trace = Trace(obligations=("Free gives 3", "put gives  a list"))
    assert card(trial(trace=trace), applied({"pkg/core.py": FIX})) == {
        "run_id": "run-1/arm/1/0",
        "task_id": "t-1",
        "component_metrics": {
            "localization": {"file_recall": 1.0, "symbol_recall": 1.0, "target_rank": 1},
            "planning": {"obligations_recovered": 1.0},
            "patching": {"apply": True, "parse": True, "build": True},
            "structure": {"correct_entities_touched": 2, "unnecessary_entities_touched": 0},
            "testing": {"bug_tests_exercised": True, "regression_tests_exercised": True},
        },
        "end_to_end": {"resolved": "resolved", "regressions": 0, "robustness": 1.0},
        "economics": {"tokens": 100, "calls": 2, "cpu": 2.0, "wall_time": 13.0, "dollars": 0.0026},
    }


def test_half_of_it_and_something_else_without_a_trace() -> None:
    half = {"pkg/other.py": OTHER.replace("0", "1"), "pkg/core.py": CORE.replace("return x", "return (x,)")}
    note, record = measure(trial(Outcome.NOT_RESOLVED), applied(half))
    assert record is not None
    found = record.to_json()["component_metrics"]
    assert found["localization"] == {"file_recall": 1.0, "symbol_recall": 0.5, "target_rank": 2}
    assert found["structure"] == {"correct_entities_touched": 1, "unnecessary_entities_touched": 1}
    assert found["planning"] == {"obligations_recovered": 0.0}  # nothing is told, so nothing is shown
    assert note.files is not None
    assert note.symbols is not None
    assert note.planning is not None
    assert (note.files.source, note.files.recall_at[1], note.files.recall_at[3]) == ("patch", 0.0, 1.0)
    assert (note.symbols.rank, note.symbols.recall_at[1]) == (2, 0.0)
    assert note.planning.recovered is None


def test_a_trace_stands_above_the_patch() -> None:
    trace = Trace(files=("/testbed/pkg/other.py", "./pkg/core.py", "pkg/core.py"), symbols=("help", "Box.take", "free"))
    note, _ = measure(trial(trace=trace), applied({"pkg/core.py": FIX}))
    assert note.files is not None
    assert note.symbols is not None
    assert (note.files.source, note.files.ranked, note.files.recall, note.files.rank) == ("trace", 2, 1.0, 2)
    assert (note.symbols.source, note.symbols.recall, note.symbols.rank) == ("trace", 0.5, 3)


def test_what_a_trace_leaves_out_is_taken_from_the_patch() -> None:
    note, _ = measure(trial(trace=Trace(symbols=("nothing",))), applied({"pkg/core.py": FIX}))
    assert note.files is not None
    assert note.symbols is not None
    assert (note.files.source, note.files.rank) == ("patch", 1)
    assert (note.symbols.source, note.symbols.rank, note.symbols.recall) == ("trace", 0, 0.0)


@pytest.mark.parametrize("outcome", [Outcome.DOES_NOT_APPLY, Outcome.EMPTY_PATCH])
def test_a_patch_that_changes_nothing_has_no_structure_but_may_have_found_the_place(outcome: Outcome) -> None:
    data = patch({"pkg/core.py": FIX}) if outcome is Outcome.DOES_NOT_APPLY else b""
    found = card(trial(outcome), Material(data))
    parts = found["component_metrics"]
    recall = 1.0 if data else 0.0
    assert parts["localization"] == {"file_recall": recall, "symbol_recall": recall, "target_rank": int(recall)}
    assert parts["patching"] == {"apply": False, "parse": False, "build": False}
    assert parts["structure"] == {"correct_entities_touched": 0, "unnecessary_entities_touched": 0}
    assert parts["testing"] == {"bug_tests_exercised": False, "regression_tests_exercised": False}
    assert found["end_to_end"] == {"resolved": "not_resolved", "regressions": 0, "robustness": 0.0}


def test_a_patch_that_does_not_fit_says_which_file_it_means_and_no_more() -> None:
    elsewhere = patch({"pkg/core.py": FIX}, {"pkg/core.py": CORE.replace("return x", "return z")})
    found = card(trial(Outcome.DOES_NOT_APPLY), Material(elsewhere))
    assert found["component_metrics"]["localization"] == {"file_recall": 1.0, "symbol_recall": 0.0, "target_rank": 1}


@pytest.mark.parametrize(
    ("text", "parse", "build"), [("return [x", False, False), ("yield from x", True, True), ("nonlocal y", True, False)]
)
def test_what_does_not_parse_or_does_not_compile(text: str, parse: bool, build: bool) -> None:
    files = {"pkg/core.py": CORE.replace("return x", text)}
    found = card(trial(Outcome.NOT_RESOLVED), applied(files))
    assert found["component_metrics"]["patching"] == {"apply": True, "parse": parse, "build": build}


@pytest.mark.parametrize(
    ("tests", "exit_status", "build"), [({}, 125, False), ({}, None, False), ({}, 1, True), (ALL_RAN, 125, True)]
)
def test_the_build_command_of_the_task_tells_whether_it_builds(
    tests: dict[str, TestStatus], exit_status: int | None, build: bool
) -> None:
    built = replace(TASK, build_cmd="make")
    material = applied({"pkg/core.py": FIX}, tests=tests, exit_status=exit_status)
    note, _ = measure(trial(Outcome.NOT_RESOLVED), material, built)
    assert note.patching is not None
    assert (note.patching.build, note.patching.build_by) == (build, "build_cmd")


def test_what_was_applied_counts_where_the_patch_went_in_with_fuzz() -> None:
    elsewhere = patch({"pkg/core.py": FIX}, {"pkg/core.py": CORE.replace("return 1", "return 9")})
    whole = Material(elsewhere, patch({"pkg/core.py": FIX}), ALL_RAN)
    assert card(trial(), whole)["component_metrics"]["structure"]["correct_entities_touched"] == 2
    note, record = measure(trial(), Material(elsewhere, None, ALL_RAN))
    assert record is None
    assert "does not fit" in note.missing[0]


def test_robustness_over_variants_and_over_repeats() -> None:
    varied = applied({"pkg/core.py": FIX}, variants={"hash-seed-1": True, "hash-seed-2": False})
    assert card(trial(), varied)["end_to_end"]["robustness"] == 0.5
    again = replace(trial(Outcome.NOT_RESOLVED), repeat=1)
    lost = replace(trial(Outcome.MISSING), repeat=2)
    note, record = measure(trial(), applied({"pkg/core.py": FIX}), more=(again, lost))
    assert record is not None
    assert record.end_to_end.robustness == 0.5
    assert note.robustness is not None
    assert (note.robustness.source, note.robustness.runs) == ("repeats", 2)


def test_a_fix_outside_of_any_function_has_no_symbols_to_find() -> None:
    plain = replace(TASK, patch=patch({"pkg/core.py": "LIMIT = 1\n" + CORE}), row={})
    note, record = measure(trial(), applied({"pkg/core.py": "LIMIT = 1\n" + CORE}), plain)
    assert record is not None
    assert record.component_metrics.localization.symbol_recall == 1.0
    assert record.component_metrics.planning.obligations_recovered == 1.0
    assert note.symbols is not None
    assert note.symbols.recall is None
    assert note.vacuous == ("localization.symbol_recall", "planning.obligations_recovered")


def test_a_fix_that_only_makes_a_file_wants_that_file_found() -> None:
    made = {"pkg/extra.py": "def extra():\n    pass\n"}
    note, record = measure(trial(), applied(made), replace(TASK, patch=patch(made)))
    assert record is not None
    assert note.files is not None
    assert (note.files.targets, note.files.recall) == (1, 1.0)
    assert record.component_metrics.structure.correct_entities_touched == 1


def test_files_that_the_fix_makes_are_not_to_be_found_where_others_are() -> None:
    both = {"pkg/core.py": FIX, "pkg/extra.py": "def extra():\n    pass\n"}
    note, _ = measure(trial(), applied({"pkg/core.py": FIX}), replace(TASK, patch=patch(both)))
    assert note.files is not None
    assert note.structure is not None
    assert (note.files.targets, note.files.recall) == (1, 1.0)
    assert (note.structure.correct, note.structure.gold, note.structure.places, note.structure.of) == (2, 3, 2, 2)


@pytest.mark.parametrize(
    ("one", "material", "task", "reason"),
    [
        (trial(Outcome.MISSING), Material(b"x"), TASK, "the verdict is missing"),
        (trial(), None, TASK, "there is no candidate"),
        (trial(llm=None), Material(patch({"pkg/core.py": FIX})), TASK, "tells no usage"),
        (trial(compute=Spend()), Material(patch({"pkg/core.py": FIX})), TASK, "dollars are not known"),
        (trial(), Material(b"x"), replace(TASK, patch=b""), "no fix of its own"),
        (trial(), Material(b"x"), replace(TASK, patch=patch({"README.md": "x\n"})), "no implementation file"),
        (trial(), Material(b"x"), replace(TASK, tree=None, image="i"), "is not known"),
        (trial(), Material(b"x"), replace(TASK, tree=tree({"pkg/core.py": "print 1\n"})), "does not fit"),
    ],
)
def test_a_record_holds_no_guess(one: Trial, material: Material | None, task: Task, reason: str) -> None:
    note, record = measure(one, material, task)
    assert record is None
    assert any(reason in found for found in note.missing), note.missing


def test_a_task_that_is_gone_is_told() -> None:
    run = Run("run-1", "name", "here", {}, {}, (trial(),))
    ((note, record),) = Measurer(Trees()).measure(run, lambda _: Material(b"x"))
    assert record is None
    assert "not in the run's task file" in note.missing[0]


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\0", b"diff --git a/x b/x\n@@ -1 +1 @@\n", b"--- a/pkg/core.py\n+++ b/../x\n"]
)
def test_odd_patches_raise_nothing(data: bytes) -> None:
    note, record = measure(trial(Outcome.DOES_NOT_APPLY), Material(data))
    assert record is not None
    assert note.files is not None


def test_notes_are_json_and_cards_come_back() -> None:
    note, record = measure(trial(), applied({"pkg/core.py": FIX}))
    assert record is not None
    assert Scorecard.from_json(record.to_json()) == record
    told = note.to_json()
    assert (told["run_id"], told["task_id"], told["files"]["source"]) == (record.run_id, record.task_id, "patch")
    assert digest_bytes(repr(told).encode())  # plain data all the way down
