"use strict";

const { compile, split } = require("./pattern");

class Router {
  #root = node();

  /** Give `pattern` a handler; returns the router. */
  add(pattern, handler) {
    const names = [];
    let here = this.#root;
    for (const { kind, text } of compile(pattern)) {
      if (kind === "fixed") {
        if (!here.fixed.has(text)) here.fixed.set(text, node());
        here = here.fixed.get(text);
      } else {
        names.push(text);
        here = here[kind] ??= node();
      }
    }
    here.leaf = { handler, names };
    return this;
  }

  /** The handler of `path` and its parameters, or null. */
  find(path) {
    const [pathname] = path.split("?", 1);
    const values = [];
    const parts = split(pathname).map(decodeURIComponent);
    let here = this.#root;
    for (const [index, part] of parts.entries()) {
      if (here.fixed.has(part)) {
        here = here.fixed.get(part);
      } else if (here.param) {
        values.push(part);
        here = here.param;
      } else if (here.rest) {
        values.push(parts.slice(index).join("/"));
        here = here.rest;
        break;
      } else {
        return null;
      }
    }
    return here.leaf ? found(here.leaf, values) : null;
  }
}

function node() {
  return { fixed: new Map(), param: null, rest: null, leaf: null };
}

function found({ handler, names }, values) {
  return { handler, params: Object.fromEntries(names.map((name, index) => [name, values[index]])) };
}

module.exports = { Router };
