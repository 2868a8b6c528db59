'use strict';
/*
 * tape (2 and newer). tape counts assertions; here a test is what the log shows under its name: it passes when it ended
 * and all its assertions passed. One that ended without an assertion shows nothing: skipped.
 */

const { EventEmitter } = require('events');
const { apply, createMap, endsWith, mapped, now, seconds, trim } = require('./primordials.cjs');

const { on, prependListener } = EventEmitter.prototype;
const later = queueMicrotask;

/** How tape's output writes a name, when that differs. */
function label(name) {
  const shown = mapped(name, (c, before) => (trim(c) !== '' ? c : endsWith(before, ' ') ? '' : ' '));
  return shown === name ? undefined : shown;
}

/** The status of a test by its assertions: those that passed, failed, and failed as expected. */
function statusOf(entry) {
  if (entry.failed) return 'failed';
  if (entry.expected) return 'xfail';
  return entry.passed && !entry.skip ? 'passed' : 'skipped';
}

function count(entry, result) {
  if (result === null || typeof result !== 'object') return; // a comment
  if (result.skip) return;
  if (result.ok) entry.passed = true;
  else if (result.todo) entry.expected = true;
  else entry.failed = true;
}

/** Runs the canaries at once on results of their own, which nobody prints and no exit status comes from. */
function runCanaries(Test, Results, session) {
  function run(kind, body) {
    let ok = 0;
    let notOk = 0;
    const results = new Results();
    const test = new Test(session.names[kind], body);
    apply(on, test, ['result', (result) => {
      if (result.ok) ok += 1;
      else notOk += 1;
    }]);
    results.push(test);
    test.run();
    const wanted = kind === 'pass';
    const right = test.ended && ok === (wanted ? 6 : 0) && notOk === (wanted ? 0 : 6) &&
      results.pass === ok && results.fail === notOk;
    session.canary(kind, test.name, right === wanted ? 'passed' : 'failed');
  }
  run('pass', (t) => {
    t.ok(1);
    t.equal(1, 1);
    t.same([1], [1]);
    t.deepEqual({ a: [1] }, { a: [1] });
    t.throws(() => { throw new Error('canary'); });
    t.doesNotThrow(() => {});
    t.end();
  });
  run('fail', (t) => {
    t.ok(0);
    t.equal(1, 2);
    t.same([1], [2]);
    t.deepEqual({ a: [1] }, { a: [2] });
    t.throws(() => {});
    t.fail('this test has to fail');
    t.end();
  });
}

/** Follows the tests of one process. */
function createRecorder(reporter) {
  const { watch } = reporter;
  const open = createMap(); // test -> entry
  let ended = []; // tests whose end was announced: their plan is checked after that
  let session = null;

  function close(test, status) {
    const entry = open.get(test);
    if (entry === undefined) return;
    open.delete(test);
    entry.closed = true;
    entry.session.result(entry.id, status || statusOf(entry), seconds(entry.since));
    watch.check();
  }

  function settle() {
    const tests = ended;
    ended = [];
    for (let i = 0; i < tests.length; i++) close(tests[i]);
  }

  reporter.atExit(() => {
    settle();
    const left = open.keys();
    for (let i = 0; i < left.length; i++) close(left[i], 'error');
  });

  return {
    settle,

    begin(version) {
      if (session !== null) return;
      session = reporter.begin('tape', version);
      reporter.leaveEnvironment();
    },

    observe(test) {
      settle();
      if (session === null) return;
      const entry = { id: test.name, session, since: now(), skip: Boolean(test._skip) };
      open.set(test, entry);
      session.start(entry.id, label(entry.id));
      apply(on, test, ['result', (result) => {
        count(entry, result);
        if (entry.closed && entry.failed) entry.session.single(entry.id, 'failed');
      }]);
      // Before the listener of its parent, which runs the next one on the spot.
      apply(prependListener, test, ['end', () => {
        ended[ended.length] = test;
        later(() => reporter.guard(settle));
      }]);
    },

    end(Test, Results) {
      settle();
      watch.check();
      runCanaries(Test, Results, session);
      session.finish();
      session = null;
    },
  };
}

/** Hooks by module, see preload.cjs. */
function hooks(reporter) {
  const recorder = createRecorder(reporter);
  const canaries = { running: false };
  let Test = null;
  let version = '';
  let running = 0;

  function patchTest(module, found) {
    Test = module.exports;
    version = found;
    const { run } = Test.prototype;
    Test.prototype.run = function () {
      if (!canaries.running) reporter.guard(() => recorder.observe(this));
      return apply(run, this, arguments);
    };
    reporter.watch.functions('tape.Test.prototype', Test.prototype);
    if (endsWith(`${process.argv[1]}`, '/tape')) reporter.announce('tape', version);
  }

  function patchResults(module) {
    const Results = module.exports;
    const { createStream } = Results.prototype;
    Results.prototype.createStream = function () {
      reporter.guard(() => {
        recorder.begin(version);
        running += 1;
        // Before those of the project: test.onFinish(() => process.exit()) is common.
        apply(prependListener, this, ['done', () => reporter.guard(() => {
          running -= 1;
          if (running > 0) return;
          canaries.running = true;
          recorder.end(Test, Results);
          canaries.running = false;
        })]);
      });
      return apply(createStream, this, arguments);
    };
    reporter.watch.functions('tape.Results.prototype', Results.prototype);
  }

  return { name: 'tape', modules: { 'lib/test.js': patchTest, 'lib/results.js': patchResults } };
}

module.exports = { hooks };
