"""`parsimony compare`: two arms, several arms or several runs; terminal, JSON, page."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.text import Text

from cluster.finished import read_priced_run, read_run
from cluster.ledger import LedgerReader
from cluster.rundir import RunFolder, write_atomically, write_json
from parsimony import ab
from parsimony.cli import DONE, NO, PARTIAL, comparing_screen, screen
from parsimony.cli.collecting import no_collections
from parsimony.cli.comparing_ledger import Place, Standing, stand
from parsimony.cli.comparing_reruns import FOLDER, flaky_of, rerun_flaky
from parsimony.errors import InputError
from parsimony.records import Recommendation
from parsimony.runs import Run


@dataclass(frozen=True, slots=True)
class Request:
    """What `parsimony compare` was asked for. See its help."""

    folders: tuple[Path, ...]
    baseline: str | None = None
    candidates: tuple[str, ...] = ()
    change: tuple[str, ...] = ()
    pool: bool = False
    common: bool = False
    rerun: bool = False
    options: ab.Options = field(default_factory=ab.Options)


@dataclass(frozen=True, slots=True)
class Output:
    """Where results go."""

    as_json: bool = False
    out: Path | None = None
    details: Path | None = None
    page: Path | None = None
    gate: bool = False


def compare(request: Request, output: Output, place: Place) -> int:
    """Compare, and write the comparison into the ledger of sets; the exit status."""
    request.options.check()
    if not request.pool and len(request.folders) > 2:
        mend = "give --pool to take several runs as one, or name a baseline's and a candidate's"
        raise InputError(f"are {len(request.folders)} folders", mend=mend, field="RUN")
    page = output.page or request.folders[0] / "compare.html"
    for path in (output.out, output.details, page):
        _check_folder(path)  # before anything is written down for good
    found, runs = _compared(request)
    if request.rerun and any(one.flakes for one in found) and _rerun(request, quiet=output.as_json):
        found, runs = _compared(request)
    standings = stand(found, runs, place)
    left_out = {task: list(reasons) for run in runs for task, reasons in run.quarantined.items()}
    _write(found, standings, replace(output, page=page), place, left_out)
    if output.as_json:
        screen.print_json(_alone([one.record.to_json() for one in found]))
    else:
        comparing_screen.show(found)
    comparing_screen.show_standings(found, standings, stderr=output.as_json)
    if not output.as_json:
        screen.console().print(Text(f"page: {page}"))
    return _status(found, gate=output.gate)


def _alone(values: list[Any]) -> Any:
    """One value as itself, several as an array."""
    return values[0] if len(values) == 1 else values


def _status(found: Sequence[ab.Comparison], *, gate: bool) -> int:
    if not all(one.complete for one in found):
        return PARTIAL
    kept = all(one.record.result.recommendation is Recommendation.KEEP for one in found)
    return NO if gate and not kept else DONE


def _compared(request: Request) -> tuple[tuple[ab.Comparison, ...], list[Run]]:
    """The comparisons, and the runs that they were made from."""
    with no_collections():
        sources = [_source(folder) for folder in request.folders]
        pairs, names = _pairs(sources, request)
        found = ab.compare(pairs, _changes(request.change, names), request.options)
        return found, [one.run for one, _ in sources]


def _changes(given: Sequence[str], names: Sequence[tuple[str, str]]) -> list[str]:
    """What is under test in each comparison: as given, else the names of the arms."""
    if given and len(given) not in {1, len(names)}:
        mend = f"say what each of the {len(names)} candidates changes, in their order, or say it once"
        raise InputError(f"is given {len(given)} times", mend=mend, field="change")
    if any(not text.strip() for text in given):
        raise InputError("is blank", mend="say in words the one thing that was changed", field="change")
    if len(given) == len(names):
        return list(given)
    return [f"{given[0]}: {after}" if given else f"{before} → {after}" for before, after in names]


# ---- arms


def _pairs(
    sources: Sequence[tuple[ab.Source, tuple[str, ...]]], request: Request
) -> tuple[list[ab.Pair], list[tuple[str, str]]]:
    """The pairs to compare, and the names of their arms."""
    if len(sources) == 2 and not request.pool:
        return _of_two(sources[0], sources[1], request)
    source, notes = sources[0]
    if len(sources) > 1:
        pooled = ab.pool([one.run for one, _ in sources], common=request.common)
        source = ab.Source(pooled.run, _merged([one for one, _ in sources]))
        notes = (*(note for _, told in sources for note in told), *pooled.notes)
    baseline, candidates = ab.choose(source.run, request.baseline, request.candidates)
    base = source.grid(baseline)
    pairs = [
        ab.align(base, source.grid(name), common=request.common, images=(source.images, source.images))
        for name in candidates
    ]
    return [replace(pair, notes=(*notes, *pair.notes)) for pair in pairs], [(baseline, name) for name in candidates]


def _of_two(
    first: tuple[ab.Source, tuple[str, ...]], second: tuple[ab.Source, tuple[str, ...]], request: Request
) -> tuple[list[ab.Pair], list[tuple[str, str]]]:
    (before, notes), (after, more) = first, second
    if len(request.candidates) > 1:
        raise InputError("is given twice", mend="two runs give one candidate", field="candidate")
    if before.run.run_id and before.run.run_id == after.run.run_id and request.baseline is None:
        raise InputError("is compared with itself", mend="name two runs, or two arms", file=after.run.source)
    names = (
        ab.only_arm(before.run, request.baseline, "baseline"),
        ab.only_arm(after.run, request.candidates[0] if request.candidates else None, "candidate"),
    )
    labels = names
    if names[0] == names[1]:
        labels = f"{before.run.source}: {names[0]}", f"{after.run.source}: {names[1]}"
    pair = ab.align(
        before.grid(names[0], labels[0]),
        after.grid(names[1], labels[1]),
        common=request.common,
        images=(before.images, after.images),
    )
    return [replace(pair, notes=(*notes, *more, *pair.notes))], [labels]


def _source(folder: Path) -> tuple[ab.Source, tuple[str, ...]]:
    """A run without its quarantined tasks, with what was graded again beside it, and notes about both."""
    whole = read_priced_run(folder)
    counted = whole.counted()
    source, notes = _with_reruns(folder, ab.located(whole))
    if counted is whole:
        return source, notes
    named = [f"{task} ({'; '.join(reasons)})" for task, reasons in whole.quarantined.items()]
    told = f"{len(named)} of {len(whole.tasks)} tasks of {folder} are quarantined and take no part: {', '.join(named)}"
    return replace(source, run=source.run.without(whole.quarantined)), (*notes, told)


def _with_reruns(folder: Path, run: Run) -> tuple[ab.Source, tuple[str, ...]]:
    """A run with what was graded again beside it, and notes about that."""
    images = _images(folder)
    again = folder / FOLDER
    if not (again / "outcomes.jsonl").exists():
        return ab.Source(run, images), ()
    more = ab.located(read_priced_run(again))
    flaky = {(trial.task_id, trial.arm, trial.seed) for trial in more.trials}
    told = f"{len(more.trials)} further executions of {len(flaky)} flaky candidates in {again}"
    theirs = _images(again)
    if any(images.get(image) != digest for image, digest in theirs.items()):
        return ab.Source(run, images), (f"{told} do not count: they ran in another environment than the run",)
    # The plan of that folder holds the flaky tasks alone: its digests are those of a part of the same rows.
    more = replace(more, settings={arm: run.settings[arm] for arm in more.settings if arm in run.settings})
    return ab.Source(ab.pool([run, more]).run, images), (f"{told} count",)


def _images(folder: Path) -> dict[str, str | None]:
    """Digests of the environments by image, of the newest plan."""
    found: dict[str, str | None] = {}
    for row in LedgerReader(RunFolder(folder).ledger).rows("event", ["name", "data"]):
        if row["name"] == "run.planned":
            found = json.loads(row["data"])["environments"]
    return found


def _merged(sources: Sequence[ab.Source]) -> Mapping[str, str | None]:
    """The environments of all, refused where two runs disagree about an image."""
    found: dict[str, str | None] = {}
    for source in sources:
        for image, digest in source.images.items():
            if found.setdefault(image, digest) != digest:
                problem = f"of {image} is {digest}, and {found[image]} in an earlier run"
                mend = "pool only runs that were graded in the same environments"
                raise InputError(problem, mend=mend, file=source.run.source, field="environment_image")
    return found


# ---- flaky candidates


def _rerun(request: Request, *, quiet: bool) -> bool:
    """Grade the flaky candidates again; whether there were any."""
    arms = {name for name in (request.baseline, *request.candidates) if name is not None}
    done = [rerun_flaky(folder, flaky_of(read_run(folder), arms), as_json=quiet) for folder in request.folders]
    return any(done)


# ---- files


def _write(
    found: Sequence[ab.Comparison],
    standings: Sequence[Standing],
    output: Output,
    place: Place,
    left_out: Mapping[str, Sequence[str]],
) -> None:
    """The record, what it rests on, the page, and beside the record (else the page) what it may be called."""
    from parsimony.report.comparison_page import comparison_page

    assert output.page is not None
    told = [
        standing.as_json(one.record.change_under_test, place.ledger)
        for one, standing in zip(found, standings, strict=True)
    ]
    if output.out is not None:
        write_json(output.out, _alone([one.record.to_json() for one in found]))
    if output.details is not None:
        both = zip(found, told, strict=True)
        also = {"quarantined": left_out}
        write_json(output.details, [{**ab.details(one), "standing": standing, **also} for one, standing in both])
    page = comparison_page(found, beside=output.page.parent, standings=[(one.claim, one.note) for one in standings])
    write_atomically(output.page, page.encode("utf-8", "replace"))
    write_json((output.out or output.page).with_suffix(".claim.json"), _alone(told))


def _check_folder(path: Path | None) -> None:
    if path is not None and (not path.parent.is_dir() or path.is_dir()):
        problem = "is a folder" if path.is_dir() else "is in a folder that is not there"
        raise InputError(problem, mend="name a file in a folder that is there", file=os.fspath(path))
