import { UNITS } from "./units.js";

const PART = /(\d+(?:\.\d+)?)\s*(ms|d|h|m|s)/y;

/** Milliseconds of a text such as "1h 30m" or "-1.5s". Throws a RangeError that quotes what it cannot read. */
export function parse(text) {
  let rest = text.trim();
  const sign = rest.startsWith("-") ? -1 : 1;
  if (/^[+-]/.test(rest)) rest = rest.slice(1).trim();
  if (rest === "") throw new RangeError(`not a duration: "${text}"`);
  let total = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < rest.length) {
    const match = PART.exec(rest);
    if (match === null) throw new RangeError(`not a duration: "${text}"`);
    total += Number(match[1]) * UNITS.get(match[2]);
    while (rest[PART.lastIndex] === " ") PART.lastIndex += 1;
  }
  return sign * total;
}
