'use strict';
/*
 * HMAC-SHA256 (FIPS 180-4, RFC 2104) in integer arithmetic on typed arrays.
 *
 * Why not require('crypto'): its classes can be replaced by the code under test, which would then be handed the key.
 * Nothing here calls a method that can be replaced after this file was loaded, and the key lives in a closure.
 */

const { charCodeAt } = require('./primordials.cjs');

const { cbrt, floor, sqrt } = Math;
const Words = Uint32Array;
const HEX = '0123456789abcdef';

/** The first `count` primes. */
function primes(count) {
  const found = [];
  for (let n = 2; found.length < count; n++) {
    if (found.every((p) => n % p)) found.push(n);
  }
  return found;
}

const fraction = (x) => floor((x - floor(x)) * 2 ** 32);
const ROUND = Words.from(primes(64), (p) => fraction(cbrt(p)));
const INITIAL = Words.from(primes(8), (p) => fraction(sqrt(p)));
const schedule = new Words(64);

/** One step of SHA-256: mixes the 16 words of `block` into the 8 words of `state`. */
function compress(state, block) {
  const w = schedule;
  for (let i = 0; i < 16; i++) w[i] = block[i];
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15], y = w[i - 2];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
  for (let i = 0; i < 64; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + ROUND[i] + w[i]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g; g = f; f = e; e = (d + t1) | 0; d = c; c = b; b = a; a = (t1 + t2) | 0;
  }
  state[0] += a; state[1] += b; state[2] += c; state[3] += d;
  state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

function copy(state) {
  const fresh = new Words(8);
  for (let i = 0; i < 8; i++) fresh[i] = state[i];
  return fresh;
}

/** Digest of 64 bytes already in `state`, then the `length` bytes that `byteAt(i)` gives. */
function finish(state, byteAt, length) {
  const block = new Words(16);
  const blocks = floor((length + 8) / 64) + 1;
  for (let n = 0; n < blocks; n++) {
    for (let i = 0; i < 16; i++) {
      let word = 0;
      for (let j = 0; j < 4; j++) {
        const at = n * 64 + i * 4 + j;
        word = (word << 8) | (at < length ? byteAt(at) : at === length ? 0x80 : 0);
      }
      block[i] = word;
    }
    if (n === blocks - 1) block[15] = (length + 64) * 8;
    compress(state, block);
  }
  return state;
}

function keyed(keyWords, pad) {
  const block = new Words(16);
  for (let i = 0; i < 16; i++) block[i] = (i < 8 ? keyWords[i] : 0) ^ pad;
  const state = copy(INITIAL);
  compress(state, block);
  return state;
}

/**
 * A function that signs.
 *
 * @param {string} key 64 hex digits (32 bytes)
 * @returns {(text: string) => string} first 32 hex digits of HMAC-SHA256 over an ASCII text
 */
function createSigner(key) {
  const words = new Words(8);
  for (let i = 0; i < 8; i++) words[i] = Number.parseInt(key.slice(i * 8, i * 8 + 8), 16);
  const inner = keyed(words, 0x36363636);
  const outer = keyed(words, 0x5c5c5c5c);
  return (text) => {
    const digest = finish(copy(inner), (i) => charCodeAt(text, i), text.length);
    const mac = finish(copy(outer), (i) => (digest[i >> 2] >>> (24 - 8 * (i & 3))) & 255, 32);
    let hex = '';
    for (let i = 0; i < 32; i++) hex += HEX[(mac[i >> 3] >>> (28 - 4 * (i & 7))) & 15];
    return hex;
  };
}

module.exports = { createSigner };
