'use strict';
/*
 * What a framework's hooks say, as frames of one session. A session is one run of one framework; a process that runs
 * several (jest's workers, one per test file) opens a session for each.
 */

const { connect } = require('./channel.cjs');

const { freeze } = Object;
const { execPath, pid, version: runtime } = process;

/**
 * Opens a session. Nothing is sent before `declare`: a process that runs no framework says nothing.
 *
 * @param {string} path of the witness's socket
 */
function openSession(path) {
  const channel = connect(path);
  const canaries = { pass: null, fail: null };
  let declared = false;
  let started = 0;
  let finished = 0;
  let failed = false;

  /**
   * @param {string} id
   * @param {'passed'|'failed'|'error'|'skipped'|'xfail'|'xpass'} status
   * @param {{seconds?: number, label?: string}} [details] `label`: how the framework's own text writes this id, when
   *   that is not the same
   */
  function result(id, status, details) {
    finished += 1;
    if (status === 'failed' || status === 'error') failed = true;
    channel.send({ event: 'result', id, status, ...details });
  }

  function start(id) {
    started += 1;
    channel.send({ event: 'start', id });
  }

  return freeze({
    names: channel.canaries,
    start,
    result,
    /** No test has begun. */
    isEmpty: () => started === 0,

    declare(framework, version) {
      if (declared) return;
      declared = true;
      channel.send({ event: 'session', framework, version, runtime: `node ${runtime}`, executable: execPath, pid });
    },

    /** Sends a result that was already counted again, with the worse status. */
    correct(id, status) {
      if (status === 'failed' || status === 'error') failed = true;
      channel.send({ event: 'result', id, status });
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

    /** Says why the results cannot be trusted. `reason` is the same in every run of the same code. */
    problem(reason) {
      channel.send({ event: 'problem', reason });
    },

    note(reason) {
      channel.send({ event: 'note', reason });
    },

    /** @param {number} [exitStatus] that the framework is going to give; by default 1 when a test failed */
    finish(exitStatus) {
      for (const canary of [canaries.pass, canaries.fail]) {
        if (canary === null) continue;
        channel.send({ event: 'start', id: canary.id });
        channel.send({ event: 'result', id: canary.id, status: canary.status });
        started += 1;
        finished += 1;
      }
      canaries.pass = canaries.fail = null;
      channel.send({ event: 'finish', exit_status: exitStatus === undefined ? Number(failed) : exitStatus, started, finished });
    },
  });
}

module.exports = freeze({ openSession });
