'use strict';
/*
 * Bodies of the two canaries. They use `assert` as the tests find it at that moment: if any of its functions has been
 * made to pass what it must not, the canary that must fail passes.
 */

const assert = require('assert');

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

/** Fails, unless an assertion lets something through. */
function mustFail() {
  for (let i = 0; i < MUST_THROW.length; i++) {
    let thrown = false;
    try {
      MUST_THROW[i](assert);
    } catch {
      thrown = true;
    }
    if (!thrown) return;
  }
  throw new Error('this test has to fail');
}

/** Passes, unless an assertion fails what holds. */
function mustPass() {
  assert(true);
  assert.ok(1);
  assert.equal(1, 1);
  assert.strictEqual('a', 'a');
  assert.deepEqual({ a: [1] }, { a: [1] });
  assert.deepStrictEqual({ a: [1] }, { a: [1] });
  assert.throws(() => { throw new Error('canary'); });
}

module.exports = Object.freeze({ mustFail, mustPass });
