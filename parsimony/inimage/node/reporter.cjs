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
  let connected = openSession(path); // not used by any run so far
  let early = null; // declared before its run begins
  let current = null; // the latest declared one
  const earlyFindings = []; // from when there was no session to tell: told to the next one

  const watch = createWatch((name, file) => {
    if (current === null || current.isOver()) earlyFindings[earlyFindings.length] = { name, file };
    else current.finding('replaced', name, file);
  });
  const assert = require('assert');
  watch.functions('assert', assert);
  watch.functions('assert.strict', assert.strict);

  let release = null; // undoes what node:test needs and other frameworks do not

  function declare(framework, version) {
    if (framework !== 'node-test' && release !== null) release();
    const session = connected || openSession(path);
    connected = null;
    session.declare(framework, version);
    current = session;
    for (let i = 0; i < earlyFindings.length; i++) session.finding('replaced', earlyFindings[i].name, earlyFindings[i].file);
    earlyFindings.length = 0;
    session.loaded({ when: 'start', arguments: process.execArgv, preloaded: process._preload_modules || [] });
    return session;
  }

  /** Runs `hook`. A fault of ours must not change the tests; what it keeps from being reported is missing. */
  function guard(hook) {
    try {
      return hook();
    } catch (error) {
      if (current !== null) current.trouble(`${error && error.stack}`);
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

    /** A session for one run of a framework. */
    begin(framework, version) {
      const session = early || declare(framework, version);
      early = null;
      return session;
    },

    /**
     * Declares the session of a run that is known to come, before any file of the project is loaded: should the
     * process end early, an unfinished session is left. The next `begin` gets it.
     */
    announce(framework, version) {
      if (early === null && current === null) early = declare(framework, version);
    },
  });
}

module.exports = Object.freeze({ createReporter });
