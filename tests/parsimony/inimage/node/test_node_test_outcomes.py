"""node:test under the witness: ids, statuses, and that honest projects are believed."""

from __future__ import annotations

from typing import Any

import pytest

SUITE = """
const { describe, it, test } = require('node:test')
const assert = require('node:assert')
describe('suite # x', () => {
  it('passes', () => {})
  it('fails', () => { assert.strictEqual(1, 2) })
  it.skip('is skipped', () => {})
  it.todo('is to be done')
  it('is known to fail', { todo: true }, () => { throw new Error('known') })
  describe('inner', { concurrency: true }, () => {
    it('slow', async () => { await new Promise((resolve) => setTimeout(resolve, 30)) })
    it('fast', () => {})
  })
})
test('outer', async (t) => {
  await t.test('sub one', () => {})
  await t.test('sub > two', () => { throw new Error('x') })
})
test('callback', (t, done) => setTimeout(done, 5))
test('späte ✓ "quotes" \\\\ back', () => {})
"""

STATUSES = {
    "suite # x": "failed",
    "suite # x > passes": "passed",
    "suite # x > fails": "failed",
    "suite # x > is skipped": "skipped",
    "suite # x > is to be done": "xpass",
    "suite # x > is known to fail": "xfail",
    "suite # x > inner": "passed",
    "suite # x > inner > slow": "passed",
    "suite # x > inner > fast": "passed",
    "outer": "failed",
    "outer > sub one": "passed",
    "outer > sub > two": "failed",
    "callback": "passed",
    'späte ✓ "quotes" \\ back': "passed",
}


@pytest.mark.parametrize("command", ["node --test test/a.test.js", "node test/a.test.js"])
def test_ids_and_statuses(bench: Any, command: Any) -> None:
    bench.write({"test/a.test.js": SUITE})
    outcome = bench.run(command)
    assert outcome.status == 1
    assert outcome.statuses == STATUSES
    assert outcome.report.problems == ()
    assert outcome.report.exit_status == 1
    assert outcome.report.labels["suite # x"] == "suite \\# x"


HONEST = {
    "modules": "import test from 'node:test'\nawait test('one', () => {})\nawait test('two', () => {})\n",
    "ends by an after hook": (
        "import { test, after } from 'node:test'\n"
        "after(() => process.exit())\ntest('one', () => {})\ntest('two', () => {})\n"
    ),
    "late": "import { test } from 'node:test'\ntest('one', () => {})\nsetTimeout(() => test('two', () => {}), 50)\n",
}


@pytest.mark.parametrize("source", HONEST.values(), ids=HONEST)
def test_honest_modules_are_believed(bench: Any, source: Any) -> None:
    bench.write({"test/a.test.mjs": source})
    outcome = bench.run("node --test test/a.test.mjs")
    if "after" in source:  # in a module this cannot be told from an exit in the middle
        assert set(outcome.statuses) == {"one", "two"}
        return
    assert outcome.status == 0
    assert outcome.convinces("one", "two"), outcome.report


def test_a_script_that_ends_by_an_after_hook_is_believed(bench: Any) -> None:
    tests = "t('one', () => {}); t('two', () => {})"
    bench.write({"a.test.js": f"const t = require('node:test'); t.after(() => process.exit()); {tests}"})
    outcome = bench.run("node --test a.test.js")
    version = bench.run("node --version").output
    if not version.startswith("v18."):  # there the hook runs before the test is reported
        assert outcome.convinces("one", "two"), outcome.report


def test_selections_by_name(bench: Any) -> None:
    bench.write({"a.test.js": SUITE})
    outcome = bench.run("node --test --test-name-pattern='callback|sub one' a.test.js")
    assert outcome.status == 0
    assert outcome.convinces("callback"), outcome.report
    assert outcome.statuses.get("suite # x > fails", "skipped") == "skipped"


def test_only(bench: Any) -> None:
    bench.write({"a.test.js": "const t = require('node:test'); t.only('one', () => {}); t('two', () => { throw 1 })"})
    assert bench.run("node --test --test-only a.test.js").convinces("one")


def test_several_files_and_helpers(bench: Any) -> None:
    bench.write(
        {
            "test/a.test.js": "require('node:test')('a', () => { require('./helper') })",
            "test/b.test.mjs": "import { test } from 'node:test'\ntest('b', () => {})",
            "test/helper.js": "module.exports = 1",
            "test/script.test.js": "require('assert').ok(true)",
            "test/script-fails.test.js": "require('assert').ok(false)",
            "test/script-exits.js": "process.exit(0)",
        }
    )
    outcome = bench.run("node --test test/")
    if "Cannot find module" in outcome.output:  # Node.js 22 takes no folder
        outcome = bench.run("node --test")
    assert outcome.statuses == {
        "a": "passed",
        "b": "passed",
        "test/helper.js": "passed",
        "test/script.test.js": "passed",
        "test/script-fails.test.js": "failed",
    }
    assert outcome.report.problems == ()


def test_the_tests_see_no_reporter(bench: Any) -> None:
    bench.write(
        {
            "a.test.js": """
const test = require('node:test'), assert = require('node:assert')
test('environment', () => {
  assert.deepStrictEqual(Object.keys(process.env).filter((name) => /PARSIMONY/.test(name)), [])
  assert.strictEqual(process.env.NODE_OPTIONS, '--no-deprecation')
  assert.deepStrictEqual(Object.keys(require.cache).filter((file) => !/preload.cjs$/.test(file)), [__filename])
})
test('nested run', () => {
  const { spawnSync } = require('child_process')
  const { NODE_TEST_CONTEXT, ...env } = process.env
  const done = spawnSync(process.execPath, ['--test', 'nested.js'], { env })
  assert.strictEqual(done.status, 1)
})
""",
            "nested.js": "require('node:test')('nested', () => { throw new Error('x') })",
        }
    )
    outcome = bench.run("node --test a.test.js", environment={"NODE_OPTIONS": "--no-deprecation"})
    assert outcome.convinces("environment", "nested run"), outcome.output
    assert "nested" not in outcome.statuses


def test_assertions_that_tests_replace_are_a_note(bench: Any) -> None:
    bench.write(
        {
            "test/a.test.js": """
const assert = require('assert'), original = assert.ok
assert.ok = (...words) => original(...words)
require('node:test')('a', () => { assert.ok(true) })
"""
        }
    )
    outcome = bench.run("node --test test/a.test.js", candidate=["index.js"])
    assert outcome.convinces("a")
    assert any("assert.ok" in note for note in outcome.report.notes)


def test_a_crash_is_no_accusation(bench: Any) -> None:
    bench.write({"a.test.js": "const t = require('node:test'); t('a', () => {}); t('b', () => process.abort())"})
    outcome = bench.run("node --test a.test.js")
    assert outcome.status != 0
    assert outcome.report.problems
    assert not outcome.report.tampered


def test_tests_in_one_process(bench: Any) -> None:
    bench.write({"a.test.js": SUITE, "b.test.js": "require('node:test')('b', () => {})"})
    version = bench.run("node --version").output
    major = int(version[1:].split(".")[0])
    if major < 22:
        pytest.skip("Node.js before 22 always isolates files")
    switch = "--experimental-test-isolation=none" if major < 24 else "--test-isolation=none"
    outcome = bench.run(f"node --test {switch} a.test.js b.test.js")
    assert outcome.statuses == {**STATUSES, "b": "passed"}
    assert outcome.report.problems == ()
