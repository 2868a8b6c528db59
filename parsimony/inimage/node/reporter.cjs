'use strict';
/* What the hooks of all frameworks share: sessions, the watch over replaced functions, the environment. */

const { openSession } = require('./session.cjs');
const { createWatch } = require('./watch.cjs');

const { apply } = require('./primordials.cjs');

const { on } = require('events').prototype;
const LOADER = require('path').join(__dirname, 'preload.cjs');
const SWITCH = /(?:^|\s)--require[=\s]\s*("(?:\\.|[^"\\])*"|[^\s"]+)/g;

/** NODE_OPTIONS without the switch that loaded us; undefined when nothing else is in it. */
function optionsWithoutUs(options) {
  const unquote = (word) => (word[0] === '"' ? word.slice(1, -1).replace(/\\(.)/g, '$1') : word);
  const rest = options.replace(SWITCH, (all, word) => (unquote(word) === LOADER ? '' : all)).trim();
  return rest === '' ? undefined : rest;
}

/** Takes our variables away: what the tests start is not part of the report. */
function leaveEnvironment() {
  delete process.env.PARSIMONY_CHANNEL;
  if (process.env.NODE_OPTIONS === undefined) return;
  const rest = optionsWithoutUs(process.env.NODE_OPTIONS);
  if (rest === undefined) delete process.env.NODE_OPTIONS;
  else process.env.NODE_OPTIONS = rest;
}

/**
 * Connects to the witness.
 *
 * @param {string} path of its socket
 */
function createReporter(path) {
  const session = openSession(path);
  let declared = false;
  const findings = []; // from before the session began, or between two of its runs: told when the next one begins

  const watch = createWatch((name, file) => {
    if (!declared || session.isOver()) findings[findings.length] = { name, file };
    else session.finding('replaced', name, file);
  });
  const assert = require('assert');
  watch.functions('assert', assert);
  watch.functions('assert.strict', assert.strict);

  let release = null; // undoes what node:test needs and other frameworks do not

  function declare(framework, version) {
    if (declared) return;
    declared = true;
    if (framework !== 'node-test' && release !== null) release();
    session.declare(framework, version);
    session.loaded({ when: 'start', arguments: process.execArgv, preloaded: process._preload_modules || [] });
  }

  /** Runs `hook`. A fault of ours must not change the tests; what it keeps from being reported is missing. */
  function guard(hook) {
    try {
      return hook();
    } catch (error) {
      if (declared) session.trouble(`${error && error.stack}`);
      return undefined;
    }
  }

  const atExit = [];
  apply(on, process, ['exit', (code) => {
    for (let i = 0; i < atExit.length; i++) guard(() => atExit[i](code));
  }]);

  return Object.freeze({
    watch,
    leaveEnvironment,
    guard,
    /** What to undo when another framework than node:test begins. */
    undoForOthers(undo) {
      release = undo;
    },
    /** Calls `hook` with the exit code when the process ends; one listener serves all. */
    atExit(hook) {
      atExit[atExit.length] = hook;
    },

    /** The session, for one run of a framework. A process can make several, one after the other. */
    begin(framework, version) {
      declare(framework, version);
      for (let i = 0; i < findings.length; i++) session.finding('replaced', findings[i].name, findings[i].file);
      findings.length = 0;
      return session;
    },

    /**
     * Declares the session when a run is known to come, before any file of the project is loaded: should the process
     * end early, an unfinished session is left.
     */
    announce: declare,
  });
}

module.exports = Object.freeze({ createReporter });
