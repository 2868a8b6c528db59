"""Which of the lines that the task's own fix adds are executed by the FAIL_TO_PASS tests: the task once more under the
tracer of its language (`parsimony.audit.tracers`), which prints what it saw at the end of the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from parsimony.audit.layout import Layout
from parsimony.audit.tracers import Tracer, Words, tracer_of
from parsimony.tasks import Task

_MARK: Final = b"parsimony-coverage "
_SLOWER: Final = 5.0
"""How much longer a traced run may take."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was executed.

    Attributes:
        executable: path -> the added lines that hold code, as the tracer of the language tells.
        covered: of them those that a FAIL_TO_PASS test executes, or that run when no test does.
        other: of them those that only other tests execute.
        unloaded: files that no test loads.
    """

    executable: Mapping[str, tuple[int, ...]]
    covered: Mapping[str, tuple[int, ...]]
    other: Mapping[str, tuple[int, ...]]
    unloaded: tuple[str, ...]

    @property
    def total(self) -> int:
        """All lines that hold code."""
        return sum(map(len, self.executable.values()))

    @property
    def hit(self) -> int:
        """Those that are covered."""
        return sum(map(len, self.covered.values()))

    @property
    def ratio(self) -> float | None:
        """Covered among executable lines; None where no added line holds code."""
        return self.hit / self.total if self.total else None

    @property
    def missed(self) -> list[str]:
        """`path:line` of those that are not covered."""
        return [f"{p}:{n}" for p, lines in self.executable.items() for n in lines if n not in self.covered.get(p, ())]


def why_not(layout: Layout) -> str:
    """Why coverage cannot be measured for a task; empty when it can."""
    found = tracer_of(layout)
    return found if isinstance(found, str) else ""


def coverage_task(layout: Layout) -> Task:
    """The task with its tests under the tracer; graded with the task's own fix. Only where `why_not` is empty."""
    task, tracer = layout.task, _tracer(layout)
    limits = replace(task.limits, timeout_s=task.limits.timeout_s * _SLOWER)
    if task.test_cmd is not None:
        return replace(task, test_cmd=_around(tracer, task.test_cmd), limits=limits)
    assert task.eval_script is not None, "the reader of tasks refuses rows with neither"
    return replace(task, eval_script=_around(tracer, task.eval_script), limits=limits)


def _tracer(layout: Layout) -> Tracer:
    tracer = tracer_of(layout)
    assert not isinstance(tracer, str), tracer
    return tracer


def _around(tracer: Tracer, script: str) -> str:
    return f"""AUDIT=$(mktemp -d "${{TMPDIR:-/tmp}}/audit.XXXXXX") && chmod 777 "$AUDIT" || exit 125
{tracer.prepare()}
(
{script}
)
status=$?
if [ -f "$AUDIT/hits" ]; then sed 's/^/{_MARK.decode()}/' "$AUDIT/hits"; fi
echo '{_MARK.decode()}done'
exit $status
"""


def read_coverage(layout: Layout, log: bytes) -> Coverage | str:
    """What a log of `coverage_task(layout)` says; in words why it says nothing."""
    lines = [
        line.removeprefix(_MARK).decode("utf-8", "replace").split()
        for line in log.splitlines()
        if line.startswith(_MARK)
    ]
    if ["done"] not in lines:
        return "the traced run did not come to its end"
    tracer = _tracer(layout)
    return tracer.problem(lines) or _coverage(tracer.files, lines)


def _coverage(files: tuple[tuple[str, tuple[int, ...]], ...], said: Words) -> Coverage:
    executable: dict[int, set[int]] = {}
    hits: dict[int, dict[int, set[str]]] = {}
    for words in said:
        if len(words) >= 2 and words[0] == "lines" and words[1].isdecimal():
            numbers = words[2].split(",") if len(words) > 2 else []
            executable.setdefault(int(words[1]), set()).update(int(n) for n in numbers if n.isdecimal())
        elif len(words) == 4 and words[0] == "hit" and words[1].isdecimal() and words[2].isdecimal():
            hits.setdefault(int(words[1]), {}).setdefault(int(words[2]), set()).add(words[3])
    code, covered, other, unloaded = {}, {}, {}, []
    for number, (path, lines) in enumerate(files):
        if number not in executable:
            unloaded.append(path)
            code[path] = lines
            continue
        found = hits.get(number, {})
        code[path] = tuple(sorted(executable[number]))
        covered[path] = tuple(n for n in code[path] if found.get(n, set()) & {"gate", "load"})
        other[path] = tuple(n for n in code[path] if found.get(n) == {"other"})
    return Coverage(code, covered, other, tuple(unloaded))
