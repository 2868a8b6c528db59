"""`parsimony horizon`: the time horizon of each arm of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from cluster.finished import read_run
from cluster.rundir import write_atomically
from parsimony.cli import DONE, NO, PARTIAL, screen
from parsimony.cli.collecting import no_collections
from parsimony.errors import InputError
from parsimony.horizon import Horizon, Minutes, Observations, Options, State, Weighting, estimate, observe, read_minutes
from parsimony.horizon.wording import interval, told
from parsimony.runs import Run


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked for. See the help of the command."""

    root: Path
    minutes: Path
    arms: tuple[str, ...]
    weights: str
    regularization: float
    bootstrap: int
    seed: int

    def options(self) -> Options:
        """As options of the estimate."""
        return Options(Weighting(self.weights), self.regularization, self.bootstrap, self.seed)


@dataclass(frozen=True, slots=True)
class ArmHorizon:
    """One arm.

    Attributes:
        bounds: h50 with every missing run counted as a failure, and as a success; None where nothing is missing. An end
            is None where there is no horizon then.
    """

    seen: Observations
    found: Horizon
    bounds: tuple[float | None, float | None] | None


def run(request: Request, page: Path | None, *, as_json: bool) -> int:
    """Tell horizons; the exit status."""
    options = request.options()
    options.check()
    times, rejected = read_minutes(request.minutes)
    with no_collections():
        finished, notes = _usable(read_run(request.root))
    arms = [_of_arm(finished, arm, times, options, request.minutes) for arm in _arms(finished, request.arms)]
    if page is not None:
        from parsimony.report.horizon_page import horizon_page

        parts = [(one.seen.arm, one.found, _lines(one)) for one in arms]
        text = horizon_page(finished.name, parts, options, [*notes, *map(str, rejected)])
        write_atomically(screen.writable(page), text.encode("utf-8", "replace"))
    for error in rejected:
        screen.console(stderr=True).print(Text(f"rejected: {error}"))
    if as_json:
        screen.print_json({"options": asdict(options), "notes": notes, "arms": [_json(one) for one in arms]})
    else:
        _print(finished.name, arms, notes, options)
        if page is not None:
            screen.console().print(Text(f"page: {page}"))
    return _status(arms, rejected)


def _status(arms: Sequence[ArmHorizon], rejected: Sequence[InputError]) -> int:
    estimated = [one.found.state is State.ESTIMATED for one in arms]
    if not any(estimated):
        return NO
    whole = all(estimated) and not rejected and not any(one.seen.missing or one.seen.untimed for one in arms)
    return DONE if whole else PARTIAL


def _usable(run: Run) -> tuple[Run, list[str]]:
    """A run without its quarantined tasks, and what there is to say about them."""
    if not run.quarantined:
        return run, []
    named = ", ".join(sorted(run.quarantined)[:5]) + (" and others" if len(run.quarantined) > 5 else "")
    return run.without(run.quarantined), [f"{len(run.quarantined)} tasks are quarantined and take no part: {named}"]


def _arms(run: Run, wanted: Sequence[str]) -> Sequence[str]:
    for arm in wanted:
        if arm not in run.arms:
            raise InputError(f"has no arm {arm!r}", mend=f"it has {', '.join(run.arms)[:300]}", file=run.source)
    return tuple(dict.fromkeys(wanted)) or run.arms


def _of_arm(run: Run, arm: str, times: Mapping[str, Minutes], options: Options, file: Path) -> ArmHorizon:
    seen = observe(run, arm, times)
    if not seen.tasks:
        known = ", ".join(sorted(run.tasks)[:3])
        raise InputError(
            f"tells no time of a task of arm {arm!r} that has a verdict", mend=f"its tasks are called like {known}",
            file=str(file), field="task_id",
        )  # fmt: skip
    bounds = None
    if seen.missing:
        ends = [estimate(seen.filled(score), replace(options, draws=0)) for score in (0.0, 1.0)]
        bounds = ends[0].h50, ends[1].h50
    return ArmHorizon(seen, estimate(seen.tasks, options), bounds)


def _lines(one: ArmHorizon) -> list[str]:
    """What a reader must know about an arm."""
    lines = [one.found.reason] if one.found.reason else []
    lines += one.found.notes
    if one.seen.missing:
        ends = " to ".join("none" if end is None else told(end, one.found) for end in one.bounds or ())
        lines.append(
            f"{one.seen.missing_runs} runs have no verdict and take no part; h50 if they failed or succeeded: {ends}"
        )
    if one.seen.untimed:
        named = ", ".join(one.seen.untimed[:3]) + (" and others" if len(one.seen.untimed) > 3 else "")
        lines.append(f"{len(one.seen.untimed)} tasks have no time and take no part: {named}")
    return lines


def _json(one: ArmHorizon) -> dict[str, Any]:
    found = asdict(one.found)
    found.pop("curve")
    return {
        "arm": one.seen.arm,
        **found,
        "missing_runs": one.seen.missing_runs,
        "missing_bounds_h50": one.bounds,
        "untimed": list(one.seen.untimed),
    }


def _print(name: str, arms: Sequence[ArmHorizon], notes: Sequence[str], options: Options) -> None:
    out = screen.console()
    table = Table(title=f"{name}: time horizon by arm", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("arm", overflow="fold", max_width=24)
    for heading in ("tasks", "runs", "success", "h50", f"{100 * options.level:.3g} % interval", "h80"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(f"{100 * options.level:.3g} % interval", justify="right", no_wrap=True)
    for one in arms:
        found = one.found
        cells = [str(found.tasks), str(found.runs), screen.percent(found.rate)]
        for value, ends in ((found.h50, found.interval50), (found.h80, found.interval80)):
            cells += [told(value, found), interval(ends, found)]
        table.add_row(Text(one.seen.arm), *cells)
    out.print(table)
    for line in notes:
        out.print(Text(line))
    for one in arms:
        for line in _lines(one):
            out.print(Text(f"{one.seen.arm}: {line}"))
