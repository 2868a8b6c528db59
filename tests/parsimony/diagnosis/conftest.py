"""Notes made by hand."""

from collections.abc import Callable

import pytest

from parsimony.scorecard.note import Exercised, Found, Note, Patched, Planned, Robust, Spent, Structured

Make = Callable[..., Note]


@pytest.fixture(scope="session")
def make() -> Make:
    """Makes notes."""
    return made


def made(task: int, *, lost: str = "", arm: str = "a", seed: int = 1, repos: int = 20, source: str = "trace") -> Note:
    """The note of a candidate that does not pass the stages `lost` (joined by "+"); "" = resolved."""
    fails = lost.split("+")
    located, planned, applied = (stage not in fails for stage in ("localization", "planning", "patching"))
    built = applied and "building" not in fails
    right = int(located and built and "structure" not in fails)
    recall = 1.0 if located else 0.0
    found = Found(source, 1, 3, recall, int(located), {1: recall, 3: recall, 5: recall, 10: recall})
    return Note(
        f"run/{arm}/{seed}/0",
        f"task-{task}",
        arm,
        seed,
        0,
        "resolved" if not lost else "not_resolved",
        repo=f"repo-{task % repos}",
        resolved=not lost,
        regressions=0,
        files=found,
        symbols=found,
        planning=Planned(2, 2 if planned else 1, 1.0 if planned else 0.5),
        patching=Patched(apply=applied, parse=built, build=built, build_by="compiler"),
        structure=Structured(right, 1 - right, 1, right, 1),
        bug_tests=Exercised(2, 2) if built else Exercised(0, 2),
        regression_tests=Exercised(3, 3) if built else Exercised(0, 3),
        robustness=Robust(float(not lost), 1, "repeats"),
        economics=Spent(100, 2, 1.0, 2.0, 1000),
    )
