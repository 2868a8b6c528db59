"use strict";

const assert = require("node:assert/strict");
const { test } = require("node:test");
const { compile } = require("..");

test("kinds of parts", () => {
  assert.deepEqual(
    compile("/a/:b/*").map((part) => part.kind),
    ["fixed", "param", "rest"],
  );
});

test("a pattern starts with a slash", () => {
  assert.throws(() => compile("users"), TypeError);
});

test("a star comes last", () => {
  assert.throws(() => compile("/*/users"), TypeError);
});
