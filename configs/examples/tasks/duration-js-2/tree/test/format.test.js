import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { format } from "../src/index.js";

describe("format", () => {
  it("starts with the largest unit", () => assert.equal(format(90_061_000), "1d 1h"));
  it("leaves out what is zero", () => assert.equal(format(3_600_250), "1h 250ms"));
  it("takes as many parts as it is told", () => assert.equal(format(90_061_000, { parts: 4 }), "1d 1h 1m 1s"));
});
