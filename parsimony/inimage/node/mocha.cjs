'use strict';
/*
 * mocha (3 and newer). The status of a test is what its own run handed back to the runner; the runner's events have to
 * agree with it. So a runner whose `fail` was replaced cannot turn a failure around, and the attempt shows.
 *
 * With --parallel the tests run in worker processes: each has a session, in which each file is a run of its own.
 */

const { EventEmitter } = require('events');
const { mustFail, mustPass } = require('./canary.cjs');
const { apply, createMap, defineProperty, endsWith, hasOwn, mapped, now, seconds } = require('./primordials.cjs');

const { on, prependListener } = EventEmitter.prototype;

const GLOBALS = [
  'describe', 'context', 'it', 'specify', 'before', 'after', 'beforeEach', 'afterEach',
  'suite', 'test', 'setup', 'teardown', 'suiteSetup', 'suiteTeardown',
];

/** How mocha's TAP reporter writes a title, when that differs. */
function label(title) {
  const shown = mapped(title, (c) => (c === '\n' ? null : c === '#' ? '' : c));
  return shown === title ? undefined : shown;
}

/** A test as the test files make theirs: by the interface's global function, where there is one. */
function makeTest(root, title, body) {
  const make = global.it || global.test;
  const before = root.tests.length;
  if (typeof make === 'function') {
    try {
      make(title, body);
    } catch {
      // A function of the project's own; the plain way below serves.
    }
    const added = root.tests.splice(before);
    if (added.length === 1 && added[0].title === title) return added[0];
  }
  let sample = null;
  root.eachTest((test) => { sample = sample || test; });
  return new sample.constructor(title, body);
}

/** A suite with the two canaries. It has no parent, so that no hook of the project runs around them. */
function makeCanaries(root, names) {
  const suite = new root.constructor('parsimony', {}, false);
  if (typeof suite.retries === 'function') suite.retries(0);
  const tests = [
    makeTest(root, names.pass, async () => mustPass()),
    makeTest(root, names.fail, async () => mustFail()),
  ];
  for (const test of tests) suite.addTest(test);
  return { suite, tests };
}

/** Lets the canaries through a selection by title (--grep, --fgrep, --invert). */
function letThrough(runner, tests) {
  const selection = runner._grep;
  if (!selection || (selection === runner._defaultGrep && !runner._invert)) return;
  const titles = tests.map((test) => test.fullTitle());
  const lenient = Object.create(selection);
  lenient.test = (title) => (titles.includes(title) ? !runner._invert : selection.test(title));
  runner._grep = lenient;
}

/** Follows the tests of one runner. */
function createRecorder(runner, session, watch) {
  const start = (id) => session.start(id, label(id));
  const open = createMap(); // test -> { since, error }: what its own run handed back
  let failures = 0;

  function forEachOpen(use) {
    const tests = open.keys();
    for (let i = 0; i < tests.length; i++) use(tests[i]);
  }

  /** Wraps the run of one test, to hear its outcome before the runner does. */
  function listen(test) {
    const entry = { since: now(), error: null };
    open.set(test, entry);
    const run = test.run;
    defineProperty(test, 'run', {
      configurable: true,
      writable: true,
      value(done) {
        return apply(run, this, [function (error) {
          entry.error = error || null;
          return apply(done, this, arguments);
        }]);
      },
    });
  }

  function close(test, status) {
    const entry = open.get(test);
    const id = test.fullTitle();
    open.delete(test);
    if (status === 'failed') failures += 1;
    session.result(id, status, seconds(entry.since));
    watch.check();
  }

  return {
    test(test) {
      const id = test.fullTitle();
      const again = typeof test.currentRetry === 'function' && test.currentRetry() > 0;
      if (!again) start(id);
      else forEachOpen((other) => { if (other.fullTitle() === id) open.delete(other); }); // its last attempt
      listen(test);
    },
    pass(test) {
      const { error } = open.get(test);
      if (error !== null) session.finding('contradiction', test.fullTitle(), null);
      close(test, error === null ? 'passed' : 'failed');
    },
    pending(test) {
      if (!open.has(test)) this.test(test);
      close(test, 'skipped');
    },
    fail(runnable) {
      if (open.has(runnable)) {
        close(runnable, 'failed');
        return;
      }
      const id = runnable.fullTitle();
      failures += 1;
      session.single(id, 'failed', label(id)); // a hook, or a test that had been closed
    },
    end() {
      forEachOpen((test) => close(test, 'error')); // a hook failed between its start and its run
      watch.check();
      session.finish(failures > 255 ? 255 : failures);
    },
    isBetweenTests: () => open.keys().length === 0,
  };
}

/** Follows the canaries of one runner and hides them from everybody else, exit status included. */
function createCanaries(runner, session) {
  let suite = null;
  let tests = [];
  let ended = 0;
  return {
    begin() {
      if (runner.total === 0) return;
      ({ suite, tests } = makeCanaries(runner.suite, session.names));
      letThrough(runner, tests);
      runner.suite.suites.push(suite);
    },
    /** Both have run, so all tests before them have as well. */
    ended: () => ended === 2,
    owns: (subject) => suite !== null && (subject === suite || subject === tests[0] || subject === tests[1]),
    see(type, subject) {
      if (type === 'fail') runner.failures -= 1;
      if (type !== 'pass' && type !== 'fail') return;
      ended += 1;
      session.canary(subject === tests[0] ? 'pass' : 'fail', subject.fullTitle(), type === 'pass' ? 'passed' : 'failed');
    },
  };
}

function attach(runner, session, reporter) {
  const recorder = createRecorder(runner, session, reporter.watch);
  const canaries = createCanaries(runner, session);
  const original = runner.emit;
  let over = false;

  function emit(type, subject) {
    if (canaries.owns(subject)) {
      reporter.guard(() => canaries.see(type, subject));
      return true;
    }
    if (type === 'start') reporter.guard(() => canaries.begin());
    else if (typeof type === 'string' && hasOwn(recorder, type)) {
      if (type === 'end') over = true;
      if (over && runner.emit !== emit) session.finding('replaced', 'mocha.Runner.emit', null);
      reporter.guard(() => recorder[type](subject));
    }
    return apply(original, this, arguments);
  }
  runner.emit = emit;

  // An after() hook that ends the process comes before the end of the run.
  reporter.atExit(() => {
    if (!over && canaries.ended() && recorder.isBetweenTests()) recorder.end();
  });
}

/** Hooks by module, see preload.cjs. */
function hooks(reporter) {
  const { watch } = reporter;
  const announce = (module, version) => reporter.announce('mocha', version);
  const watched = (name) => (module) => watch.functions(`mocha.${name}.prototype`, module.exports.prototype);

  function runner(module, version) {
    const { prototype } = module.exports;
    const run = prototype.run;
    prototype.run = function () {
      reporter.guard(() => {
        attach(this, reporter.begin('mocha', version), reporter);
        reporter.leaveEnvironment();
      });
      return apply(run, this, arguments);
    };
    watch.functions('mocha.Runner.prototype', prototype);
  }

  function parallelRunner(module, version) {
    const { prototype } = module.exports;
    const run = prototype.run;
    prototype.run = function () {
      reporter.guard(() => {
        const session = reporter.begin('mocha', version);
        this.once('end', () => session.finish(this.failures > 255 ? 255 : this.failures));
      });
      return apply(run, this, arguments);
    };
  }

  /** Interfaces put their functions into the global scope anew for each test file. */
  function userInterface(module) {
    const original = module.exports;
    module.exports = function (suite) {
      apply(prependListener, suite, ['pre-require', () => watch.check()]);
      apply(original, this, arguments);
      apply(on, suite, ['pre-require', (context) => watch.functions('global', context, GLOBALS)]);
    };
    Object.assign(module.exports, original);
  }

  return {
    name: 'mocha',
    modules: {
      'lib/cli/cli.js': announce,
      'lib/mocha.js': (module, version) => {
        if (endsWith(`${process.argv[1]}`, '/_mocha')) announce(module, version);
      },
      'lib/runner.js': runner,
      'lib/nodejs/parallel-buffered-runner.js': parallelRunner,
      'lib/runnable.js': watched('Runnable'),
      'lib/test.js': watched('Test'),
      'lib/suite.js': watched('Suite'),
      'lib/interfaces/bdd.js': userInterface,
      'lib/interfaces/tdd.js': userInterface,
      'lib/interfaces/qunit.js': userInterface,
    },
  };
}

module.exports = { hooks };
