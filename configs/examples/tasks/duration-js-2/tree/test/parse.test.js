import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parse } from "../src/index.js";

describe("parse", () => {
  for (const [text, expected] of [
    ["90s", 90_000],
    ["1h 30m", 5_400_000],
    ["1h30m", 5_400_000],
    ["1.5s", 1_500],
    ["-2m", -120_000],
    ["250 ms", 250],
  ]) {
    it(`reads "${text}"`, () => assert.equal(parse(text), expected));
  }

  for (const text of ["", "-", "5", "1h and more", "h"]) {
    it(`refuses "${text}"`, () => assert.throws(() => parse(text), RangeError));
  }
});
