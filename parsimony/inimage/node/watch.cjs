'use strict';
/*
 * Notices when functions that decide over results (assertions, the runner's own methods) are replaced, and while which
 * module was loading. Whether that module may do such a thing is decided where the patch is known.
 */

const { getOwnPropertyDescriptor, getOwnPropertyNames } = require('./primordials.cjs');

function same(a, b) {
  return a === undefined || b === undefined ? a === b : a.value === b.value && a.get === b.get && a.set === b.set;
}

/** @param {(name: string, file: string|null) => void} onReplaced told of each replacement, once */
function createWatch(onReplaced) {
  let entries = [];
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
      const kept = [];
      for (let i = 0; i < entries.length; i++) {
        if (entries[i].object !== object) kept[kept.length] = entries[i];
      }
      for (let i = 0; i < keys.length; i++) {
        const key = keys[i];
        const descriptor = getOwnPropertyDescriptor(object, key);
        if (key !== 'constructor' && descriptor !== undefined && typeof descriptor.value === 'function') {
          kept[kept.length] = { name: `${name}.${key}`, object, key, descriptor };
        }
      }
      entries = kept;
    },

    /** A module begins to be evaluated. */
    enter(file) {
      check();
      loading[loading.length] = file;
    },

    /** The module that began last has been evaluated. */
    leave() {
      check();
      loading.length -= 1;
    },
  });
}

module.exports = Object.freeze({ createWatch });
