"""The probe: a task whose tests are a look at its own image. What it prints is read from the log of the execution.

It runs on the base tree, before any candidate, so that what it prints is not a candidate's word.
"""

from __future__ import annotations

import base64
import binascii
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from parsimony import patches
from parsimony.audit.layout import Layout, fix_results, fixed_paths, wanted
from parsimony.audit.resources import text
from parsimony.contamination.leaks import is_trivial, normalised
from parsimony.execution import MIB
from parsimony.runner.sources import sources
from parsimony.tasks import Task

_MARK: Final = b"parsimony-probe "
_LEAST_TIMEOUT: Final = 600.0
_OUTPUT: Final = 32 * MIB


@dataclass(slots=True)
class Facts:
    """What the probe saw.

    Attributes:
        files: path -> content of the wanted files of the base tree.
        head: the commit that is checked out. tree: digest of the state that a grading starts from.
        commits: how many commits HEAD does not reach. later: of them those not older than HEAD, `seconds id subject`,
            the first five; later_count: all of them.
        blobs: how many blobs HEAD does not reach; blob_lines: distinct lines of the fix that stand in them.
        lines: distinct lines of the fix that are not trivial and not in the files that it changes.
        fix: path -> where git has the content that the fix gives it: `absent`, `own` (history of HEAD), `stray`.
        copies: files outside of the work tree with all those lines. twins: the same inside of it.
        problems: what could not be looked at.
        whole: whether the probe came to its end.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    head: str = ""
    tree: str = ""
    commits: int = 0
    later: list[str] = field(default_factory=list)
    later_count: int = 0
    blobs: int = 0
    blob_lines: int = 0
    lines: int = 0
    fix: dict[str, str] = field(default_factory=dict)
    copies: list[str] = field(default_factory=list)
    twins: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    whole: bool = False


def probe_task(task: Task) -> Task:
    """The task with the probe for its tests; graded with an empty patch."""
    limits = replace(task.limits, timeout_s=max(_LEAST_TIMEOUT, task.limits.timeout_s), output_bytes=_OUTPUT)
    return replace(
        task, test_cmd=_script(task), eval_script=None, build_cmd=None, test_patch=b"", test_files=(), limits=limits
    )


def _script(task: Task) -> str:
    fixed = fixed_paths(task)
    parts = [
        'T=$(mktemp -d "${TMPDIR:-/tmp}/probe.XXXXXX") || exit 1',
        f"IN_IMAGE={int(task.tree is None)}",
        'mkdir "$T/fix"',
        _document("fix.patch", task.patch),
        _document("lines", b"".join(line + b"\n" for line in telling_lines(task.patch))),
        ': >"$T/base"',
        text("probe.sh"),
        *_calls("file", wanted(task)),
        "look_at_tree",
        *_calls("before", fixed),
        "apply_fix",
        "look_at_objects",
        *_calls("after", fix_results(task)),
        "look_at_work_tree",
        *_calls("copies", sources(task, ())[:20]),
        "say done",
        'rm -rf "$T"',
    ]
    return "\n".join(parts) + "\n"


def _document(name: str, data: bytes) -> str:
    body = base64.encodebytes(data).decode("ascii")
    return f"base64 -d >\"$T/{name}\" <<'END_OF_FILE'\n{body}END_OF_FILE"


def _calls(function: str, paths: Iterable[str]) -> list[str]:
    return [f"{function} {number} {shlex.quote(path)}" for number, path in enumerate(paths)]


def telling_lines(patch: bytes) -> list[bytes]:
    """Distinct lines that a patch adds and that are not trivial (`parsimony.contamination.leaks`), as they are."""
    added = (
        line[1:].rstrip(b"\n")
        for file in patches.parse(patch).files
        for hunk in file.hunks
        for line in hunk.body
        if line.startswith(b"+")
    )
    return list(
        dict.fromkeys(
            line for line in added if b"\0" not in line and not is_trivial(normalised(line.decode("utf-8", "replace")))
        )
    )


def read_facts(task: Task, log: bytes) -> Facts:
    """What a log of `probe_task(task)` says. Lines that are not the probe's are passed over."""
    facts = Facts()
    files, results = wanted(task), fix_results(task)
    for line in log.splitlines():
        if line.startswith(_MARK):
            name, _, value = line.removeprefix(_MARK).partition(b" ")
            _take(facts, name.decode("ascii", "replace"), value.strip(), files, results)
    if not facts.whole:
        facts.problems.append("the probe did not come to its end")
    return facts


def _take(facts: Facts, name: str, value: bytes, files: Sequence[str], results: Sequence[str]) -> None:
    words = value.decode("utf-8", "surrogateescape")
    first, _, rest = words.partition(" ")
    match name:
        case "head" | "tree":
            setattr(facts, name, words)
        case "commits" | "later_count" | "blobs" | "blob_lines" | "lines":
            setattr(facts, name, int(words) if words.isdecimal() else 0)
        case "later":
            facts.later.append(words)
        case "copy":
            facts.copies.append(words)
        case "twin":
            facts.twins.append(words)
        case "problem":
            facts.problems.append(words)
        case "done":
            facts.whole = True
        case "file" if (path := _numbered(files, first)) is not None:
            try:
                facts.files[path] = base64.b64decode(rest, validate=True)
            except binascii.Error:
                facts.problems.append(f"{path} was not read whole")
        case "fix" if (path := _numbered(results, first)) is not None:
            facts.fix[path] = rest.partition(" ")[0]
        case "large" if (path := _numbered(files, first)) is not None:
            facts.problems.append(f"{path} is larger than 1 MiB and was not read")


def _numbered(paths: Sequence[str], number: str) -> str | None:
    return paths[int(number)] if number.isdecimal() and int(number) < len(paths) else None


def layout_of(task: Task, facts: Facts) -> Layout:
    """The base tree, from what the probe saw."""
    return Layout(task, facts.files)
