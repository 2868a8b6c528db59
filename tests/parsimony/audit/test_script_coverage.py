"""V8's coverage under the reporters of the grading: which added lines the gate tests execute, and which hold code."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import parsimony
from parsimony.audit import Layout, script_source
from parsimony.audit.coverage import Coverage, coverage_task, read_coverage, why_not
from parsimony.audit.diffs import diff
from parsimony.audit.script_source import code_places, read_script
from parsimony.audit.tracers import ScriptTracer, tracer_of

pytest.importorskip("tree_sitter_javascript", reason="the extra `languages` is not installed")

INIMAGE = Path(parsimony.__file__).parent / "inimage"
BEFORE = "module.exports = () => 0\n"
FIXED = """'use strict'
const LIMIT = 0

// a comment
function sign (n) {
  if (n > LIMIT) {
    return 1
  } else if (n < LIMIT) {
    return -1
  }
  return n === 0 ? 0 : NaN
}

function unused () {
  throw new Error('→ 𝒳')
}

module.exports = sign
module.exports.unused = (n) =>
  unused(n)
"""
CODE = (1, 2, 6, 7, 8, 9, 11, 15, 18, 19, 20)
NODE_TEST = """
const test = require('node:test')
const assert = require('node:assert')
const sign = require('..')
test('other', async () => { await null; assert.equal(sign(-5), -1) })
test('gates', async (t) => {
  await t.test('gate', (t, done) => setTimeout(() => { assert.equal(sign(5), 1); done() }, 5))
})
test('after', () => assert.equal(sign(0), 0))
"""


def lines_of_code(source: str, suffix: str = ".js") -> list[int]:
    data = source.encode()
    return list(code_places(read_script(suffix, data), range(1, data.count(b"\n") + 2)))


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("", []),
        ("a()\n\n// b\n/* c\n d */\n{\n}\n", [1]),
        ("function f (\n  a,\n  b = 1\n) {\n  return a\n}\n", [3, 5]),
        ("if (a) {\n  b\n} else {\n  c\n}\n", [1, 2, 4]),
        ("try {\n  a\n} catch (e) {\n  b\n} finally {\n  c\n}\n", [2, 4, 6]),
        (
            "class A extends B {\n  static c = 1\n  d (e) {\n    f\n  }\n  get g () {\n    return 1\n  }\n}\n",
            [1, 2, 4, 7],
        ),
        ("x = [\n  1,\n  ...y\n]\n", [1, 2, 3]),
        ("x = `a\nb ${c}\nd`\n", [1, 2]),
        ("a = async (\n  { b, c: [d] }\n) => {\n  await e\n}\n", [1, 4]),
        ("switch (a) {\n  case 1:\n  default:\n    b\n}\n", [1, 2, 4]),
        ("#!/usr/bin/env node\na\n", [2]),
    ],
)
def test_lines_that_hold_code(source: str, wanted: list[int]) -> None:
    assert lines_of_code(source) == wanted


def test_types_hold_no_code() -> None:
    pytest.importorskip("tree_sitter_typescript", reason="the extra `languages` is not installed")
    source = "interface A {\n  b: 'c'\n}\ntype D =\n  | 'e'\nconst f = g as\n  'h'\nfunction i (\n  j: k = 1,\n) {}\n"
    assert lines_of_code(source, ".ts") == [6, 9]


def test_offsets_are_those_of_javascript() -> None:
    script = read_script(".js", "\ufeffa = '𝒳→'; b\r\nc\r\n".encode())
    assert code_places(script, {1, 2})[1][-1] == "a = '𝒳→'; b".encode("utf-16-le").index("b".encode("utf-16-le")) // 2
    assert code_places(script, {2}) == {2: [14]}


@dataclass
class Traced:
    """A small project under the tracer, with the witness of the grading around it."""

    root: Path
    layout: Layout

    def task(self, command: str, gate: str, log_format: str = "node-tap", path: str = "index.js") -> Layout:
        patch = diff({path: BEFORE.encode()}, {path: FIXED.encode()})
        task = replace(
            self.layout.task, patch=patch, fail_to_pass=(gate,), test_cmd=command, log_format=log_format,
            language="javascript",
        )  # fmt: skip
        return Layout(task, {path: BEFORE.encode()})

    def run(self, layout: Layout, files: Mapping[str, str]) -> Coverage | str:
        if shutil.which("node") is None:
            pytest.skip("no node on this machine")
        for name, content in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(content)
        secret = self.root / "secrets.json"
        names = {"pass": f"c{secrets.token_hex(8)}", "fail": f"c{secrets.token_hex(8)}"}
        secret.write_text(json.dumps({"key": secrets.token_hex(32), "canaries": names, "framework_hint": "node-tap"}))
        script = coverage_task(layout).test_cmd
        assert script is not None
        command = ["node", str(INIMAGE / "node" / "witness.cjs"), "--secrets", str(secret), "--timeout", "60"]
        command += ["--report", str(self.root / "report.json"), "--", "/bin/sh", "-c", script]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NODE_")}
        done = subprocess.run(command, cwd=self.root, env=kept, capture_output=True, check=False)
        return read_coverage(layout, done.stdout)


@pytest.fixture
def traced(tmp_path: Path, layout: Layout) -> Traced:
    return Traced(tmp_path, layout)


PROJECT = {"index.js": FIXED, "test/a.test.js": NODE_TEST}


@pytest.mark.parametrize("command", ["node --test test/a.test.js", "node test/a.test.js"])
def test_lines_by_who_executes_them(traced: Traced, command: str) -> None:
    found = traced.run(traced.task(command, "gates > gate"), PROJECT)
    assert isinstance(found, Coverage)
    assert found.executable == {"index.js": CODE}
    assert found.covered == {"index.js": (1, 2, 6, 7, 18, 19)}
    assert found.other == {"index.js": (8, 9, 11)}
    assert found.missed == [f"index.js:{line}" for line in (8, 9, 11, 15, 20)]
    assert found.unloaded == ()


def test_a_file_without_tests_is_one_test(traced: Traced) -> None:
    files = {
        "index.js": FIXED,
        "test/a.test.js": "require('assert').equal(require('..')(-5), -1)\n",
        "test/b.test.js": "",
    }
    gate = traced.run(traced.task("node --test test", "test/a.test.js"), files)
    assert isinstance(gate, Coverage)
    assert gate.covered == {"index.js": (1, 2, 6, 8, 9, 18, 19)}
    other = traced.run(traced.task("node --test test", "test/b.test.js"), files)
    assert isinstance(other, Coverage)
    assert other.hit == 0
    assert other.other == {"index.js": (1, 2, 6, 8, 9, 18, 19)}


def test_modules_and_processes_that_tests_start(traced: Traced) -> None:
    test = """
import test from 'node:test'
import { execFileSync } from 'node:child_process'
test('gate', () => { execFileSync(process.execPath, ['-e', 'require("./index.js")(5)'], { cwd: process.cwd() }) })
"""
    found = traced.run(traced.task("node --test t.mjs", "gate"), {"index.js": FIXED, "t.mjs": test})
    assert isinstance(found, Coverage)
    assert found.covered == {"index.js": (1, 2, 6, 7, 18, 19)}


def test_an_ecmascript_module_is_found_by_its_address(traced: Traced) -> None:
    source = "export const sign = n => {\n  if (n) return 1\n  return 0\n}\n"
    test = "import test from 'node:test'\nimport { sign } from './m.mjs?x=1'\ntest('gate', () => { sign(1) })\n"
    patch = diff({}, {"m.mjs": source.encode()})
    layout = traced.task("node --test t.mjs", "gate")
    layout = replace(layout, task=replace(layout.task, patch=patch))
    found = traced.run(layout, {"m.mjs": source, "t.mjs": test})
    assert isinstance(found, Coverage)
    assert (found.covered, found.missed) == ({"m.mjs": (1, 2)}, ["m.mjs:3"])


def test_a_file_that_no_test_loads_is_not_covered(traced: Traced) -> None:
    test = "require('node:test')('gate', () => {})\n"
    found = traced.run(traced.task("node --test t.js", "gate"), {"index.js": FIXED, "t.js": test})
    assert isinstance(found, Coverage)
    assert found.unloaded == ("index.js",)
    assert found.hit == 0
    assert found.total == len(CODE)


@pytest.mark.parametrize(
    ("command", "gate", "index", "why"),
    [
        ("true", "gate", FIXED, "no FAIL_TO_PASS test was seen to begin in a process of Node.js"),
        ("node --test t.js", "elsewhere", FIXED, "no FAIL_TO_PASS test was seen to begin in a process of Node.js"),
        ("node --test t.js", "gate", FIXED + "\n", "index.js is compiled from another text than its own"),
        ("kill -9 $$", "gate", FIXED, "the traced run did not come to its end"),
    ],
)
def test_what_shows_nothing_says_so(traced: Traced, command: str, gate: str, index: str, why: str) -> None:
    test = "const f = require('./index.js')\nrequire('node:test')('gate', () => { f(1) })\n"
    assert traced.run(traced.task(command, gate), {"index.js": index, "t.js": test}) == why


def test_source_that_is_compiled_before_is_not_measured(traced: Traced) -> None:
    pytest.importorskip("tree_sitter_typescript", reason="the extra `languages` is not installed")
    layout = traced.task("node --test t.js", "gate", path="index.ts")
    test = "require('node:test')('gate', () => {})\n"
    found = traced.run(layout, {"index.ts": FIXED, "t.js": test})
    assert found == "index.ts is not loaded itself: what runs is made of it before"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (["blind no inspector"], "no inspector"),
        (["blind no inspector", "ready", "began", "lines 0 1"], ""),
        (["blind no inspector", "ready"], "no FAIL_TO_PASS test was seen to begin in a process of Node.js"),
        (["began", "problem nobody knows", "lines 0 1"], "nobody knows"),
        (["began", "transformed 0", "lines 0 1"], ""),
        (["began", "lines"], ""),
    ],
)
def test_the_tracers_words(traced: Traced, said: list[str], why: str) -> None:
    log = "\n".join(f"parsimony-coverage {line}" for line in [*said, "done"]).encode()
    found = read_coverage(traced.task("true", "gate"), log)
    assert found == why if why else isinstance(found, Coverage)


def test_why_there_is_no_tracer(traced: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = traced.task("true", "gate")
    assert why_not(layout) == ""
    tracer = tracer_of(layout)
    assert isinstance(tracer, ScriptTracer)
    assert tracer.files == (("index.js", CODE),)
    assert "base files" in why_not(replace(layout, files={})) or "not known" in why_not(replace(layout, files={}))
    text = diff({"README.md": b""}, {"README.md": b"x\n"})
    only = replace(layout, task=replace(layout.task, patch=text))
    assert why_not(only) == "the fix adds no line to a file of JavaScript or TypeScript"
    broken = diff({"index.js": BEFORE.encode()}, {"index.js": b"function (\n"})
    assert "is no source" in why_not(replace(layout, task=replace(layout.task, patch=broken)))

    def missing(name: str) -> object:
        raise ModuleNotFoundError(name)

    script_source._parser.cache_clear()
    monkeypatch.setattr(script_source, "import_module", missing)
    assert "tree-sitter-javascript is not installed" in why_not(layout)
    script_source._parser.cache_clear()


def test_the_exit_status_is_that_of_the_tests(traced: Traced) -> None:
    script = coverage_task(traced.task("exit 7", "gate")).test_cmd
    assert script is not None
    assert subprocess.run(["sh", "-c", script], capture_output=True, check=False).returncode == 7


# ---- frameworks from the registry that npm is set up for

MOCHA = """
const assert = require('assert')
const sign = require('..')
describe('sign', () => {
  it('other', () => { assert.equal(sign(-5), -1) })
  it('gate', async () => { assert.equal(sign(5), 1) })
  it('after', () => { assert.equal(sign(0), 0) })
})
"""
TAPE = """
const test = require('tape')
const sign = require('..')
test('other', (t) => { t.equal(sign(-5), -1); t.end() })
test('gate', (t) => { setTimeout(() => { t.equal(sign(5), 1); t.end() }, 5) })
test('after', (t) => { t.equal(sign(0), 0); t.end() })
"""
JEST = "const sign = require('..')\ntest('gate', () => { expect(sign(5)).toBe(1) })\n"


@pytest.fixture
def frameworks(traced: Traced) -> Callable[[str], Traced]:
    def install(*packages: str) -> Traced:
        if shutil.which("npm") is None:
            pytest.skip("there is no npm on this machine")
        (traced.root / "package.json").write_text('{"name": "x", "private": true}')
        options = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts"]
        try:
            subprocess.run(
                ["npm", "install", *options, *packages], cwd=traced.root, check=True, timeout=240, capture_output=True
            )
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"npm could not install {packages}: {error}")
        return traced

    return install


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    ("package", "command", "log_format", "gate", "test"),
    [
        ("mocha@10", "node_modules/.bin/mocha --reporter tap test/a.test.js", "mocha-tap", "sign gate", MOCHA),
        ("tape@5", "node_modules/.bin/tape test/a.test.js", "tape", "gate", TAPE),
    ],
)
def test_other_frameworks(
    frameworks: Callable[[str], Traced], package: str, command: str, log_format: str, gate: str, test: str
) -> None:
    bench = frameworks(package)
    found = bench.run(bench.task(command, gate, log_format), {"index.js": FIXED, "test/a.test.js": test})
    assert isinstance(found, Coverage)
    assert found.covered == {"index.js": (1, 2, 6, 7, 18, 19)}
    assert found.other == {"index.js": (8, 9, 11)}


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_jest_runs_another_text(frameworks: Callable[[str], Traced]) -> None:
    bench = frameworks("jest@29")
    layout = bench.task("node_modules/.bin/jest test/a.test.js", "gate", "jest")
    found = bench.run(layout, {"index.js": FIXED, "test/a.test.js": JEST})
    assert found == "index.js is compiled from another text than its own"
