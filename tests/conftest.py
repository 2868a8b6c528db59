"""For all tests: property tests have no deadline, because a busy machine is no defect; and when tests run in several
processes, those that look at one Docker Engine or share one Ray stay in one of them."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import settings

# The same examples in every run, so that a red test speaks of the change at hand; `make fuzz` looks for new ones.
settings.register_profile("parsimony", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("fuzz", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("PARSIMONY_HYPOTHESIS", "parsimony"))

TOGETHER = (
    "tests/cluster/sandboxes/",
    "tests/cluster/engines/",
    "tests/cluster/runs/test_kill",
    "tests/test_real_tasks",
)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes that are no short text are named by their length: what is packed holds the time, and processes that run
    tests together must give them the same names."""
    if isinstance(val, bytes) and not (len(val) <= 40 and val.isascii() and val.decode("ascii").isprintable()):
        return f"{len(val)} bytes"
    return None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A file at a time; the files of `TOGETHER` count as one."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return "together" if nodeid.startswith(TOGETHER) else nodeid.partition("::")[0]

    return Scheduler(config, log)
