"""The commands that say what a change did: scorecard, diagnose, compare."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from parsimony.cli.ledgerfile import DEFAULT_LEDGER, DEFAULT_MODELS, Ledger, Models
from parsimony.cli.options import (
    Json,
    RunDir,
)

Prices = Annotated[
    list[Path] | None,
    typer.Option("--prices", metavar="FILE", help="A price file; may be repeated. Default: those of the sweep."),
]
AsOf = Annotated[
    str | None, typer.Option("--as-of", metavar="DATE", help="Prices of this day. Default: the day of each cost.")
]
CpuHour = Annotated[
    float | None, typer.Option("--cpu-hour", metavar="DOLLARS", min=0, help="What an hour of a processor costs you.")
]


def scorecard(
    folder: RunDir,
    *,
    prices: Prices = None,
    as_of: AsOf = None,
    cpu_hour: CpuHour = None,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Also write scorecard.html.")] = True,
    json: Json = False,
) -> None:
    """Where in the coding loop each candidate was won or lost: writes scorecards.jsonl and scorecard-notes.jsonl."""
    from parsimony.cli import costs, scorecards

    pricing = scorecards.Pricing(tuple(prices or ()), costs.parse_day(as_of), cpu_hour)
    raise typer.Exit(scorecards.scorecard(folder, pricing, page=page, as_json=json))


def diagnose(
    folder: RunDir,
    other: Annotated[Path | None, typer.Argument(metavar="DIR", help="A second run, which has the candidate.")] = None,
    *,
    baseline: Annotated[str | None, typer.Option("--baseline", metavar="ARM", help="Arm before the change.")] = None,
    candidate: Annotated[str | None, typer.Option("--candidate", metavar="ARM", help="Arm after it.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Also write a page.")] = None,
    json: Json = False,
) -> None:
    """Which stage a change moved, what is noise, and which stage is the bottleneck now, in one sentence and a table."""
    from parsimony.cli import scorecards

    raise typer.Exit(scorecards.diagnose_runs(scorecards.Sides(folder, other, baseline, candidate), out, as_json=json))


def ablate(folder: RunDir, *, json: Json = False) -> None:
    """What each mechanism is worth: one taken away at a time, on a finished run, and what a reader would then be told.

    Exit status: 0 all are worth keeping; 1 one makes no difference here; 3 one could not be shown on this run.
    """
    from parsimony.cli import ablations

    raise typer.Exit(ablations.run(folder, as_json=json))


def invariants(
    folder: RunDir,
    *,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", envvar="PARSIMONY_LEDGER", metavar="FILE", help="The ledger of sets.")
    ] = None,
    json: Json = False,
) -> None:
    """Check what must always hold: on the code that is installed here, and on a run.

    Exit status: 0 all hold; 1 one is broken; 3 one could not be checked.
    """
    from parsimony.cli import invariants as checks

    raise typer.Exit(checks.run(folder, ledger, as_json=json))


def cost(
    folder: RunDir,
    *,
    prices: Prices = None,
    as_of: AsOf = None,
    reconcile: Annotated[
        bool, typer.Option("--reconcile/--no-reconcile", help="Compare with the run's ledger, row by row.")
    ] = True,
    rows: Annotated[
        Path | None, typer.Option("--rows", metavar="FILE", help="Write every single cost as a line of JSON.")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option("--ledger", metavar="FILE", help="Append the totals to this append-only ledger.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE", help="The page. Default: cost.html in the run's folder.")
    ] = None,
    json: Json = False,
) -> None:
    """What each arm cost, in producing and in grading, per resolved task; and which arm is worth its price.

    Exit status: 0 done; 1 the sums do not agree with the ledger; 3 a verdict is missing, or a cost is not known.
    """
    from parsimony.cli import costs

    day = costs.parse_day(as_of)
    request = costs.Request(folder, tuple(prices or ()), day, reconcile, rows, ledger, page)
    raise typer.Exit(costs.run(request, as_json=json))


class Spending(StrEnum):
    """How looks at growing data share the error."""

    obrien_fleming = "obrien-fleming"
    pocock = "pocock"


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN [CAND]", help="A run, or a baseline's and a candidate's.")],
    *,
    baseline: Annotated[str | None, typer.Option("--baseline", metavar="ARM", help="Arm before the change.")] = None,
    candidate: Annotated[
        list[str] | None, typer.Option("--candidate", metavar="ARM", help="Arm with it; may be repeated. Default: all.")
    ] = None,
    change: Annotated[
        list[str] | None, typer.Option("--change", help="The one thing that was changed; once, or once per candidate.")
    ] = None,
    pool: Annotated[bool, typer.Option("--pool", help="Take all RUNs as one: more seeds, tasks or repeats.")] = False,
    common: Annotated[bool, typer.Option("--common", help="Keep only tasks and seeds that both sides have.")] = False,
    rerun_flaky: Annotated[
        bool, typer.Option("--rerun-flaky", help="First grade candidates whose repeats disagree 5 times more.")
    ] = False,
    alpha: Annotated[float, typer.Option("--alpha", help="Chance of a false yes, all comparisons together.")] = 0.05,
    smallest_effect: Annotated[
        float, typer.Option("--smallest-effect", metavar="RATE", help="Differences under this are of no interest.")
    ] = 0.02,
    power: Annotated[float, typer.Option("--power", help="For what could be detected, and for seeds needed.")] = 0.8,
    cost_bound: Annotated[
        float, typer.Option("--cost-bound", metavar="TIMES", help="What one more resolved may cost, of the usual cost.")
    ] = 10.0,
    most_per_task: Annotated[
        float | None, typer.Option("--most-per-task", metavar="AMOUNT", help="The same in dollars (tokens, seconds).")
    ] = None,
    look: Annotated[int, typer.Option("--look", metavar="K", help="Which look at growing data this is.")] = 1,
    of: Annotated[int, typer.Option("--of", metavar="N", help="How many looks are planned.")] = 1,
    spending: Annotated[Spending, typer.Option("--spending", help="How looks share alpha.")] = Spending.obrien_fleming,
    gate: Annotated[bool, typer.Option("--gate", help="Exit status 1 unless the recommendation is keep.")] = False,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write the ABComparison as JSON.")] = None,
    details: Annotated[
        Path | None, typer.Option("--details", metavar="FILE", help="Write all that it rests on as JSON.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE", help="The page. Default: compare.html in the run's folder.")
    ] = None,
    record: Annotated[
        bool, typer.Option("--record/--no-record", help="Write it into the ledger, if its tasks are in a set there.")
    ] = True,
    ledger: Ledger = DEFAULT_LEDGER,
    models: Models = DEFAULT_MODELS,
    json: Json = False,
) -> None:
    """Did the change help? How much, how sure, at what cost: keep, reject or pare back, under one frozen config.

    Exit status: 0 done; 1 with --gate unless the recommendation is keep; 2 cannot compare; 3 verdicts are missing.
    """
    from parsimony import ab
    from parsimony.cli import comparing
    from parsimony.cli.comparing_ledger import Place

    options = ab.Options(
        alpha, smallest_effect, power, ab.Bound(cost_bound, most_per_task), ab.Look(look, of, spending.value)
    )
    arms, changes = tuple(candidate or ()), tuple(change or ())
    request = comparing.Request(tuple(runs), baseline, arms, changes, pool, common, rerun_flaky, options)
    output = comparing.Output(json, out, details, page, gate)
    raise typer.Exit(comparing.compare(request, output, Place(ledger, models, record)))


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command()(scorecard)
    app.command()(diagnose)
    app.command()(cost)
    app.command()(ablate)
    app.command()(invariants)
    app.command()(compare)
