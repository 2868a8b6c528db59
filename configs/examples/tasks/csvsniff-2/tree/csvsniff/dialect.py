"""What there is to know of a dialect, and reading by it."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """How columns are parted and cells are quoted."""

    delimiter: str
    quote: str = '"'

    def rows(self, lines: Iterable[str]) -> list[list[str]]:
        """The cells of each line."""
        return list(csv.reader(lines, delimiter=self.delimiter, quotechar=self.quote, skipinitialspace=True))
