"""mocha, tape and jest under the witness: ids, statuses, and that honest projects are believed."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.slow


def points(tap: str) -> list[str]:
    """Test points, totals and plan."""
    return re.findall(r"^(?:ok|not ok|#|1\.\.).*$", tap, re.MULTILINE)


MOCHA = """
const assert = require('assert')
describe('A#x', function () {
  let tries = 0
  it('passes', () => {})
  it('fails', () => { throw new Error('bad') })
  it.skip('is skipped', () => {})
  it('is to be done')
  it('skips itself', function () { this.skip() })
  it('with a callback', (done) => setTimeout(done, 5))
  it('comes late', function (done) { this.timeout(10) })
  it('passes again', function () { this.retries(1); if (tries++ === 0) throw new Error('first') })
  it('is done twice', (done) => { done(); setTimeout(done, 1) })
  it('waits', (done) => setTimeout(done, 20))
  describe('behind a hook', () => { before(() => { throw new Error('hook') }); it('never runs', () => {}) })
})
"""
MOCHA_STATUSES = {
    "A#x passes": "passed",
    "A#x fails": "failed",
    "A#x is skipped": "skipped",
    "A#x is to be done": "skipped",
    "A#x skips itself": "skipped",
    "A#x with a callback": "passed",
    "A#x comes late": "failed",
    "A#x passes again": "passed",
    "A#x is done twice": "failed",
    "A#x waits": "passed",
    'A#x behind a hook "before all" hook for "never runs"': "failed",
}


def test_mocha_ids_and_statuses(framework_bench: Any) -> None:
    framework_bench.write({"test/a.js": MOCHA})
    outcome = framework_bench.run("node_modules/.bin/mocha --reporter tap test/a.js")
    assert outcome.statuses == MOCHA_STATUSES
    assert outcome.report.problems == ()
    assert outcome.status == 4
    assert outcome.report.labels["A#x passes"] == "Ax passes"
    assert "parsimony" not in outcome.output
    plain = framework_bench.plain("node_modules/.bin/mocha --reporter tap test/a.js")
    assert points(outcome.output) == points(plain), "the canaries must not show"


def test_mocha_in_parallel(framework_bench: Any) -> None:
    other = "describe('B', () => { it('works', () => {}) })"
    framework_bench.write({"test/a.js": MOCHA, "test/b.js": other})
    outcome = framework_bench.run("node_modules/.bin/mocha --parallel --jobs 2 test/*.js")
    assert outcome.statuses == {**MOCHA_STATUSES, "B works": "passed"}
    assert outcome.report.problems == ()


HOOKS = """
beforeEach(function () { if (!/^t/.test(this.currentTest.title)) throw new Error('unknown ' + this.currentTest.title) })
afterEach(function () { if (this.currentTest.state !== 'passed') throw new Error('not passed') })
describe('H', () => { it('t1', () => {}); it('t2', () => {}) })
"""
HONEST_MOCHA = {
    "hooks that look at every test": (HOOKS, "", ("H t1", "H t2")),
    "an after hook that ends the process": (HOOKS + "after(() => process.exit(0))", "", ("H t1", "H t2")),
    "only": ("describe('O', () => { it.only('one', () => {}); it('two', () => { throw 1 }) })", "", ("O one",)),
    "a selection": ("describe('G', () => { it('one', () => {}); it('two', () => { throw 1 }) })", "-g one", ("G one",)),
    "an inverted selection": (
        "describe('G', () => { it('one', () => {}); it('two', () => { throw 1 }) })",
        "-g two -i",
        ("G one",),
    ),
    "another interface": ("suite('S', () => { test('one', () => {}) })", "-u tdd", ("S one",)),
    "options for node": ("it('one', () => {})", "--expose-gc", ("one",)),
    "asynchronous only": ("it('one', async () => {})", "--async-only --check-leaks", ("one",)),
    "stubs": (
        "const s = require('assert'), { ok } = s; it('one', () => {}); it('two', () => { s.ok = ok })",
        "",
        ("one", "two"),
    ),
}


@pytest.mark.parametrize("name", HONEST_MOCHA)
def test_honest_mocha_is_believed(framework_bench: Any, name: Any) -> None:
    source, options, ids = HONEST_MOCHA[name]
    framework_bench.write({"test/a.js": source})
    outcome = framework_bench.run(f"npx mocha {options} test/a.js", candidate=["index.js"])
    assert outcome.status == 0, outcome.output
    assert outcome.convinces(*ids), outcome.report


def test_mocha_in_modules_and_through_npm(framework_bench: Any) -> None:
    framework_bench.write(
        {
            "test/a.mjs": "import assert from 'node:assert'; describe('E', () => { it('one', () => assert.ok(1)) })",
            "package.json": '{"name": "x", "scripts": {"test": "mocha test/a.mjs"}}',
        }
    )
    outcome = framework_bench.run("npm test --silent")
    assert outcome.convinces("E one"), outcome.output


TAPE = """
const test = require('tape')
test('one', (t) => { t.ok(1); t.comment('a comment'); t.equal(1, 1, 'named # TODO not'); t.end() })
test('outer', (t) => { t.plan(2); t.ok(1); t.test('inner', (s) => { s.equal(1, 2); s.end() }) })
test('plan not kept', (t) => { t.plan(2); t.ok(1); t.end() })
test('to be done', { todo: true }, (t) => { t.ok(0); t.end() })
test('empty', (t) => t.end())
test('  spaced   out ', (t) => { t.pass(); t.end() })
test('promise', async (t) => { t.ok(1) })
test('rejected', async (t) => { throw new Error('x') })
"""


def test_tape_ids_and_statuses(framework_bench: Any) -> None:
    framework_bench.write({"test/a.js": TAPE})
    outcome = framework_bench.run("node_modules/.bin/tape test/a.js")
    assert outcome.statuses == {
        "one": "passed",
        "outer": "passed",
        "inner": "failed",
        "plan not kept": "failed",
        "to be done": "xfail",
        "empty": "skipped",
        "  spaced   out ": "passed",
        "promise": "passed",
        "rejected": "failed",
    }
    assert outcome.report.problems == ()
    assert outcome.report.labels == {"  spaced   out ": "spaced out"}


@pytest.mark.parametrize("command", ["node test/a.js", "node_modules/.bin/tape test/a.js"])
def test_honest_tape_is_believed(framework_bench: Any, command: Any) -> None:
    source = (
        "const test = require('tape'); test('one', (t) => { t.ok(1); t.end() }); test.onFinish(() => process.exit(0))"
    )
    framework_bench.write({"test/a.js": source})
    assert framework_bench.run(command).convinces("one")


def test_a_tape_test_that_does_not_end(framework_bench: Any) -> None:
    framework_bench.write({"test/a.js": "require('tape')('one', (t) => { t.ok(1) })"})
    outcome = framework_bench.run("node_modules/.bin/tape test/a.js")
    assert outcome.statuses == {"one": "error"}
    assert not outcome.report.tampered


JEST = """
describe('outer', () => {
  beforeEach(() => {})
  test('adds # one', () => { expect(1 + 1).toBe(2) })
  it.skip('is skipped', () => {})
  it.todo('is to be done')
  it('fails', () => { expect(1).toBe(2) })
  test.each([[1, 2], [3, 4]])('each %i %i', (a, b) => { expect(b - a).toBe(1) })
})
test('at the top', async () => { await null })
"""
JEST_STATUSES = {
    "outer adds # one": "passed",
    "outer is skipped": "skipped",
    "outer is to be done": "skipped",
    "outer fails": "failed",
    "outer each 1 2": "passed",
    "outer each 3 4": "passed",
    "at the top": "passed",
}


@pytest.mark.parametrize("options", ["--runInBand", "--maxWorkers=2"])
def test_jest_ids_and_statuses(framework_bench: Any, options: Any) -> None:
    framework_bench.write(
        {
            "a.test.js": JEST,
            "b.test.js": "test('in b', () => {})",
            "c.test.js": "require('./nothing')",
            "package.json": '{"name": "x", "jest": {}}',
        }
    )
    outcome = framework_bench.run(f"node_modules/.bin/jest --ci {options}")
    assert outcome.statuses == {**JEST_STATUSES, "in b": "passed", "c.test.js": "error"}
    assert outcome.report.problems == ()
    assert "Tests:       1 failed, 1 skipped, 1 todo, 5 passed, 8 total" in outcome.output


def test_honest_jest_is_believed(framework_bench: Any) -> None:
    framework_bench.write(
        {
            "a.test.js": "test('one', () => { expect(1).toBe(1) }); test('two', () => { throw 1 })",
            "setup.js": "const { expect: e } = global; global.expect = Object.assign((...w) => e(...w), e)",
            "package.json": '{"name": "x", "jest": {"setupFilesAfterEnv": ["./setup.js"], "restoreMocks": true}}',
        }
    )
    outcome = framework_bench.run("node_modules/.bin/jest --ci -t one")
    assert outcome.status == 0, outcome.output
    assert outcome.convinces("one"), outcome.report
