"""Parsers that are other processes: requests and answers as lines of JSON, failures as InputError.

The shape of an answer is described where it is made: in `treesitter` and in `node/script_units.cjs`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from parsimony.errors import InputError
from parsimony.footprint.languages.lineprocess import Ended, LineProcess
from parsimony.footprint.tracks import Sequence

FILE_SECONDS = 60.0
"""Processor time that both sides of a file may take, the start of the parser included."""

_SIDES = ("before", "after")


def parse_both(process: LineProcess, request: Mapping[str, object]) -> tuple[Sequence, Sequence]:
    """The sequences of the two `sides` of a request.

    Raises:
        InputError: a side does not parse, or makes the parser take too much time or memory.
    """
    try:
        answer = json.loads(process.ask(json.dumps(request).encode() + b"\n", FILE_SECONDS))
    except TimeoutError:
        raise InputError(f"takes more than {FILE_SECONDS:g} seconds to parse", mend="leave the file out") from None
    except Ended:
        raise InputError("takes more memory to parse than the parser may have", mend="leave the file out") from None
    if "error" in answer:
        raise InputError(
            f"cannot be parsed: {answer['error']}",
            mend="only files that parse on both sides are measured",
            row=answer["line"],
            field=_SIDES[answer["side"]],
        )
    old, new = (_sequence(side, answer["kinds"]) for side in answer["sides"])
    return old, new


def _sequence(side: Mapping[str, Any], kinds: list[int]) -> Sequence:
    units = side["units"]
    blind = list(map(kinds.__getitem__, units))
    return Sequence(units, blind, side["nodes"], side["branches"], side["tokens"])
