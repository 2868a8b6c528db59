'use strict';
/*
 * Bodies of the two canaries. They use `assert` as a test file would get it at that moment, under all of its names: if
 * any of its functions has been made to pass what it must not, the canary that must fail passes.
 */

const NAMES = ['assert', 'node:assert', 'assert/strict', 'node:assert/strict'];

// With messages of their own: without, some of them read and parse this file to make one.
const MUST_THROW = [
  (a) => a(false, 'm'),
  (a) => a.ok(0, 'm'),
  (a) => a.equal(1, 2, 'm'),
  (a) => a.notEqual(1, 1, 'm'),
  (a) => a.strictEqual(1, '1', 'm'),
  (a) => a.notStrictEqual(1, 1, 'm'),
  (a) => a.deepEqual({ a: [1] }, { a: [2] }, 'm'),
  (a) => a.notDeepEqual({ a: [1] }, { a: [1] }, 'm'),
  (a) => a.deepStrictEqual({ a: [1] }, { a: ['1'] }, 'm'),
  (a) => a.notDeepStrictEqual({ a: [1] }, { a: [1] }, 'm'),
  (a) => a.throws(() => {}, 'm'),
  (a) => a.doesNotThrow(() => { throw new Error('canary'); }, 'm'),
  (a) => a.match('a', /b/, 'm'),
  (a) => a.ifError(new Error('canary')),
  (a) => a.fail('m'),
];

/** What `require` gives for each of the names; this Node.js may not have all of them. */
function assertions() {
  const found = [];
  for (let i = 0; i < NAMES.length; i++) {
    try {
      found[found.length] = require(NAMES[i]);
    } catch {
      continue;
    }
  }
  return found;
}

/** Whether `check` refuses what it is made to look at. */
function refuses(check, assert) {
  try {
    check(assert);
    return false;
  } catch {
    return true;
  }
}

/** Fails, unless an assertion lets something through. */
function mustFail() {
  const found = assertions();
  for (let i = 0; i < found.length; i++) {
    for (let j = 0; j < MUST_THROW.length; j++) {
      if (!refuses(MUST_THROW[j], found[i])) return;
    }
  }
  throw new Error('this test has to fail');
}

/** Passes, unless an assertion fails what holds. */
function mustPass() {
  const found = assertions();
  for (let i = 0; i < found.length; i++) {
    const assert = found[i];
    assert(true);
    assert.ok(1);
    assert.equal(1, 1);
    assert.strictEqual('a', 'a');
    assert.deepEqual({ a: [1] }, { a: [1] });
    assert.deepStrictEqual({ a: [1] }, { a: [1] });
    assert.throws(() => { throw new Error('canary'); });
  }
}

module.exports = Object.freeze({ mustFail, mustPass });
