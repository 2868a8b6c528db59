'use strict';
/*
 * Required into every node process of a test run (NODE_OPTIONS=--require="..."), before any code of the candidate. Does
 * nothing without PARSIMONY_CHANNEL.
 *
 * It connects to the witness at once (channel.cjs) and then waits for a test framework: for node:test by its stream of
 * events, for mocha, tape and jest by the load of the modules that run tests. The first run takes the connection that
 * was made at the start; a process that runs no framework says nothing.
 */

const Module = require('module');
const { readFileSync } = require('fs');
const { isMainThread } = require('worker_threads');

const { keys } = Object;
const apply = Reflect.apply;

/** package.json of the package `name` when `file` is its module `path`, else null. It may be the project itself. */
function packageOf(file, name, path) {
  if (!file.endsWith(`/${path}`)) return null;
  try {
    const found = JSON.parse(readFileSync(`${file.slice(0, -path.length - 1)}/package.json`, 'utf8'));
    return found.name === name ? found : null;
  } catch {
    return null;
  }
}

/** Hands modules of the frameworks to their hooks as soon as they were evaluated, before anybody else sees them. */
function hookModules(reporter, frameworks) {
  const extensions = Module._extensions;
  const load = extensions['.js'];

  function afterLoad(module, file) {
    for (const { name, modules } of frameworks) {
      for (const path of keys(modules)) {
        const found = packageOf(file, name, path);
        if (found !== null) modules[path](module, `${found.version}`);
      }
    }
  }

  extensions['.js'] = function (module, file) {
    reporter.watch.enter(file);
    try {
      apply(load, this, [module, file]);
      reporter.guard(() => afterLoad(module, file));
    } finally {
      reporter.watch.leave();
    }
  };
}

/** Our modules are nobody else's to find; this one stays known, so that it is not loaded again. */
function hide() {
  for (const file of keys(require.cache)) {
    if (file !== __filename && file.startsWith(`${__dirname}/`)) delete require.cache[file];
  }
  module.children.length = 0;
}

function main() {
  const path = process.env.PARSIMONY_CHANNEL;
  if (!path || !isMainThread) return;
  try {
    const reporter = require('./reporter.cjs').createReporter(path);
    const frameworks = [require('./mocha.cjs'), require('./tape.cjs'), require('./jest.cjs')];
    hookModules(reporter, frameworks.map((framework) => framework.hooks(reporter)));
    require('./nodetest.cjs').install(reporter);
  } catch (error) {
    // No connection, no evidence: the grader will see that, and the tests may as well run.
    process.stderr.write(`parsimony: no connection to the witness: ${error.message}\n`);
  }
  hide();
}

main();
