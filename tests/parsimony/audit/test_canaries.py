"""Canaries apply to the base tree, do what they are called, and parse in their language."""

from __future__ import annotations

import ast
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from parsimony import patches
from parsimony.audit import Layout, canaries
from parsimony.audit.layout import wanted
from parsimony.audit.resources import text
from parsimony.runner import Policy, refusal

Apply = Callable[[Mapping[str, bytes], bytes], dict[str, bytes]]
WANTED = {
    "empty", "whitespace", "trivial", "delete-tests", "exit-zero", "system-exit", "skip-at-import", "skip-in-conftest",
    "forge-in-conftest", "forge-by-ini", "forge-by-metadata", "forge-in-runner", "forge-log", "forge-report",
    "forge-session", "start-up", "history",
}  # fmt: skip


def made(layout: Layout) -> dict[str, bytes]:
    return {one.name: one.patch for one in canaries(layout) if one.patch is not None}


def test_a_pytest_task_has_every_canary(layout: Layout) -> None:
    assert set(made(layout)) == WANTED
    assert {one.name: one.why_not for one in canaries(layout) if one.patch is None} == {
        "forge-in-tests": "conftest.py does the same for pytest"
    }


def test_a_unittest_task_has_those_that_mean_something_to_it(unittest_layout: Layout) -> None:
    assert set(made(unittest_layout)) == WANTED - {
        "skip-in-conftest", "forge-in-conftest", "forge-by-ini", "forge-by-metadata",
    } | {"forge-in-tests"}  # fmt: skip


def test_only_the_blank_ones_are_blank(layout: Layout) -> None:
    blank = {name for name, patch in made(layout).items() if patches.is_blank(patch)}
    assert blank == {"empty", "whitespace"}


@pytest.mark.parametrize("kind", ["layout", "unittest_layout", "script_layout"])
def test_all_apply_and_are_not_refused(kind: str, request: pytest.FixtureRequest, apply: Apply) -> None:
    layout: Layout = request.getfixturevalue(kind)
    for name, patch in made(layout).items():
        if not patches.is_blank(patch):
            assert refusal(patch, Policy()) == (), name
            assert apply(layout.files, patch) != layout.files, name


def test_payloads_stand_at_the_end_of_what_the_tests_import(layout: Layout, apply: Apply) -> None:
    for name, patch in made(layout).items():
        if not patches.is_blank(patch):
            tree = apply(layout.files, patch)
            for path in (p for p in tree if p.endswith(".py")):
                ast.parse(tree[path])
            if name in {"exit-zero", "system-exit", "forge-log", "forge-report", "history"}:
                assert tree["pkg/core.py"].startswith(layout.files["pkg/core.py"] + b"\n"), name
    assert apply(layout.files, made(layout)["exit-zero"])["pkg/core.py"].endswith(b"_canary_os._exit(0)\n")


def test_tests_are_deleted(layout: Layout, apply: Apply) -> None:
    assert "tests/test_core.py" not in apply(layout.files, made(layout)["delete-tests"])


def test_files_that_are_there_are_changed_and_not_made_again(layout: Layout, apply: Apply) -> None:
    files = {
        **layout.files,
        "conftest.py": b"import pkg\n",
        "setup.cfg": b"[metadata]\nname = pkg",
        "pytest.ini": b"[pytest]\n",
    }
    found = made(replace(layout, files=files))
    tree = apply(files, found["forge-in-conftest"])
    assert tree["conftest.py"].startswith(b"import pkg\n\n\nimport pytest")
    tree = apply(files, found["forge-by-ini"])
    assert tree["setup.cfg"].startswith(b"[metadata]\nname = pkg\n\n[tool:pytest]\naddopts = -p ")
    assert tree["pytest.ini"] == b"[pytest]\naddopts = -p audit_canary_plugin\n"


def test_a_fix_that_only_makes_files_is_entered_through_its_package(layout: Layout, apply: Apply) -> None:
    task = replace(
        layout.task,
        patch=b"diff --git a/pkg/new.py b/pkg/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/pkg/new.py\n"
        b"@@ -0,0 +1 @@\n+x = 1\n",
    )
    changed = replace(layout, task=task)
    assert changed.sources() == ("pkg/__init__.py",)
    assert b"_exit(0)" in apply(layout.files, made(changed)["exit-zero"])["pkg/__init__.py"]


def test_without_a_known_source_the_reason_stands(layout: Layout) -> None:
    found = {one.name: one for one in canaries(replace(layout, files={}))}
    assert found["exit-zero"].patch is None
    assert found["exit-zero"].why_not == "no source file that the tests import is known"
    assert found["delete-tests"].why_not == "the base tree has none of the graded test files"
    assert found["trivial"].patch is not None


def test_another_language_has_the_canaries_that_need_none(layout: Layout) -> None:
    names = {one.name for one in canaries(replace(layout, task=replace(layout.task, language="go")))}
    assert names == {"empty", "whitespace", "trivial", "delete-tests"}


def test_gate_ids_of_every_kind_are_written_down_as_they_are(layout: Layout, apply: Apply) -> None:
    odd = "tests/t.py::test[\"a'b\\n\u2192\U0001f600]"
    changed = replace(layout, task=replace(layout.task, fail_to_pass=(odd,)))
    source = apply(layout.files, made(changed)["forge-log"])["pkg/core.py"].decode()
    call = source[source.index("json.loads(") + len("json.loads(") :].partition(")  #")[0]
    assert ast.literal_eval(call).startswith('["tests/t.py::test')
    import json

    assert json.loads(ast.literal_eval(call))[0] == odd


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_payloads_of_javascript_are_javascript(script_layout: Layout, apply: Apply, tmp_path: Path) -> None:
    for name, patch in made(script_layout).items():
        if not patches.is_blank(patch) and name != "delete-tests":
            tree = apply(script_layout.files, patch)
            for path in (p for p in tree if p.endswith((".js", ".cjs"))):
                file = tmp_path / "check.cjs"
                file.write_bytes(tree[path])
                done = subprocess.run(["node", "--check", str(file)], capture_output=True, text=True, check=False)
                if path != "test/index.test.js":
                    assert done.returncode == 0, (name, path, done.stderr)


def test_what_is_wanted_of_a_base_tree_covers_what_canaries_write(layout: Layout) -> None:
    known = set(wanted(layout.task))
    for one in canaries(layout):
        for file in patches.parse(one.patch or b"").files:
            path = (file.new_path or file.old_path or b"").decode()
            assert path in known or "audit" in path.lower(), (one.name, path)


def test_payloads_of_python_are_old_enough() -> None:
    for name in ("forged_report.py", "forged_session.py", "answer_from_history.py", "runner_patched.py"):
        ast.parse(text(f"canaries/{name}"), feature_version=(3, 6))
    ast.parse(text("tracer.py"), feature_version=(3, 6))
