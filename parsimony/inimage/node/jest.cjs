'use strict';
/*
 * jest with its default runner, jest-circus (27 and newer). Each test file is a run of its own, in jest's process or in
 * one of its workers. The tests are followed by the events that a test environment gets
 * (`handleTestEvent`, documented for custom environments); their errors are read from circus' state at the end of the
 * file, and jest's result for the file has to agree.
 *
 * jest-jasmine2 has no such events: projects that use it have jest's own JSON report.
 */

const { relative } = require('path');
const { mustFail, mustPass } = require('./canary.cjs');
const { apply } = require('./primordials.cjs');

/** The titles around a test and its own, outermost first; the root block has no title of its own. */
function titles(test) {
  const found = [];
  for (let block = test; block && block.parent; block = block.parent) found.unshift(block.name);
  return found;
}

function statusOf(test) {
  if (test.errors.length > 0) return 'failed';
  return test.status === 'done' ? 'passed' : 'skipped';
}

/** Bodies that use jest's `expect` beside `assert`: the one that must fail passes when either lets something through. */
function bodies(expect) {
  const wrong = [
    () => expect(1).toBe(2),
    () => expect({ a: [1] }).toEqual({ a: [2] }),
    () => expect({ a: 1 }).toStrictEqual({ a: 1, b: undefined }),
    () => expect(1).not.toBe(1),
    () => expect(0).toBeTruthy(),
    () => expect(() => {}).toThrow(),
  ];
  function refused(check) {
    try {
      check();
      return false;
    } catch {
      return true;
    }
  }
  return {
    pass() {
      expect(1).toBe(1);
      expect({ a: [1] }).toEqual({ a: [1] });
      mustPass();
    },
    fail() {
      if (wrong.every(refused)) mustFail();
    },
  };
}

/**
 * The canaries of one test file: a block of its own without parent, so that no hook of the project runs around it.
 *
 * @param {object} session
 * @param {() => object[]} sources where `describe`, `test` and `expect` are found: as the test files see them, and
 *   jest's own for the case that a project's replacements make something else of them
 */
function createCanaries(session, sources) {
  const { names } = session;
  let block = null;
  let selection;

  function make(root, { describe, test, expect }) {
    const { pass, fail } = bodies(expect);
    const before = root.children.length;
    describe('parsimony', () => {
      test(names.pass, () => pass());
      test(names.fail, () => fail());
    });
    const [made, ...more] = root.children.splice(before);
    const titles = made && more.length === 0 && made.children ? made.children.map((child) => child.name) : [];
    return titles.length === 2 && titles[0] === names.pass && titles[1] === names.fail ? made : null;
  }

  function add(state) {
    const { rootDescribeBlock: root, hasStarted, currentDescribeBlock, hasFocusedTests } = state;
    state.hasStarted = false;
    state.currentDescribeBlock = root;
    for (const source of sources()) {
      try {
        block = make(root, source);
      } catch {
        continue;
      }
      if (block !== null) break;
    }
    Object.assign(state, { hasStarted, currentDescribeBlock, hasFocusedTests });
    if (block === null) {
      session.trouble('the canaries could not be made');
      return;
    }
    root.children.push(block);
    block.parent = undefined;
    for (const child of block.children) {
      if (hasFocusedTests) child.mode = 'only';
    }
    selection = state.testNamePattern;
    if (selection) {
      state.testNamePattern = Object.create(selection);
      state.testNamePattern.test = (name) => name.endsWith(names.pass) || name.endsWith(names.fail) || selection.test(name);
    }
  }

  function remove(state) {
    if (block === null) return;
    const at = state.rootDescribeBlock.children.indexOf(block);
    if (at >= 0) state.rootDescribeBlock.children.splice(at, 1);
    if (selection) state.testNamePattern = selection;
    for (const test of block.children) {
      if (test.status !== 'done') continue;
      const kind = test.name === names.pass ? 'pass' : 'fail';
      session.canary(kind, test.name, test.errors.length > 0 ? 'failed' : 'passed');
    }
  }

  return { add, remove };
}

/** Follows one test file. */
function createRecorder(session, watch, environment) {
  const statuses = [];
  let globals = null;
  let failures = 0;
  const canaries = createCanaries(session, () => {
    const seen = environment.global;
    return typeof seen.test === 'function' && globals !== null ? [seen, globals] : [globals || seen];
  });

  function report(test) {
    const path = titles(test);
    const id = path.join(' ');
    const leaf = path[path.length - 1];
    const status = statusOf(test);
    session.start(id, leaf === id ? undefined : leaf);
    session.result(id, status, typeof test.duration === 'number' ? test.duration / 1000 : undefined);
    statuses.push(status);
  }

  function reportAll(block) {
    for (const child of block.children || []) {
      if (child.type === 'describeBlock') reportAll(child);
      else report(child);
    }
    for (const test of block.children ? [] : block.tests || []) report(test);
  }

  return {
    failures: () => failures,
    handle(event, state) {
      if (event.name === 'setup') globals = event.runtimeGlobals;
      else if (event.name === 'run_start') canaries.add(state);
      else if (event.name === 'run_finish') {
        canaries.remove(state);
        reportAll(state.rootDescribeBlock);
        failures = statuses.filter((status) => status === 'failed').length;
        watch.check();
      }
    },
  };
}

/** Wraps the function that runs one test file. */
function wrap(runFile, reporter, version) {
  return async function (globalConfig, config, environment, runtime, testPath) {
    const session = reporter.begin('jest', version);
    reporter.leaveEnvironment();
    const recorder = createRecorder(session, reporter.watch, environment);
    const previous = environment.handleTestEvent;
    environment.handleTestEvent = function (event, state) {
      reporter.guard(() => recorder.handle(event, state));
      return previous === undefined ? undefined : apply(previous, this, arguments);
    };
    const file = relative(config.rootDir, testPath);
    let results;
    try {
      results = await apply(runFile, this, arguments);
      return results;
    } finally {
      reporter.guard(() => {
        if (results === undefined || results.testExecError) session.single(file, 'error');
        else if (results.numFailingTests !== recorder.failures()) session.finding('contradiction', file, null);
        session.finish();
      });
    }
  };
}

/** Hooks by module, see preload.cjs. */
function hooks(reporter) {
  function runner(module, version) {
    const original = module.exports;
    if (typeof original === 'function') {
      module.exports = Object.assign(wrap(original, reporter, version), original);
    } else if (original && typeof original.default === 'function') {
      module.exports = { ...original, __esModule: true, default: wrap(original.default, reporter, version) };
    }
  }
  return { name: 'jest-circus', modules: { 'runner.js': runner, 'build/runner.js': runner } };
}

module.exports = { hooks };
