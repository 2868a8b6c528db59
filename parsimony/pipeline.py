"""The hook for a system that embeds this one: a flag decides whether its candidates are graded, and nothing else does.

`OBJECTIVE_SCORING=27` routes candidates to the grading plane, `unmeasured` (the default) past it, so that switching
back needs no change of code (build spec §9). Commands that grade always grade; they do not look at the flag.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from parsimony.errors import InputError
from parsimony.records import Score
from parsimony.tasks import Candidate

FLAG: Final = "OBJECTIVE_SCORING"


class Setting(StrEnum):
    """What the flag may say."""

    MEASURED = "27"
    UNMEASURED = "unmeasured"


DEFAULT: Final = Setting.UNMEASURED


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """What stands in place of a score while the flag is down: that a candidate came by. It claims nothing."""

    instance_id: str
    patch_ref: str


def setting(environment: Mapping[str, str] = os.environ) -> Setting:
    """What the flag says; the default where it is not set.

    Raises:
        InputError: it says something else.
    """
    told = environment.get(FLAG, DEFAULT)
    try:
        return Setting(told)
    except ValueError:
        mend = f"set it to {Setting.MEASURED} or to {Setting.UNMEASURED}, or leave it out"
        raise InputError(f"is {told[:40]!r}", mend=mend, field=FLAG) from None


def route(
    candidate: Candidate,
    grade: Callable[[Candidate], Score],
    environment: Mapping[str, str] = os.environ,
) -> Score | Unmeasured:
    """Grade `candidate` if the flag is up.

    Args:
        grade: the grading plane as the embedding system reaches it; it is not called while the flag is down.

    Raises:
        InputError: the flag says something that it cannot. Whatever `grade` raises.
    """
    if setting(environment) is Setting.MEASURED:
        return grade(candidate)
    return Unmeasured(candidate.instance_id, candidate.patch_ref)
