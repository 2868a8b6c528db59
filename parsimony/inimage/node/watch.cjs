'use strict';
/*
 * Notices when functions that decide over results (assertions, the runner's own methods) are replaced, and while which
 * module was loading. Whether that module may do such a thing is decided where the patch is known.
 */

const { getOwnPropertyDescriptor, getOwnPropertyNames } = Object;
const push = Function.prototype.call.bind(Array.prototype.push);
const pop = Function.prototype.call.bind(Array.prototype.pop);
const splice = Function.prototype.call.bind(Array.prototype.splice);

function same(a, b) {
  return a === undefined || b === undefined ? a === b : a.value === b.value && a.get === b.get && a.set === b.set;
}

/** @param {(name: string, file: string|null) => void} onReplaced told of each replacement, once */
function createWatch(onReplaced) {
  const entries = [];
  const loading = []; // files of the modules that are being evaluated, innermost last

  /** Compares everything with what stood there at the last look. */
  function check() {
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i];
      const current = getOwnPropertyDescriptor(entry.object, entry.key);
      if (same(entry.descriptor, current)) continue;
      entry.descriptor = current;
      onReplaced(entry.name, loading.length ? loading[loading.length - 1] : null);
    }
  }

  return Object.freeze({
    check,

    /** Watches functions of `object` (all its own ones by default) from now on, as they are now. */
    functions(name, object, keys = getOwnPropertyNames(object)) {
      for (let i = entries.length - 1; i >= 0; i--) {
        if (entries[i].object === object) splice(entries, i, 1);
      }
      for (const key of keys) {
        const descriptor = getOwnPropertyDescriptor(object, key);
        if (key !== 'constructor' && descriptor !== undefined && typeof descriptor.value === 'function') {
          push(entries, { name: `${name}.${key}`, object, key, descriptor });
        }
      }
    },

    /** A module begins to be evaluated. */
    enter(file) {
      check();
      push(loading, file);
    },

    /** The module that began last has been evaluated. */
    leave() {
      check();
      pop(loading);
    },
  });
}

module.exports = Object.freeze({ createWatch });
