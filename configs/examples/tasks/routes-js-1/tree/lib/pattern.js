"use strict";

/** The parts of a pattern: { kind: "fixed" | "param" | "rest", text }. */
function compile(pattern) {
  if (!pattern.startsWith("/")) throw new TypeError(`a pattern starts with a slash: ${pattern}`);
  return split(pattern).map((text, index, all) => {
    if (text.startsWith(":")) return { kind: "param", text: text.slice(1) };
    if (text === "*") {
      if (index !== all.length - 1) throw new TypeError(`a star comes last: ${pattern}`);
      return { kind: "rest", text: "rest" };
    }
    return { kind: "fixed", text };
  });
}

function split(path) {
  return path.split("/").filter((part) => part !== "");
}

module.exports = { compile, split };
