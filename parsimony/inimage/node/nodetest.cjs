'use strict';
/*
 * node:test (Node.js 18 and newer; older ones have no events and stay silent).
 *
 * `node --test` runs each file in a process of its own, which writes events to its standard output: what the parent
 * gets, any printing code can forge. So the tests are followed where they run. The runner's stream of events announces
 * each of them by `emit`, which is caught on its way to EventEmitter: first for every readable stream, then, once the
 * runner's stream showed itself, on that stream alone.
 */

const { AsyncResource } = require('async_hooks');
const { EventEmitter } = require('events');
const { resolve } = require('path');
const { Readable } = require('stream');
const { mustFail, mustPass } = require('./canary.cjs');
const { createScript } = require('./nodescript.cjs');
const { apply, defineProperty, endsWith, hasOwn, joined, mapped, startsWith } = require('./primordials.cjs');

const later = setImmediate;
const { execArgv } = process;

const ESCAPES = { '\b': '\\b', '\f': '\\f', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\v': '\\v', '\\': '\\\\', '#': '\\#' };

/** How the TAP reporter writes a name, when that differs. */
function label(id) {
  const shown = mapped(id, (c) => (hasOwn(ESCAPES, c) ? ESCAPES[c] : c));
  return shown === id ? undefined : shown;
}

const option = (name) => execArgv.some((word) => word === name || startsWith(word, `${name}=`));

function statusOf(type, data) {
  if (data.skip !== undefined && data.skip !== false) return 'skipped';
  if (data.todo !== undefined && data.todo !== false) return type === 'test:fail' ? 'xfail' : 'xpass';
  return type === 'test:fail' ? 'failed' : 'passed';
}

/**
 * Follows one stream of events.
 *
 * @param {object} reporter see reporter.cjs
 * @param {() => object} getSession the session, declared when the first test shows itself
 * @param {(use: (nodeTest: object) => void) => void} atTop calls `use` with node:test, outside of any test
 */
function createRecorder(reporter, getSession, atTop) {
  const path = []; // names of the tests around the current one, by nesting
  let asked = 0; // tests at the top that were created, and that were reported
  let reported = 0;
  let lastName = '';
  let canaryState = 'none'; // none, planned, running; done when both have been reported
  let finished = false;

  function kindOf(name) {
    const { names } = getSession();
    return endsWith(name, names.pass) ? 'pass' : endsWith(name, names.fail) ? 'fail' : undefined;
  }

  /** The id of a test; its own name is the last of its path. */
  function idOf(data) {
    path[data.nesting] = data.name;
    path.length = data.nesting + 1;
    return joined(path, path.length, ' > ');
  }

  /** Starts the canaries. A selection by name has to take them too: they begin with the name of a test that it took. */
  function runCanaries() {
    canaryState = 'running';
    const prefix = option('--test-name-pattern') ? `${lastName} ` : '';
    const options = option('--test-only') ? { todo: true, only: true } : { todo: true };
    const { names } = getSession();
    let ended;
    atTop(({ test }) => {
      test(`${prefix}${names.pass}`, options, () => mustPass());
      ended = test(`${prefix}${names.fail}`, options, () => mustFail());
    });
    return ended;
  }

  /** Everything at the top is done for now; a test that comes later makes another round of canaries necessary. */
  function drained() {
    if (canaryState !== 'none' || asked === 0 || selects) return;
    canaryState = 'planned';
    const { mainModule } = process; // none when the file is an ECMAScript module
    // A script does not wait: an after() hook may end the process. A module may be awaiting its tests one by one.
    if ((mainModule !== undefined && mainModule.loaded) || option('--test-force-exit')) runCanaries();
    else {
      later(() => reporter.guard(() => {
        if (asked === reported) runCanaries();
        else canaryState = 'none';
      }));
    }
  }

  // Tests that a selection leaves out are created and (since Node.js 22) never reported: the runner has to say itself
  // when all is done.
  const selects = option('--test-name-pattern') || option('--test-skip-pattern') || option('--test-only');
  if (selects) atTop(({ after }) => after(() => reporter.guard(() => (lastName === '' ? undefined : runCanaries()))));

  function settle(type, data) {
    const id = idOf(data);
    const session = getSession();
    const kind = data.nesting === 0 ? kindOf(data.name) : undefined;
    if (data.nesting === 0) reported += 1;
    if (kind !== undefined) {
      session.canary(kind, id, type === 'test:pass' ? 'passed' : 'failed');
      if (kind === 'fail') canaryState = 'done';
      return;
    }
    const status = statusOf(type, data);
    if (data.nesting === 0 && status !== 'skipped') lastName = data.name;
    const milliseconds = data.details ? data.details.duration_ms : undefined;
    session.result(id, status, milliseconds === undefined ? undefined : milliseconds / 1000);
    reporter.watch.check();
    if (asked === reported) drained();
  }

  function finish() {
    if (finished) return;
    finished = true;
    reporter.watch.check();
    getSession().finish();
  }

  // An after() hook that ends the process comes before the runner's own last word.
  reporter.atExit(() => {
    if (canaryState === 'done' && (selects || asked === reported)) finish();
  });

  return {
    'test:enqueue'(data) {
      if (data.nesting !== 0) return;
      asked += 1;
      if (kindOf(data.name) === undefined) canaryState = 'none';
    },
    'test:start'(data) {
      const id = idOf(data);
      if (data.nesting !== 0 || kindOf(data.name) === undefined) getSession().start(id, label(id));
    },
    'test:pass': (data) => settle('test:pass', data),
    'test:fail': (data) => settle('test:fail', data),
    'test:plan'(data) {
      if (data.nesting !== 0) return;
      finish();
    },
  };
}

/** The process that starts the files of a run sees tests called like files, at the start of these files. */
const isFile = (data) => data.line === 1 && data.column === 1 && data.file === resolve(data.name);

/**
 * Calls `take` with the runner's stream of events, before its first event is out. Node.js 22 has a second stream, where
 * tests go that a selection leaves out; the search ends with the first test that starts.
 *
 * @param {(stream: object) => Record<string, (data: object) => void>} take gives the handlers of a stream's events
 * @returns {() => void} ends the search
 */
function catchStream(take) {
  const inherited = Readable.prototype.emit;
  const { emit: plain } = EventEmitter.prototype;

  function release() {
    if (Readable.prototype.emit === emit) delete Readable.prototype.emit;
  }

  /** The stream's own `emit`: nobody's change to a prototype comes between. */
  function own(handlers) {
    return function (type, data) {
      if (type === 'test:start') release();
      if (hasOwn(handlers, type)) handlers[type](data);
      return apply(plain, this, arguments);
    };
  }

  function emit(type, data) {
    const first = typeof type === 'string' && startsWith(type, 'test:') && this.constructor.name === 'TestsStream';
    if (!first || !data || typeof data.name !== 'string') return apply(inherited, this, arguments);
    if (isFile(data)) {
      release();
      return apply(inherited, this, arguments);
    }
    defineProperty(this, 'emit', { value: own(take(this)) });
    return this.emit(type, data);
  }
  defineProperty(Readable.prototype, 'emit', { value: emit, configurable: true, writable: true });
  return release;
}

/** Follows node:test in this process, and a file of `node --test` as a whole when it uses no test framework. */
function install(reporter) {
  const top = new AsyncResource('parsimony'); // made outside of any test, so tests made inside it are at the top
  const atTop = (use) => top.runInAsyncScope(() => use(require('node:test')));
  const isChild = process.env.NODE_TEST_CONTEXT !== undefined;
  let session = null;

  function getSession() {
    if (session === null) {
      session = reporter.begin('node-test', process.version);
      reporter.leaveEnvironment();
    }
    return session;
  }

  const script = isChild ? createScript(reporter, getSession(), atTop) : null;
  let recorder = null;
  const release = catchStream((stream) => {
    let handlers = script === null ? null : script.take(stream);
    if (handlers === null) {
      if (recorder === null) recorder = createRecorder(reporter, getSession, atTop);
      handlers = recorder;
    }
    const guarded = {};
    for (const type of Object.keys(handlers)) guarded[type] = (data) => reporter.guard(() => handlers[type](data));
    return guarded;
  });
  reporter.undoForOthers(release);
}

module.exports = { install };
