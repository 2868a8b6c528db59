"""What traces the lines that a fix adds while the tests run, by language. A tracer is a text that runs inside of the
task's image; it appends what it sees to the file AUDIT_HITS, a line each (`inimage/tracer.py`, `inimage/coverage.cjs`).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any, Final, Protocol

from parsimony.audit.layout import SCRIPTS, Layout
from parsimony.audit.mutants import added_lines, fixed_sources
from parsimony.audit.resources import text
from parsimony.audit.script_source import code_places, is_script, read_script, utf16_length
from parsimony.errors import InputError
from parsimony.testreports import FORMATS

Files = tuple[tuple[str, tuple[int, ...]], ...]
Words = Sequence[Sequence[str]]
"""What a tracer said, line by line."""

_MARK_OF_ORDER: Final = b"\xef\xbb\xbf"


class Tracer(Protocol):
    """What traces one task.

    Attributes:
        files: those that are looked at, with the numbers of the lines that count when the tracer is silent on a file.
    """

    @property
    def files(self) -> Files:
        """See above."""

    def prepare(self) -> str:
        """Text of a shell that sets the tracer up for what comes after it, in the folder $AUDIT."""

    def problem(self, said: Words) -> str:
        """Why what the tracer said is no measurement; empty when it is one."""


def tracer_of(layout: Layout) -> Tracer | str:
    """The tracer for the tests of a task; in words why there is none."""
    log_format = layout.task.log_format
    make = _TRACERS.get(FORMATS[log_format].language)
    if make is None:
        return f"lines are traced in Python and JavaScript, and the tests are read as {log_format}"
    try:
        return make(layout)
    except InputError as error:
        return f"which lines hold code is not known: {error}"


def _plan(files: Sequence[Any], layout: Layout) -> str:
    """The file of that name in $AUDIT, which knows where the tree is, and the name of the file for the hits."""
    plan = json.dumps({"root": "@ROOT@", "files": files, "gates": layout.task.fail_to_pass})
    root, end = plan.split('"@ROOT@"')
    return f"""{_document("begin", root)}
{_document("end", end)}
{{ cat "$AUDIT/begin"; printf '"%s"' "$PWD"; cat "$AUDIT/end"; }} >"$AUDIT/plan"
export AUDIT_PLAN="$AUDIT/plan" AUDIT_HITS="$AUDIT/hits"
"""


def _document(name: str, content: str) -> str:
    body = base64.encodebytes(content.encode("utf-8", "surrogateescape")).decode("ascii")
    return f"base64 -d >\"$AUDIT/{name}\" <<'END_OF_FILE'\n{body}END_OF_FILE"


# ---- Python


@dataclass(frozen=True, slots=True)
class PythonTracer:
    """`sys.settrace`; which lines hold code, the task's own interpreter says."""

    layout: Layout
    files: Files

    def prepare(self) -> str:
        """As `Tracer` says."""
        return f"""{_document("sitecustomize.py", text("tracer.py"))}
{_plan([[path, list(lines)] for path, lines in self.files], self.layout)}
PARSIMONY_PYTHONPATH="${{PARSIMONY_PYTHONPATH:+$PARSIMONY_PYTHONPATH:}}$AUDIT"
export PARSIMONY_PYTHONPATH
export PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}$AUDIT"
"""

    def problem(self, said: Words) -> str:
        """As `Tracer` says."""
        return ""


def _python(layout: Layout) -> Tracer | str:
    files = tuple((p, tuple(sorted(lines))) for p, lines in added_lines(layout).items() if p.endswith(".py"))
    return PythonTracer(layout, files) if files else "the fix adds no line to a Python file"


# ---- JavaScript


@dataclass(frozen=True, slots=True)
class ScriptTracer:
    """V8's block coverage; which lines hold code, and where on them, our own parser says.

    Attributes:
        places: by file, the offsets of code by line (`parsimony.audit.script_source.code_places`).
        sources: by file, the text that has to run.
    """

    layout: Layout
    places: Mapping[str, Mapping[int, Sequence[int]]]
    sources: Mapping[str, bytes]

    @property
    def files(self) -> Files:
        """As `Tracer` says."""
        return tuple((path, tuple(places)) for path, places in self.places.items())

    def prepare(self) -> str:
        """As `Tracer` says."""
        files = [
            {
                "path": path,
                "sha256": sha256(source).hexdigest(),
                "length": utf16_length(source) - source.startswith(_MARK_OF_ORDER),
                "places": self.places[path],
            }
            for path, source in self.sources.items()
        ]
        return f"""{_document("coverage.cjs", text("coverage.cjs"))}
{_plan(files, self.layout)}
case $AUDIT in
*[[:space:]]*) NODE_OPTIONS="--require=\\"$AUDIT/coverage.cjs\\"${{NODE_OPTIONS:+ $NODE_OPTIONS}}" ;;
*) NODE_OPTIONS="--require=$AUDIT/coverage.cjs${{NODE_OPTIONS:+ $NODE_OPTIONS}}" ;;
esac
export NODE_OPTIONS"""

    def problem(self, said: Words) -> str:
        """As `Tracer` says."""
        serious = ("problem",) if ["ready"] in said else ("problem", "blind")
        for words in said:
            if words and words[0] in serious:
                return " ".join(words[1:])
        if ["began"] not in said:
            return "no FAIL_TO_PASS test was seen to begin in a process of Node.js"
        loaded = {words[1] for words in said if words[:1] == ["lines"] and len(words) > 1}
        for number, path in enumerate(self.places):
            if str(number) in loaded:
                continue
            if ["transformed", str(number)] in said:
                return f"{path} is compiled from another text than its own"
            if PurePosixPath(path).suffix not in SCRIPTS:
                return f"{path} is not loaded itself: what runs is made of it before"
        return ""


def _script(layout: Layout) -> Tracer | str:
    added = {path: lines for path, lines in added_lines(layout).items() if is_script(path)}
    if not added:
        return "the fix adds no line to a file of JavaScript or TypeScript"
    _, after = fixed_sources(layout)
    sources = {path: after[path] for path in added}
    places = {
        path: code_places(read_script(PurePosixPath(path).suffix, source), added[path])
        for path, source in sources.items()
    }
    return ScriptTracer(layout, places, sources)


_TRACERS: Final = {"python": _python, "javascript": _script}
