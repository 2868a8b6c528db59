"""`parsimony ablate`: what each mechanism is worth, on a finished run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from rich.table import Table
from rich.text import Text

from parsimony.ablation import Ablation, Evidence, Verdict, ablate
from parsimony.ablation.model import Key, key_of
from parsimony.cli import DONE, NO, PARTIAL, screen
from parsimony.cli.collecting import no_collections
from parsimony.cli.materials import open_run
from parsimony.execution import TestStatus
from parsimony.runs import Run
from parsimony.scorecard import Measurer, Note
from parsimony.testreports import FORMATS


def run(root: Path, *, as_json: bool) -> int:
    """Ablate on the run in `root`. Exit status 1 when a mechanism should go, 3 when one could not be shown."""
    with no_collections():
        found = ablate(_evidence(root))
    if as_json:
        screen.print_json([{**asdict(one), "verdict": one.verdict} for one in found])
    else:
        _print(found)
    if any(one.verdict is Verdict.DELETE for one in found):
        return NO
    return DONE if all(one.verdict for one in found) else PARTIAL


def _evidence(root: Path) -> Evidence:
    finished, materials, base = open_run(root)
    patches = {}
    stages: dict[str, dict[Key, float]] = {}
    for trial in finished.trials:
        material = materials(trial)
        if material is not None:
            patches[key_of(trial)] = material.patch
    for trial, (note, _) in zip(finished.trials, Measurer(base).measure(finished, materials), strict=True):
        for name, value in _measures(note):
            if value is not None:
                stages.setdefault(name, {})[key_of(trial)] = value
    return Evidence(finished, _read_from_logs(root, finished), patches, stages)


def _measures(note: Note) -> Iterator[tuple[str, float | None]]:
    """Measures of stages before the tests, 0 to 1."""
    yield "file recall", note.files.recall if note.files else None
    yield "symbol recall", note.symbols.recall if note.symbols else None
    yield "recovery of obligations", note.planning.recovered if note.planning else None
    yield "the share of patches that apply", float(note.patching.apply) if note.patching else None
    if note.structure is not None and note.structure.of:
        yield "the share of right places that are changed", note.structure.places / note.structure.of


def _read_from_logs(root: Path, finished: Run) -> Mapping[Key, bool]:
    """What a scorer without a witness would say: the gates by the statuses that the printed output claims."""
    found = {}
    for trial in finished.trials:
        task = finished.tasks.get(trial.task_id)
        path = root / trial.log if trial.log else None
        if task is None or path is None or not path.exists():
            continue
        expected = (*task.fail_to_pass, *task.pass_to_pass)
        form = FORMATS[task.log_format]
        report = form.named(form.read(path.read_bytes(), expected), expected)
        passed = {name for name, one in report.tests.items() if one.status in {TestStatus.PASSED, TestStatus.XFAIL}}
        found[key_of(trial)] = set(expected) <= passed
    return found


def _print(found: list[Ablation]) -> None:
    table = Table(title="one mechanism taken away at a time", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("mechanism", max_width=24)
    table.add_column("what gets worse", max_width=34)
    for heading in ("with", "without"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for one in found:
        verdict = Text("not shown", style="yellow") if one.verdict is None else Text(
            one.verdict, style="green" if one.verdict is Verdict.KEEP else "red"
        )  # fmt: skip
        table.add_row(str(one.number), one.mechanism, one.measure, _number(one.with_it), _number(one.without), verdict)
    out = screen.console()
    out.print(table)
    out.print()
    for one in found:
        out.print(Text(f"{one.number}  {one.tells}"))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"
