'use strict';
/*
 * A file of `node --test` without tests of node:test: the file itself is the test, and it passes when its process ends
 * with 0. Its id is its path, relative to the working directory.
 *
 * The canaries run once the event loop is dry, on node:test's own machinery but without its output. A script that ends
 * itself by process.exit() leaves no time for them, so it cannot be shown to pass. It is only said to be complete when
 * the call stands in the script itself, or when it failed: what a candidate ends early must not look finished.
 */

const { EventEmitter } = require('events');
const { relative } = require('path');
const { mustFail, mustPass } = require('./canary.cjs');
const { apply, defineProperty } = require('./primordials.cjs');

const { on } = EventEmitter.prototype;
const { captureStackTrace } = Error;
const exec = Function.prototype.call.bind(RegExp.prototype.exec);
const later = setImmediate;
const FRAME = /^ +at .*?\(?(?:file:\/\/)?(\/.*?):\d+:\d+\)?$/gm;

/** The file that called process.exit. */
function callerOf(exit) {
  const trace = {};
  captureStackTrace(trace, exit);
  FRAME.lastIndex = 0;
  const match = exec(FRAME, `${trace.stack}`);
  return match === null ? null : match[1];
}

/**
 * @param {object} reporter see reporter.cjs
 * @param {object} session declared
 * @param {(use: (nodeTest: object) => void) => void} atTop calls `use` with node:test, outside of any test
 */
function createScript(reporter, session, atTop) {
  const file = process.argv[1];
  const id = relative(process.cwd(), file);
  let hasTests = false;
  let canaries = 'none'; // none, running, done
  let natural = false; // the event loop ran dry
  let caller = null;

  const { exit } = process;
  process.exit = function () {
    if (caller === null) caller = callerOf(process.exit);
    return apply(exit, this, arguments);
  };

  function runCanaries() {
    canaries = 'running';
    const { names } = session;
    const waiting = () => { if (canaries === 'running') later(waiting); };
    waiting();
    atTop(({ test }) => {
      test(names.pass, { todo: true }, () => mustPass());
      test(names.fail, { todo: true }, () => mustFail());
    });
  }

  function onCanary(data, status) {
    const kind = data.name === session.names.pass ? 'pass' : 'fail';
    session.canary(kind, data.name, status);
    if (kind === 'fail') canaries = 'done';
  }

  apply(on, process, ['beforeExit', () => reporter.guard(() => {
    natural = true;
    if (!hasTests && canaries === 'none' && session.isEmpty()) runCanaries();
  })]);

  reporter.atExit((code) => {
    if (hasTests || !session.isEmpty()) return;
    if (code !== 0 || canaries === 'done') session.single(id, code === 0 ? 'passed' : 'failed');
    if (code !== 0 || natural || caller === file) session.finish(code);
  });

  return {
    /** Handlers for the stream of our own canaries, made silent; null when the stream is that of the file's tests. */
    take(stream) {
      if (canaries === 'none') {
        hasTests = true;
        return null;
      }
      defineProperty(stream, 'push', { value: () => true });
      return {
        'test:pass': (data) => onCanary(data, 'passed'),
        'test:fail': (data) => onCanary(data, 'failed'),
      };
    },
  };
}

module.exports = { createScript };
