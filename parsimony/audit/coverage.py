"""Which of the lines that the task's own fix adds are executed by the FAIL_TO_PASS tests: the task once more under a
tracer. Python only; elsewhere it is not measured."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from parsimony.audit.layout import Layout
from parsimony.audit.mutants import added_lines
from parsimony.audit.resources import text
from parsimony.tasks import Task
from parsimony.testreports import FORMATS

_MARK: Final = b"parsimony-coverage "
_SLOWER: Final = 5.0
"""How much longer a traced run may take."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was executed.

    Attributes:
        executable: path -> the added lines that hold code, by the interpreter of the task.
        covered: of them those that a FAIL_TO_PASS test executes, or that run when the module is imported.
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


def traced_files(layout: Layout) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Python files that the fix adds lines to, with the numbers of those lines."""
    return tuple((p, tuple(sorted(lines))) for p, lines in added_lines(layout).items() if p.endswith(".py"))


def why_not(layout: Layout) -> str:
    """Why coverage cannot be measured for a task; empty when it can."""
    if FORMATS[layout.task.log_format].language != "python":
        return f"the tracer is for Python, and the tests are read as {layout.task.log_format}"
    return "" if traced_files(layout) else "the fix adds no line to a Python file"


def coverage_task(layout: Layout) -> Task:
    """The task with its tests under the tracer; graded with the task's own fix."""
    task = layout.task
    limits = replace(task.limits, timeout_s=task.limits.timeout_s * _SLOWER)
    if task.test_cmd is not None:
        return replace(task, test_cmd=_around(layout, task.test_cmd), limits=limits)
    assert task.eval_script is not None, "the reader of tasks refuses rows with neither"
    return replace(task, eval_script=_around(layout, task.eval_script), limits=limits)


def _around(layout: Layout, script: str) -> str:
    files = [[path, list(lines)] for path, lines in traced_files(layout)]
    plan = json.dumps({"root": "@ROOT@", "files": files, "gates": layout.task.fail_to_pass})
    root, end = plan.split('"@ROOT@"')
    return f"""AUDIT=$(mktemp -d "${{TMPDIR:-/tmp}}/audit.XXXXXX") && chmod 777 "$AUDIT" || exit 125
{_document("sitecustomize.py", text("tracer.py"))}
{_document("begin", root)}
{_document("end", end)}
{{ cat "$AUDIT/begin"; printf '"%s"' "$PWD"; cat "$AUDIT/end"; }} >"$AUDIT/plan"
export AUDIT_PLAN="$AUDIT/plan" AUDIT_HITS="$AUDIT/hits"
PARSIMONY_PYTHONPATH="${{PARSIMONY_PYTHONPATH:+$PARSIMONY_PYTHONPATH:}}$AUDIT"
export PARSIMONY_PYTHONPATH
export PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}$AUDIT"
(
{script}
)
status=$?
if [ -f "$AUDIT/hits" ]; then sed 's/^/{_MARK.decode()}/' "$AUDIT/hits"; fi
echo '{_MARK.decode()}done'
exit $status
"""


def _document(name: str, content: str) -> str:
    body = base64.encodebytes(content.encode("utf-8", "surrogateescape")).decode("ascii")
    return f"base64 -d >\"$AUDIT/{name}\" <<'END_OF_FILE'\n{body}END_OF_FILE"


def read_coverage(layout: Layout, log: bytes) -> Coverage | None:
    """What a log of `coverage_task(layout)` says; None when the tracer's lines are not there whole."""
    files = traced_files(layout)
    executable: dict[int, set[int]] = {}
    hits: dict[int, dict[int, set[str]]] = {}
    whole = False
    for line in log.splitlines():
        if not line.startswith(_MARK):
            continue
        words = line.removeprefix(_MARK).decode("ascii", "replace").split()
        whole = whole or words == ["done"]
        if len(words) >= 2 and words[0] == "lines" and words[1].isdecimal():
            numbers = words[2].split(",") if len(words) > 2 else []
            executable.setdefault(int(words[1]), set()).update(int(n) for n in numbers if n.isdecimal())
        elif len(words) == 4 and words[0] == "hit" and words[1].isdecimal() and words[2].isdecimal():
            hits.setdefault(int(words[1]), {}).setdefault(int(words[2]), set()).add(words[3])
    return _coverage(files, executable, hits) if whole else None


def _coverage(
    files: Sequence[tuple[str, tuple[int, ...]]],
    executable: Mapping[int, set[int]],
    hits: Mapping[int, Mapping[int, set[str]]],
) -> Coverage:
    code, covered, other, unloaded = {}, {}, {}, []
    for number, (path, lines) in enumerate(files):
        if number not in executable:
            unloaded.append(path)
            code[path] = lines  # which of them hold code is not known: all count
            continue
        found = hits.get(number, {})
        code[path] = tuple(sorted(executable[number]))
        covered[path] = tuple(n for n in code[path] if found.get(n, set()) & {"gate", "load"})
        other[path] = tuple(n for n in code[path] if found.get(n) == {"other"})
    return Coverage(code, covered, other, tuple(unloaded))
