"""Labels of coding units as small integers: what the alignment compares.

A label says what a unit is and, where it has them, its identifiers and literals. Two units are equal when their labels
are; the value-blind alignment compares only what they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence


class Labels(dict[object, int]):
    """Numbers for labels, given in the order in which labels are first asked for.

    A label is one of three things, so that the frequent ones cost little:

    - a `str`: the unit is a plain name, and the text is the name;
    - a `tuple`: the first item says what the unit is, the others are its values;
    - anything else: a unit without a value.

    Both sides of a comparison share one instance.
    """

    NAME = "name"

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[object, int] = {}
        self._kind_of: list[int] = []
        self._kind_names: tuple[object, ...] = ()

    def __missing__(self, label: object) -> int:
        number = self[label] = len(self._kind_of)
        if label.__class__ is str:
            kind: object = (self.NAME,)  # a tuple, so that no kind can be taken for it
        else:
            kind = label[0] if isinstance(label, tuple) else label
        self._kind_of.append(self._kinds.setdefault(kind, len(self._kinds)))
        return number

    def blind(self, numbers: Iterable[int]) -> list[int]:
        """What the units are, without their values."""
        return list(map(self._kind_of.__getitem__, numbers))

    def count_kinds(self, numbers: Sequence[int]) -> dict[object, int]:
        """How many units of each kind there are."""
        counts = Counter(self.blind(numbers))
        if len(self._kind_names) != len(self._kinds):
            self._kind_names = tuple(self._kinds)
        return {self._kind_names[number]: count for number, count in counts.items()}
