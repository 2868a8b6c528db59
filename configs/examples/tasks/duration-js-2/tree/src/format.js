import { UNITS } from "./units.js";

/** Text of `milliseconds`, at most `parts` units from the largest down; what is smaller is cut off. */
export function format(milliseconds, { parts = 2 } = {}) {
  let rest = milliseconds;
  const words = [];
  for (const [unit, size] of UNITS) {
    const count = Math.floor(rest / size);
    if (count > 0 && words.length < parts) words.push(`${count}${unit}`);
    rest -= count * size;
  }
  return words.join(" ");
}
