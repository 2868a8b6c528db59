'use strict';
/*
 * What a framework's hooks say, as frames of one session. A process has one session; where it runs several times (a
 * worker of jest, one file after the other), each run ends with canaries and a last word of its own.
 */

const { connect } = require('./channel.cjs');

const { freeze } = Object;
const { execPath, pid, version: runtime } = process;

/**
 * Opens the session. Nothing is sent before `declare`: a process that runs no framework says nothing.
 *
 * @param {string} path of the witness's socket
 */
function openSession(path) {
  const channel = connect(path);
  const canaries = { pass: null, fail: null };
  let started = 0;
  let finished = 0;
  let failed = false;
  let over = false;

  /** @param {string} id @param {string} [label] how the framework's own text writes this id, when that differs */
  function start(id, label) {
    over = false;
    started += 1;
    channel.send({ event: 'start', id, label });
  }

  /**
   * @param {string} id
   * @param {'passed'|'failed'|'error'|'skipped'|'xfail'|'xpass'} status
   * @param {number} [seconds]
   */
  function result(id, status, seconds) {
    finished += 1;
    if (status === 'failed' || status === 'error') failed = true;
    channel.send({ event: 'result', id, status, seconds });
  }

  /** A result without a start of its own, or a worse one of a test that was reported already. */
  function single(id, status, label) {
    start(id, label);
    result(id, status);
  }

  function tell(canary) {
    if (canary === null) return;
    start(canary.id);
    finished += 1;
    channel.send({ event: 'result', id: canary.id, status: canary.status });
  }

  return freeze({
    names: channel.canaries,
    start,
    result,
    single,

    /** The last word has been said: what comes after it would take it back. */
    isOver: () => over,

    /** No test has begun. */
    isEmpty: () => started === 0,

    declare(framework, version) {
      channel.send({ event: 'session', framework, version, runtime: `node ${runtime}`, executable: execPath, pid });
    },

    /**
     * Keeps what became of a canary until the end of the run. One that ever came out wrong stays wrong: for the one
     * that must fail, the reader's rule that the worst status counts would hide a later pass.
     *
     * @param {'pass'|'fail'} kind @param {string} id @param {'passed'|'failed'} status
     */
    canary(kind, id, status) {
      const right = kind === 'pass' ? 'passed' : 'failed';
      if (canaries[kind] === null || status !== right) canaries[kind] = { id, status };
    },

    loaded(details) {
      channel.send({ event: 'loaded', ...details });
    },

    /**
     * Something that is not as the image brought it. Whose doing it is, the reader decides: it knows the patch.
     *
     * @param {'replaced'|'contradiction'} what
     * @param {string} name
     * @param {string|null} file where it was done; null = not known
     */
    finding(what, name, file) {
      channel.send({ event: 'loaded', findings: [{ what, name, origins: file === null ? [] : [{ file, name, line: 0 }] }] });
    },

    trouble(message) {
      channel.send({ event: 'trouble', message });
    },

    /** @param {number} [exitStatus] that the framework is going to give; by default 1 when a test failed */
    finish(exitStatus) {
      tell(canaries.pass);
      tell(canaries.fail);
      canaries.pass = canaries.fail = null;
      over = true;
      channel.send({ event: 'finish', exit_status: exitStatus === undefined ? Number(failed) : exitStatus, started, finished });
    },
  });
}

module.exports = freeze({ openSession });
