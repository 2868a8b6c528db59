'use strict';
/*
 * The reporter's end of the channel to the witness: a plain unix socket, used synchronously.
 *
 * Node has no synchronous connect, but on Unix the connect(2) of a unix socket happens inside `Socket#connect`, before
 * it returns: the descriptor of its handle can be read and written at once with fs.readSync and fs.writeSync. So the
 * session stands before the next line of code runs, and a frame that was sent is in the kernel's hands: neither
 * process.exit() nor a crash can lose it. The socket is unreferenced and keeps no process alive.
 *
 * Everything that is used after the load is captured here: the code under test may replace what it likes.
 */

const { readSync, writeSync } = require('fs');
const { Socket } = require('net');
const { createSigner } = require('./hmac.cjs');
const { charCodeAt } = require('./primordials.cjs');

const { keys: ownKeys } = Object;
const { isArray } = Array;
const { isFinite } = Number;
const { wait } = Atomics;
const { now } = Date;
const { stringify } = JSON;
const bufferFrom = Buffer.from.bind(Buffer);
const HEX = '0123456789abcdef';
const PATIENCE_MS = 20000;
const clock = new Int32Array(new SharedArrayBuffer(4));

/** Runs `attempt` until it does not say EAGAIN any more. */
function patiently(attempt) {
  const deadline = now() + PATIENCE_MS;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (error.code !== 'EAGAIN' || now() > deadline) throw error;
      wait(clock, 0, 0, 1);
    }
  }
}

function receiveLine(fd) {
  const bytes = Buffer.alloc(4096);
  let size = 0;
  while (size === 0 || bytes[size - 1] !== 10) {
    const got = patiently(() => readSync(fd, bytes, size, bytes.length - size, null));
    if (got === 0) throw new Error('the witness closed the connection');
    size += got;
  }
  return bytes.toString('ascii', 0, size - 1);
}

/** JSON of a string in ASCII. `stringify` of a plain string calls no code of others. */
function quote(text) {
  const json = stringify(text);
  let ascii = '';
  for (let i = 0; i < json.length; i++) {
    const code = charCodeAt(json, i);
    ascii += code < 0x7f ? json[i] : '\\u' + HEX[code >> 12] + HEX[(code >> 8) & 15] + HEX[(code >> 4) & 15] + HEX[code & 15];
  }
  return ascii;
}

/** JSON in ASCII that asks no object for a toJSON: such a method could be anybody's. */
function encode(value) {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return isFinite(value) ? `${value}` : 'null';
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  if (value === null || typeof value !== 'object') return 'null';
  let text = '';
  if (isArray(value)) {
    for (let i = 0; i < value.length; i++) text += (i ? ',' : '') + encode(value[i]);
    return `[${text}]`;
  }
  const names = ownKeys(value);
  for (let i = 0; i < names.length; i++) {
    if (value[names[i]] !== undefined) text += (text ? ',' : '') + quote(names[i]) + ':' + encode(value[names[i]]);
  }
  return `{${text}}`;
}

/**
 * Connects and takes the key and the canaries' names.
 *
 * @param {string} path of the witness's socket
 * @returns {{canaries: {pass: string, fail: string}, send: (event: object) => void}} `send` drops events once the
 *   witness is gone
 * @throws when the witness does not answer
 */
function connect(path) {
  const socket = new Socket({ allowHalfOpen: true });
  let open = true;
  socket.on('error', () => { open = false; });
  socket.on('close', () => { open = false; });
  socket.connect({ path });
  socket.unref();
  const fd = socket._handle ? socket._handle.fd : -1;
  if (!(fd >= 0)) throw new Error('no descriptor for the socket');
  const greeting = JSON.parse(receiveLine(fd));
  const sign = createSigner(greeting.key);
  let sequence = 0;

  function send(event) {
    if (!open) return;
    const payload = encode(event);
    const body = `${sequence} ${payload}`;
    const line = bufferFrom(`${sequence} ${sign(body)} ${payload}\n`, 'latin1');
    sequence += 1;
    let sent = 0;
    try {
      while (sent < line.length) sent += patiently(() => writeSync(fd, line, sent, line.length - sent));
    } catch {
      open = false;
    }
  }

  return { canaries: { pass: `${greeting.canaries.pass}`, fail: `${greeting.canaries.fail}` }, send };
}

module.exports = { connect };
