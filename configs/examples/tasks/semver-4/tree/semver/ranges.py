"""Ranges: comparators that must all hold."""

from __future__ import annotations

import operator
import re

from semver.version import Version

_OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "": operator.eq}
_COMPARATOR = re.compile(r"\s*(<=|>=|<|>|=|)\s*([^\s<>=]+)")


def satisfies(version: str, wanted: str) -> bool:
    """Whether `version` fulfils every comparator of `wanted` (`>=1.2.0 <2.0.0`)."""
    here = Version.parse(version)
    return all(_OPERATORS[sign](here, Version.parse(there)) for sign, there in _COMPARATOR.findall(wanted))
