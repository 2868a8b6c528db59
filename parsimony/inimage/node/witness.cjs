'use strict';
/*
 * The parent of a test command, for images without Python: the node counterpart of ../python/witness.py.
 *
 *   node witness.cjs --secrets FILE --report FILE --timeout SECONDS -- COMMAND...
 *
 * It starts before any code of the candidate, hears the reporters over a unix socket, keeps what they say in memory,
 * ends every process of the command and only then writes the report: one line of JSON, and a second one with its
 * HMAC-SHA256 under the key of the secrets file. Exit status: that of the command, 128 + N when signal N ended it, 124
 * when it was stopped at the time limit, 125 when the witness itself failed.
 *
 * What node cannot do, and the report says so: seal its memory against processes of the same user, lower itself to
 * another user and still be allowed to kill, adopt orphans, name the peer of a connection.
 */

const { spawn } = require('child_process');
const crypto = require('crypto');
const fs = require('fs');
const net = require('net');
const os = require('os');
const path = require('path');
const { createTree, childrenCpuSeconds } = require('./processes.cjs');

const LINE_LIMIT = 1 << 20; // bytes of one frame
const TOTAL_LIMIT = 256 << 20; // bytes of all frames together
const SESSION_LIMIT = 10000;
const LOOK_MS = 50;
const STATUS_TIMEOUT = 124;
const STATUS_BROKEN = 125;
const FRAME = /^(\d{1,15}) ([0-9a-f]{32}) (\{.*\})$/;

function parseArguments(words) {
  const options = { command: [] };
  for (let i = 0; i < words.length; i++) {
    if (words[i] === '--') {
      options.command = words.slice(i + 1);
      break;
    }
    if (!/^--(secrets|report|timeout)$/.test(words[i])) throw new Error(`unknown argument ${words[i]}`);
    options[words[i].slice(2)] = words[i += 1];
  }
  for (const name of ['secrets', 'report', 'timeout']) {
    if (options[name] === undefined) throw new Error(`--${name} is missing`);
  }
  if (options.command.length === 0) throw new Error('the command is missing');
  return options;
}

/** Reads the secrets and removes their file at once. */
function takeSecrets(file) {
  const secrets = JSON.parse(fs.readFileSync(file, 'utf8'));
  let removed = true;
  try {
    fs.unlinkSync(file);
  } catch {
    removed = false; // an inbox may be read-only
  }
  return {
    key: Buffer.from(secrets.key, 'hex'),
    canaries: { pass: String(secrets.canaries.pass), fail: String(secrets.canaries.fail) },
    hint: secrets.framework_hint === undefined ? null : secrets.framework_hint,
    watch: Array.isArray(secrets.watch) ? secrets.watch.filter((file) => typeof file === 'string') : [],
    removed,
  };
}

/** Digests of files that must not change while the tests run: our own and those that the runner names. */
function fingerprints(watch) {
  const own = fs.readdirSync(__dirname).sort().map((name) => path.join(__dirname, name));
  const digest = (file) => {
    try {
      return crypto.createHash('sha256').update(fs.readFileSync(file)).digest('hex');
    } catch {
      return null;
    }
  };
  return new Map([...own, ...watch].map((file) => [file, digest(file)]));
}

/** What one connection says. */
function createSession(socket, canaries, budget) {
  const key = crypto.randomBytes(32);
  const session = { pid: null, uid: null, relation: null, closed: false, bad_frames: 0, events: [] };
  let rest = Buffer.alloc(0);
  let sequence = 0;

  function frame(line) {
    const match = FRAME.exec(line);
    const mac = match && crypto.createHmac('sha256', key).update(`${match[1]} ${match[3]}`, 'latin1').digest('hex').slice(0, 32);
    if (match === null || Number(match[1]) !== sequence || mac !== match[2]) {
      session.bad_frames += 1;
      return;
    }
    sequence += 1;
    try {
      const event = JSON.parse(match[3]);
      if (event.event === 'session' && Number.isInteger(event.pid)) session.pid = event.pid;
      session.events.push(event);
    } catch {
      session.bad_frames += 1;
    }
  }

  socket.on('data', (chunk) => {
    budget.left -= chunk.length;
    if (budget.left < 0) {
      budget.exceeded = true;
      socket.destroy();
      return;
    }
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10, start)) {
      frame(rest.toString('latin1', start, end));
      start = end + 1;
    }
    rest = rest.subarray(start);
    if (rest.length > LINE_LIMIT) {
      socket.destroy(); // what was read so far counts as a bad frame
      rest = rest.subarray(0, 1);
    }
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    if (rest.length > 0) session.bad_frames += 1;
    session.closed = true;
  });
  socket.write(`${JSON.stringify({ key: key.toString('hex'), canaries })}\n`);
  return session;
}

/** Listens on a fresh socket with a short path (sun_path holds 107 bytes). */
function listen(canaries) {
  const budget = { left: TOTAL_LIMIT, exceeded: false };
  const sessions = [];
  const parent = os.tmpdir().length < 60 ? os.tmpdir() : '/tmp';
  const folder = fs.mkdtempSync(path.join(parent, 'w'));
  const address = path.join(folder, 's');
  const server = net.createServer((socket) => {
    if (sessions.length >= SESSION_LIMIT) {
      budget.exceeded = true;
      socket.destroy();
    } else sessions.push(createSession(socket, canaries, budget));
  });
  const ready = new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(address, () => {
      fs.chmodSync(folder, 0o711);
      fs.chmodSync(address, 0o777); // tests may run as another user
      resolve();
    });
  });
  return { address, budget, sessions, ready, close: () => fs.rmSync(folder, { recursive: true, force: true }) };
}

/** The command's environment: ours plus the channel and what loads the reporters. */
function environment(address) {
  const loader = path.join(__dirname, 'preload.cjs').replace(/["\\]/g, '\\$&');
  const own = process.env.NODE_OPTIONS ? ` ${process.env.NODE_OPTIONS}` : '';
  return { ...process.env, PARSIMONY_CHANNEL: address, NODE_OPTIONS: `--require="${loader}"${own}` };
}

/** Runs the command to its end, to its limit, or until somebody ends the witness. */
function run(command, seconds, env) {
  return new Promise((resolve) => {
    const began = process.hrtime.bigint();
    const ended = { status: 127, signal: null, timedOut: false, interrupted: null, wall: 0, survivors: 0, peak: null };
    const child = spawn(command[0], command.slice(1), { detached: true, env, stdio: ['ignore', 'inherit', 'inherit'] });
    child.on('error', () => resolve(ended));
    if (child.pid === undefined) return;
    const tree = createTree(child.pid, env.PARSIMONY_CHANNEL);
    let next = 0; // when to look at all processes again: at most a few percent of a processor, however many there are
    const looks = setInterval(() => {
      const since = Date.now();
      if (since >= next) {
        tree.look();
        next = since + 25 * (Date.now() - since);
      }
      tree.measure();
    }, LOOK_MS);
    const limit = setTimeout(() => {
      ended.timedOut = true;
      tree.kill();
    }, Math.min(seconds * 1000, 2 ** 31 - 1));
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
      process.on(signal, () => {
        ended.interrupted = os.constants.signals[signal];
        tree.kill();
      });
    }
    child.on('exit', (code, signal) => {
      clearInterval(looks);
      clearTimeout(limit);
      ended.wall = Number(process.hrtime.bigint() - began) / 1e9;
      ended.status = signal === null ? code : 128 + os.constants.signals[signal];
      ended.signal = signal === null ? null : os.constants.signals[signal];
      ended.survivors = tree.kill();
      ended.peak = tree.peakMemoryBytes();
      resolve(ended);
    });
  });
}

/** Waits until what is in the sockets has been read: all writers are dead, so every session closes. */
async function drain(sessions) {
  for (let i = 0; i < 500 && sessions.some((session) => !session.closed); i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** What the report says of the run itself; null where the witness ended it. */
function commandRecord(ended, startedAt, hint) {
  const itself = !ended.timedOut && ended.interrupted === null;
  return {
    exit_status: itself ? ended.status : null,
    signal: itself ? ended.signal : null,
    timed_out: ended.timedOut,
    interrupted: ended.interrupted,
    wall_seconds: ended.wall,
    cpu_seconds: childrenCpuSeconds(),
    peak_memory_bytes: ended.peak, // of the largest process, as far as it was looked at
    survivors: ended.survivors,
    directory: process.cwd(),
    started_at: startedAt,
    framework_hint: hint,
  };
}

/** Writes the report and its signature, by rename. */
function writeReport(file, report, key) {
  const body = JSON.stringify(report);
  const mac = crypto.createHmac('sha256', key).update(body).digest('hex');
  const fresh = `${file}.${crypto.randomBytes(6).toString('hex')}`;
  fs.writeFileSync(fresh, `${body}\n${JSON.stringify({ mac })}\n`, { flag: 'wx' });
  fs.renameSync(fresh, file);
}

async function main() {
  const options = parseArguments(process.argv.slice(2));
  const secrets = takeSecrets(options.secrets);
  const known = fingerprints(secrets.watch);
  const channel = listen(secrets.canaries);
  await channel.ready;
  const startedAt = Date.now() / 1000;
  const ended = await run(options.command, Number(options.timeout), environment(channel.address));
  await drain(channel.sessions);
  channel.close();
  const findings = channel.budget.exceeded ? ['more was sent to the witness than it keeps'] : [];
  for (const [file, digest] of fingerprints(secrets.watch)) {
    if (known.get(file) !== digest) findings.push(`${file} was changed while the tests ran`);
  }
  const report = {
    schema: 1,
    witness: {
      language: 'node',
      version: process.version.slice(1),
      uid: process.getuid(),
      sealed: false,
      lowered: false,
      adopts_orphans: false,
      secrets_removed: secrets.removed,
    },
    command: commandRecord(ended, startedAt, secrets.hint),
    findings,
    // A process that ran no test framework connected and said nothing.
    sessions: channel.sessions.filter((session) => session.events.length > 0 || session.bad_frames > 0),
  };
  writeReport(options.report, report, secrets.key);
  process.exit(ended.timedOut ? STATUS_TIMEOUT : ended.status);
}

main().catch((error) => {
  process.stderr.write(`parsimony: the witness failed: ${error.stack}\n`);
  process.exit(STATUS_BROKEN);
});
