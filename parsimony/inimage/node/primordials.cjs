'use strict';
/*
 * Built-in methods as they were before any code of the candidate ran, as functions that take the receiver first. What
 * decides over a result uses these: a method on a prototype is anybody's to replace.
 */

const now = process.hrtime.bigint;
const toNumber = Number;
const uncurry = Function.prototype.bind.bind(Function.prototype.call);

const trim = uncurry(String.prototype.trim);
const get = uncurry(Map.prototype.get);
const set = uncurry(Map.prototype.set);
const has = uncurry(Map.prototype.has);
const remove = uncurry(Map.prototype.delete);
const forEach = uncurry(Map.prototype.forEach);

/** A map with methods of its own. */
function createMap() {
  const map = new Map();
  return Object.freeze({
    get: (key) => get(map, key),
    set: (key, value) => set(map, key, value),
    has: (key) => has(map, key),
    delete: (key) => remove(map, key),
    /** The keys, in order of their addition. */
    keys() {
      const keys = [];
      forEach(map, (value, key) => { keys[keys.length] = key; });
      return keys;
    },
  });
}

/** `[a, b].join(' > ')` of the first `size` words. */
function joined(words, size, separator) {
  let text = '';
  for (let i = 0; i < size; i++) text += i === 0 ? words[i] : separator + words[i];
  return text;
}

/**
 * A text, trimmed, with each character changed, without the regular expressions that anybody can patch.
 *
 * @param {string} text
 * @param {(character: string, before: string) => string|null} change null ends the text here
 */
function mapped(text, change) {
  let result = '';
  for (let i = 0; i < text.length; i++) {
    const changed = change(text[i], result);
    if (changed === null) break;
    result += changed;
  }
  return trim(result);
}

module.exports = Object.freeze({
  apply: Reflect.apply,
  charCodeAt: uncurry(String.prototype.charCodeAt),
  createMap,
  defineProperty: Object.defineProperty,
  endsWith: uncurry(String.prototype.endsWith),
  getOwnPropertyDescriptor: Object.getOwnPropertyDescriptor,
  getOwnPropertyNames: Object.getOwnPropertyNames,
  hasOwn: uncurry(Object.prototype.hasOwnProperty),
  joined,
  mapped,
  now,
  /** Seconds since a moment that `now` gave. */
  seconds: (since) => toNumber(now() - since) / 1e9,
  startsWith: uncurry(String.prototype.startsWith),
  trim,
});
