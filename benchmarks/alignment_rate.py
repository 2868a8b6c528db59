"""How long the exact alignment of a rewritten file takes.

    python benchmarks/alignment_rate.py [--units 20000] [--most 0.1]

Two sequences of `--units` labels that share no run: as frequent as those of code (the n-th label 1/n of the time),
half of them kept in their order and half drawn anew. Three passes, the lowest counts. Exit status 1 when it takes
longer than `--most` seconds of the processor, or when a smaller pair differs from the textbook's dynamic program.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from parsimony.footprint.align import align

_LABELS = 2000


def rewritten(units: int, generator: random.Random) -> tuple[list[int], list[int]]:
    """A sequence, and the same with every other label drawn anew on average."""
    weights = [1 / (number + 1) for number in range(_LABELS)]
    before = generator.choices(range(_LABELS), weights, k=units)
    fresh = generator.choices(range(_LABELS), weights, k=units)
    return before, [new if generator.random() < 0.5 else old for old, new in zip(before, fresh, strict=True)]


def textbook(before: list[int], after: list[int]) -> int:
    """The fewest insertions and deletions, by the recurrence of the longest common subsequence."""
    row = [0] * (len(after) + 1)
    for old in before:
        previous, row = row, [0]
        for index, new in enumerate(after):
            row.append(previous[index] + 1 if old == new else max(previous[index + 1], row[-1]))
    return len(before) + len(after) - 2 * row[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, default=20_000)
    parser.add_argument("--most", type=float, default=0.1)
    options = parser.parse_args()
    generator = random.Random(7)
    small = rewritten(600, generator)
    if align(*small).total != textbook(*small):
        print("the alignment is not exact")
        return 1
    pair = rewritten(options.units, generator)
    taken = []
    for _ in range(3):
        started = time.process_time()
        edits = align(*pair)
        taken.append(time.process_time() - started)
    print(f"{options.units} units, {edits.total} edits: {min(taken):.3f} s")
    return 0 if min(taken) <= options.most else 1


if __name__ == "__main__":
    sys.exit(main())
