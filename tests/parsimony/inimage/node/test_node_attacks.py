"""Forgeries in JavaScript never end as a trusted success.

Each file in attacks/FRAMEWORK is code that a candidate might ship, added to an `index.js` that is wrong. Its first line
says its level (docs/limitations.md), and whether it has to be found out or just must not have any effect.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ATTACKS = Path(__file__).parent / "attacks"
WRONG = "exports.add = (a, b) => a - b\nexports.keep = (a) => a\n"
RIGHT = "exports.add = (a, b) => a + b\nexports.keep = (a) => a\n"

NODE_TEST = """
const { add, keep } = require('..')
const test = require('node:test')
const assert = require('assert')
test('adds', () => { assert.strictEqual(add(1, 2), 3) })
test('keeps', () => { assert.strictEqual(keep(1), 1) })
"""


def attacks_on(framework: str) -> list[Path]:
    """The files, sorted."""
    found = sorted((ATTACKS / framework).glob("*.js"))
    assert found
    return found


def has_to_be_found(text: str) -> bool:
    """What the first line says."""
    first = text.partition("\n")[0]
    assert first.endswith(("found", "without effect"))
    return first.endswith("found")


@pytest.mark.parametrize("path", attacks_on("node-test"), ids=lambda path: path.stem)
def test_attacks_on_node_test(bench: Any, path: Any) -> None:
    text = path.read_text()
    bench.write({"index.js": WRONG + text, "test/a.test.js": NODE_TEST})
    outcome = bench.run("node --test test/a.test.js", candidate=["index.js"], timeout=15)  # some hang
    assert not outcome.convinces("adds"), outcome.output
    if has_to_be_found(text):
        assert outcome.report.tampered, outcome.report


@pytest.mark.parametrize("name", ["exit_at_load", "one_assertion", "another_module_for_node_test"])
def test_attacks_on_a_file_that_is_run_alone(bench: Any, name: Any) -> None:
    text = (ATTACKS / "node-test" / f"{name}.js").read_text()
    bench.write({"index.js": WRONG + text, "test/a.test.js": NODE_TEST})
    outcome = bench.run("node test/a.test.js", candidate=["index.js"])
    assert not outcome.convinces("adds"), outcome.output


def test_the_right_code_is_believed(bench: Any) -> None:
    bench.write({"index.js": RIGHT, "test/a.test.js": NODE_TEST})
    outcome = bench.run("node --test test/a.test.js", candidate=["index.js"])
    assert outcome.convinces("adds", "keeps")
    assert not outcome.report.tampered


MOCHA = """
const { add, keep } = require('..')
const assert = require('assert')
describe('suite', () => {
  it('adds', () => { assert.strictEqual(add(1, 2), 3) })
  it('keeps', () => { assert.strictEqual(keep(1), 1) })
})
"""
TAPE = """
const { add, keep } = require('..')
const test = require('tape')
test('adds', (t) => { t.equal(add(1, 2), 3); t.end() })
test('keeps', (t) => { t.equal(keep(1), 1); t.end() })
"""
JEST = """
const { add, keep } = require('..')
const assert = require('assert')
test('adds', () => { expect(add(1, 2)).toBe(3) })
test('asserts', () => { assert.strictEqual(add(1, 2), 3) })
test('keeps', () => { expect(keep(1)).toBe(1) })
"""
FRAMEWORKS = {
    "mocha": (MOCHA, "node_modules/.bin/mocha --reporter tap test/a.js", ("suite adds", "suite keeps")),
    "tape": (TAPE, "node_modules/.bin/tape test/a.js", ("adds", "keeps")),
    "jest": (JEST, "node_modules/.bin/jest --ci --rootDir=. --testRegex test/a.js", ("adds", "asserts", "keeps")),
}
FRAMEWORK_ATTACKS = [(framework, path) for framework in FRAMEWORKS for path in attacks_on(framework)]


@pytest.mark.slow
@pytest.mark.parametrize(("framework", "path"), FRAMEWORK_ATTACKS, ids=lambda value: getattr(value, "stem", value))
def test_attacks_on_frameworks(framework_bench: Any, framework: Any, path: Any) -> None:
    source, command, ids = FRAMEWORKS[framework]
    text = path.read_text()
    framework_bench.write({"index.js": WRONG + text, "test/a.js": source, "package.json": "{}"})
    outcome = framework_bench.run(command, candidate=["index.js"])
    for test_id in ids[:-1]:
        assert not outcome.convinces(test_id), outcome.output
    if has_to_be_found(text):
        assert outcome.report.tampered, outcome.report


@pytest.mark.slow
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_right_code_is_believed_by_frameworks(framework_bench: Any, framework: Any) -> None:
    source, command, ids = FRAMEWORKS[framework]
    framework_bench.write({"index.js": RIGHT, "test/a.js": source, "package.json": "{}"})
    outcome = framework_bench.run(command, candidate=["index.js"])
    assert outcome.status == 0, outcome.output
    assert outcome.convinces(*ids), outcome.report
    assert set(outcome.statuses) == set(ids)


@pytest.mark.slow
def test_a_configuration_that_patches_the_runner(framework_bench: Any) -> None:
    patch = (ATTACKS / "mocha" / "fail_turned_around.js").read_text()
    framework_bench.write({"index.js": WRONG, "test/a.js": MOCHA, ".mocharc.js": patch})
    outcome = framework_bench.run(FRAMEWORKS["mocha"][1], candidate=["index.js", ".mocharc.js"])
    assert outcome.status == 0, "the forgery works on mocha itself"
    assert outcome.statuses["suite adds"] == "failed"
    assert outcome.report.tampered
