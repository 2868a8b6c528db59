'use strict';
/*
 * The process tree of the test command, by /proc: found again after double forks and new sessions, measured, killed.
 *
 * Node cannot become the reaper of orphans, so a process counts as part of the tree when, at any look, it was a child of
 * the tree, in one of its sessions or process groups, or carries the channel's variable in the environment it was
 * started with. What escapes all of these between two looks is ended with the sandbox.
 */

const fs = require('fs');

const CLOCK_TICKS = 100; // USER_HZ, the same on every Linux

/** Fields of /proc/PID/stat; null when the process is gone. */
function stat(pid) {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { pid: Number(pid), state: fields[0], parent: +fields[1], group: +fields[2], session: +fields[3], started: fields[19] };
  } catch {
    return null;
  }
}

function processes() {
  const found = [];
  for (const name of fs.readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const entry = stat(name);
    if (entry !== null) found.push(entry);
  }
  return found;
}

/** Peak resident memory of a process so far, in bytes; 0 when it is gone. */
function peakMemory(pid) {
  try {
    const match = /^VmHWM:\s*(\d+) kB/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'latin1'));
    return match ? Number(match[1]) * 1024 : 0;
  } catch {
    return 0;
  }
}

/** Processor seconds of all children that have ended, and theirs; null when /proc does not tell. */
function childrenCpuSeconds() {
  try {
    const text = fs.readFileSync('/proc/self/stat', 'latin1');
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[13]) + Number(fields[14])) / CLOCK_TICKS;
  } catch {
    return null;
  }
}

/**
 * Follows the tree below the process `root`, a leader of its own session.
 *
 * @param {number} root
 * @param {string} mark text that the environment of the tree's processes begins with or contains
 */
function createTree(root, mark) {
  const members = new Map(); // pid -> start time: a number that is used again is another process
  const strangers = new Map();
  let peak = 0;

  const isMember = (entry) => entry !== undefined && entry !== null && members.get(entry.pid) === entry.started;

  function isMarked(pid) {
    try {
      return fs.readFileSync(`/proc/${pid}/environ`, 'latin1').includes(mark);
    } catch {
      return false;
    }
  }

  function belongs(entry, leaders) {
    if (entry.pid === root || members.has(entry.parent) || leaders.has(entry.session) || leaders.has(entry.group)) return true;
    if (strangers.get(entry.pid) === entry.started) return false;
    if (isMarked(entry.pid)) return true;
    strangers.set(entry.pid, entry.started); // its parent chain is looked at again, its environment is not
    return false;
  }

  /** One look: takes new members in and gives those that live. */
  function look() {
    const all = processes();
    const known = new Map(all.map((entry) => [entry.pid, entry]));
    for (const pid of [...members.keys()]) {
      if (!isMember(known.get(pid))) members.delete(pid);
    }
    const leaders = new Set([root, ...members.keys()]);
    for (let before = -1; before !== members.size;) {
      before = members.size;
      for (const entry of all) {
        if (entry.pid === process.pid || isMember(entry) || !belongs(entry, leaders)) continue;
        members.set(entry.pid, entry.started);
        leaders.add(entry.pid);
      }
    }
    return all.filter((entry) => isMember(entry) && entry.state !== 'Z').map((entry) => entry.pid);
  }

  return {
    look,
    /** Looks at the memory of the members that are known. */
    measure() {
      for (const pid of members.keys()) peak = Math.max(peak, peakMemory(pid));
    },
    /** Kills until a look finds nobody; gives how many were killed. */
    kill() {
      const killed = new Set();
      for (let round = 0; round < 200; round++) {
        const alive = look();
        if (alive.length === 0) break;
        for (const pid of alive) {
          killed.add(pid);
          try {
            process.kill(pid, 'SIGKILL');
          } catch {
            // It ended by itself.
          }
        }
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
      }
      return killed.size;
    },
    peakMemoryBytes: () => peak || null,
  };
}

module.exports = { createTree, childrenCpuSeconds };
