"use strict";

const assert = require("node:assert/strict");
const { describe, it, test } = require("node:test");
const { Router } = require("..");

function users() {
  return new Router()
    .add("/", "home")
    .add("/users/:id", "user")
    .add("/users/new", "form")
    .add("/users/:id/posts/:post", "post")
    .add("/files/*", "file");
}

test("the root", () => {
  assert.equal(users().find("/").handler, "home");
});

describe("fixed parts", () => {
  it("come before parameters", () => {
    assert.equal(users().find("/users/new").handler, "form");
  });

  it("must all be there", () => {
    assert.equal(users().find("/users"), null);
    assert.equal(users().find("/nobody/7"), null);
  });
});

describe("parameters", () => {
  it("are named", () => {
    assert.deepEqual(users().find("/users/7"), { handler: "user", params: { id: "7" } });
  });

  it("may be several", () => {
    assert.deepEqual(users().find("/users/7/posts/9?draft=1").params, { id: "7", post: "9" });
  });

  it("are decoded (caf%C3%A9)", () => {
    assert.deepEqual(users().find("/users/caf%C3%A9").params, { id: "café" });
  });
});

describe("the rest", () => {
  it("keeps its slashes", () => {
    assert.deepEqual(users().find("/files/a/b.txt"), { handler: "file", params: { rest: "a/b.txt" } });
  });
});
