'use strict';
/*
 * Which changed lines of a task's own fix the tests execute, and under which tests, by V8's own block coverage. Required
 * into every process of Node.js 10 and later, before the reporters of the grading, and appends to the file AUDIT_HITS:
 *
 *     began            a test of the gates began
 *     lines N A,B,C    file N was loaded as it is written; these of its lines hold code
 *     hit N LINE WHO   the line was executed: WHO is `gate` (while a test of the gates ran), `other`, or `load` (before
 *                      any test ran)
 *     transformed N    file N was compiled from another text than the one that stands in it
 *     ready            this process is looked into
 *     blind WORDS      this process cannot be looked into, and why: the one that starts the files of `node --test` has
 *                      no inspector
 *     problem WORDS    a test of the gates ran, and nobody knows when
 *
 * Counts are taken whenever the kind of the running test changes, and start again from nought then. When a test begins
 * and ends is what the reporters tell the witness: their frames are read on their way to fs.writeSync. node:test tells
 * of a test only after it has run, so its tests are followed where the runner enters them (AsyncResource).
 */

const fs = require('fs');
const { relative } = require('path');

const OLDEST = 10;
const FRAME = /^\d+ [0-9a-f]+ (\{"event":.*\})\n$/;

/** Runs on its own, so that a fault of ours does not change the tests. */
function guard(work) {
  try {
    return work();
  } catch (error) {
    return undefined;
  }
}

/** Starts to count; the function it gives returns the scripts that ran since its last call. */
function startProfiler() {
  const { Session } = require('inspector');
  const session = new Session();
  session.connect();
  const post = (method, parameters) => {
    let answer;
    session.post(method, parameters, (error, result) => {
      if (error) throw new Error(error.message);
      answer = result;
    });
    return answer;
  };
  post('Profiler.enable');
  post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return () => post('Profiler.takePreciseCoverage').result;
}

/** The path of a script, as the plan has it; undefined when it is no file of the plan. */
function pathOf(url, root) {
  if (url.startsWith('file://')) {
    const { fileURLToPath } = require('url');
    const file = guard(() => fileURLToPath(url.replace(/[?#].*$/, '')));
    return file === undefined ? undefined : relative(root, file);
  }
  return url.startsWith('/') ? relative(root, url) : undefined;
}

/** How often a place was executed: the count of the smallest range around it. */
function countAt(functions, place) {
  let count = 0;
  let size = Infinity;
  for (const { ranges } of functions) {
    for (const range of ranges) {
      const width = range.endOffset - range.startOffset;
      if (range.startOffset <= place && place < range.endOffset && width <= size) {
        count = range.count;
        size = width;
      }
    }
  }
  return count;
}

/** The files of the plan, and what was seen of them. */
function createFiles(plan, write) {
  const numbers = new Map(plan.files.map((file, number) => [file.path, number]));
  const known = new Map(); // scriptId -> { number, shift } or null
  const seen = new Set();

  /** Where the text of a file begins in the script that was made of it; undefined when it is another text. */
  function shiftOf(file, length) {
    const text = fs.readFileSync(`${plan.root}/${file.path}`);
    if (require('crypto').createHash('sha256').update(text).digest('hex') !== file.sha256) return undefined;
    if (length === file.length) return 0;
    const wrapped = require('module').wrap('\0'); // Node.js 10 and 11 put the head and foot of a function around it
    return length === file.length + wrapped.length - 1 ? wrapped.indexOf('\0') : undefined;
  }

  function identify(script) {
    const number = numbers.get(pathOf(script.url, plan.root));
    if (number === undefined) return null;
    const file = plan.files[number];
    const length = Math.max(...script.functions.map(({ ranges }) => ranges[0].endOffset));
    const shift = guard(() => shiftOf(file, length));
    if (shift === undefined) {
      write([`transformed ${number}`]);
      return null;
    }
    write([`lines ${number} ${Object.keys(file.places).join(',')}`]);
    return { number, shift };
  }

  return function take(scripts, who) {
    const found = [];
    for (const script of scripts) {
      if (!known.has(script.scriptId)) known.set(script.scriptId, identify(script));
      const entry = known.get(script.scriptId);
      if (entry === null) continue;
      const { places } = plan.files[entry.number];
      for (const line of Object.keys(places)) {
        const hit = `hit ${entry.number} ${line} ${who}`;
        if (seen.has(hit) || !places[line].some((place) => countAt(script.functions, place + entry.shift) > 0)) continue;
        seen.add(hit);
        found.push(hit);
      }
    }
    if (found.length) write(found);
  };
}

/** Which tests run, and so to whom it counts what is executed. */
function createClock(gates, takeFor, write) {
  const running = [];
  let who = process.env.AUDIT_WHO || 'load'; // that of the test which started this process
  let began = false;

  function turn(next) {
    if (next === who) return;
    guard(() => takeFor(who));
    who = next;
    process.env.AUDIT_WHO = next;
  }

  const kind = () => (running.some((id) => gates.has(id)) ? 'gate' : 'other');

  function note(id) {
    running.push(id);
    if (began || !gates.has(id)) return;
    began = true;
    write(['began']);
  }

  return {
    begin(id) {
      note(id);
      turn(kind());
    },
    /** What comes between two tests belongs to the one before. */
    end(id) {
      const at = running.indexOf(id);
      if (at < 0) return;
      running.splice(at, 1);
      if (running.length) turn(kind());
    },
    /** What ran until now was this test. */
    past(id) {
      note(id);
      who = kind();
    },
    /** Another file may be loaded now. */
    rest() {
      running.length = 0;
      turn('load');
    },
    flush: () => guard(() => takeFor(who)),
  };
}

/** Follows the frames that the reporters of the grading write. Returns what is to be done at the end. */
function followReporters(clock, gates, write) {
  const tests = followNodeTest(clock);
  let nodeTest = false;
  let missed = false;

  function take(frame) {
    const { event, id } = frame;
    if (event === 'session') nodeTest = frame.framework === 'node-test';
    if (event === 'finish') clock.rest();
    if (event === 'start' && !nodeTest) clock.begin(id);
    if (event === 'result') {
      clock.end(id);
      if (nodeTest && tests.count() === 0 && gates.has(id)) missed = true;
    }
  }

  const { writeSync } = fs;
  fs.writeSync = function (descriptor, data, from) {
    const written = writeSync.apply(this, arguments);
    if (from === 0 && Buffer.isBuffer(data)) {
      guard(() => {
        const match = FRAME.exec(data.toString('latin1'));
        if (match !== null) take(JSON.parse(match[1]));
      });
    }
    return written;
  };

  /** A file without tests of its own is one test, and the reporters tell of it when it is over. */
  let script = false;
  function isScript() {
    if (script || !nodeTest || tests.count() > 0) return;
    script = true;
    clock.past(relative(process.cwd(), process.argv[1]));
  }
  process.on('beforeExit', () => guard(isScript)); // before the canaries, which are tests
  return () => {
    guard(isScript);
    clock.flush();
    if (missed) write(['problem this Node.js does not show when a test of node:test begins']);
  };
}

/** Follows node:test, whose runner enters each test as an asynchronous resource of a class of its own. */
function followNodeTest(clock) {
  const { prototype } = require('async_hooks').AsyncResource;
  const enter = prototype.runInAsyncScope;
  let count = 0;

  function idOf(test) {
    const names = [];
    for (let one = test; one && one.parent; one = one.parent) names.unshift(one.name);
    return names.join(' > ');
  }

  prototype.runInAsyncScope = function (work) {
    if (!this.constructor || this.constructor.name !== 'Test' || !this.parent) return enter.apply(this, arguments);
    const id = guard(() => idOf(this));
    const end = () => guard(() => clock.end(id));
    count += 1;
    guard(() => clock.begin(id));
    let result;
    try {
      result = enter.apply(this, arguments);
    } catch (error) {
      end();
      throw error;
    }
    if (result && typeof result.then === 'function') result.then(end, end);
    else if (work.length < 2) end(); // with a callback it is over when its result is told
    return result;
  };
  return { count: () => count };
}

function main() {
  const { AUDIT_PLAN, AUDIT_HITS } = process.env;
  if (!AUDIT_PLAN || !AUDIT_HITS) return;
  const write = (lines) => guard(() => fs.appendFileSync(AUDIT_HITS, lines.map((line) => `${line}\n`).join('')));
  if (parseInt(process.versions.node, 10) < OLDEST) {
    write([`blind Node.js ${process.versions.node} is older than ${OLDEST}`]);
    return;
  }
  try {
    const plan = JSON.parse(fs.readFileSync(AUDIT_PLAN, 'utf8'));
    plan.root = fs.realpathSync(plan.root);
    const gates = new Set(plan.gates);
    const scripts = startProfiler();
    const take = createFiles(plan, write);
    const clock = createClock(gates, (who) => take(scripts(), who), write);
    process.on('exit', followReporters(clock, gates, write));
    write(['ready']);
  } catch (error) {
    write([`blind ${`${(error && error.message) || error}`.split('\n')[0]}`]); // Node.js itself throws a text here
  }
}

main();
