'use strict';
/*
 * Notices when functions that decide over results (assertions, the runner's own methods) are replaced, and by whom.
 *
 * Replacements made while a module loads are laid at the door of that module. Those of an installed package, of the
 * test folders or of a file named on the command line are the test suite's own doing: the grader puts all of these back
 * to what they were before the candidate. Everything else could be the candidate's.
 */

const { getOwnPropertyDescriptor, getOwnPropertyNames } = Object;
const push = Function.prototype.call.bind(Array.prototype.push);
const splice = Function.prototype.call.bind(Array.prototype.splice);
const pop = Function.prototype.call.bind(Array.prototype.pop);
const startsWith = Function.prototype.call.bind(String.prototype.startsWith);
const includes = Function.prototype.call.bind(String.prototype.includes);
const slice = Function.prototype.call.bind(String.prototype.slice);
const { resolve } = require('path');

const TEST_FOLDERS = ['test', 'tests', 'testing', '__tests__', 'spec', 'specs'];

/** @param {string} file absolute @param {string} root absolute folder of the project */
function isTrusted(file, root, named) {
  if (includes(file, '/node_modules/') || named.has(file)) return true;
  if (!startsWith(file, root + '/')) return false;
  for (let i = 0; i < TEST_FOLDERS.length; i++) {
    if (startsWith(file, `${root}/${TEST_FOLDERS[i]}/`)) return true;
  }
  return false;
}

function same(a, b) {
  return a === undefined || b === undefined ? a === b : a.value === b.value && a.get === b.get && a.set === b.set;
}

/**
 * @param {(reason: string) => void} onProblem told of a replacement that could be the candidate's
 * @param {(reason: string) => void} onNote told of one that the test suite made
 */
function createWatch(onProblem, onNote) {
  const root = process.cwd();
  const named = new Set(process.argv.slice(1).map((argument) => resolve(argument)));
  const entries = [];
  const loading = [];

  const short = (file) => (startsWith(file, root + '/') ? slice(file, root.length + 1) : file);

  /** Compares everything. `doing` says what ran since the last comparison when no module was loading. */
  function check(doing) {
    for (let i = 0; i < entries.length; i++) {
      const entry = entries[i];
      const current = getOwnPropertyDescriptor(entry.object, entry.key);
      if (same(entry.descriptor, current)) continue;
      entry.descriptor = current;
      const file = loading.length ? loading[loading.length - 1] : null;
      if (file !== null && isTrusted(file, root, named)) onNote(`${entry.label} was replaced by ${short(file)}`);
      else onProblem(`${entry.label} was replaced ${file !== null ? `by ${short(file)}` : doing}`);
    }
  }

  return Object.freeze({
    check,

    /** Watches functions of `object` (all its own ones by default) from now on, as they are now. */
    functions(label, object, keys = getOwnPropertyNames(object)) {
      for (let i = entries.length - 1; i >= 0; i--) {
        if (entries[i].object === object) splice(entries, i, 1);
      }
      for (const key of keys) {
        const descriptor = getOwnPropertyDescriptor(object, key);
        if (key !== 'constructor' && descriptor !== undefined && typeof descriptor.value === 'function') {
          push(entries, { label: `${label}.${key}`, object, key, descriptor });
        }
      }
    },

    enter(file) {
      check('by a module that is not CommonJS');
      push(loading, file);
    },

    leave() {
      check('');
      pop(loading);
    },
  });
}

module.exports = Object.freeze({ createWatch });
