"""`parsimony plan`: what a sweep would take, before anything of it is executed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from cluster.forecast import Capacity, Estimate, Forecast, forecast, look, read_history
from cluster.grading import busy_slots
from cluster.ledger import LedgerReader
from cluster.plan import Inputs, Plan, load, make_plan
from cluster.pricefile import read_prices
from cluster.rundir import RunFolder
from cluster.session import environments_of_last_plan
from cluster.sweep import Sweep, read_sweep
from parsimony.cli import DONE, PARTIAL, screen
from parsimony.cost_ledger import ComputePrice, PriceTable
from parsimony.errors import InputError


def plan(
    path: Path,
    out: Path | None,
    against: Sequence[Path],
    *,
    nodes: int,
    slots: int | None,
    price: str | None,
    as_json: bool,
) -> int:
    """Say what the sweep `path` would take. Exit status 3 where input rows are rejected."""
    sweep = read_sweep(path)
    inputs = load(sweep)
    found, done, here = _plan(sweep, inputs, out)
    past = [*sweep.against, *against, *([out] if out is not None and (out / "ledger").is_dir() else [])]
    history = read_history(past, {name: task.repo for name, task in inputs.tasks.items() if task.repo})
    made = forecast(
        sweep,
        inputs,
        found,
        done,
        history=history,
        here=here,
        capacity=Capacity(nodes, slots or busy_slots(sweep)),
        prices=_prices(sweep, price),
    )
    if as_json:
        screen.print_json({**made.as_json(), "rejected_rows": len(inputs.rejected)})
    else:
        _print(made, len(inputs.rejected))
    return PARTIAL if inputs.rejected else DONE


def _plan(sweep: Sweep, inputs: Inputs, out: Path | None) -> tuple[Plan, set[str], Any]:
    """The plan, the keys that `out` has executions of, and what is known of images here."""
    images = list(dict.fromkeys(task.image for task in inputs.tasks.values()))
    here = look(sweep, images, {task.image: task.tree is not None for task in inputs.tasks.values()})
    environments = dict(here.environments)
    executed: set[str] = set()
    if out is not None and RunFolder(out).ledger.is_dir():
        reader = LedgerReader(RunFolder(out).ledger)
        executed = {row["execution_key"] for row in reader.rows("execution", ["execution_key"])}
        for image, environment in environments_of_last_plan(reader).items():
            if environment.digest and image in environments and not _is_here(image, here.sizes, sweep):
                environments[image] = environment  # the digest that its newest plan saw
    found = make_plan(sweep, inputs, environments)
    return found, executed & set(found.work), replace(here, environments=environments)


def _is_here(image: str | None, sizes: Mapping[str, int] | None, sweep: Sweep) -> bool:
    return sweep.sandbox.kind == "process" or (sizes is not None and image in sizes)


def _prices(sweep: Sweep, price: str | None) -> PriceTable:
    """Those of the sweep; `price` replaces theirs of computing."""
    table = read_prices(sweep.prices)
    if price is None:
        return table
    try:
        dollars = Decimal(price)
    except InvalidOperation:
        dollars = Decimal(-1)
    if not dollars.is_finite() or dollars < 0 or dollars > 1_000_000:
        mend = "give dollars per hour of a processor, for example 0.04"
        raise InputError(f"is no price (given: {price!r})", mend=mend, field="--price-per-cpu-hour")
    compute = ComputePrice(Fraction(dollars), datetime(1970, 1, 1, tzinfo=UTC).date(), source="the command line")
    return PriceTable(table.models, (compute,), table.files)


def _print(made: Forecast, rejected: int) -> None:
    out = screen.console()
    jobs = made.jobs
    settled = ", ".join(f"{n} {outcome}" for outcome, n in jobs.settled.items())
    out.print(Text(f"{made.sweep}: {jobs.candidates} candidates planned, {jobs.units} with repeats", style="bold"))
    if settled:
        out.print(Text(f"  - {sum(jobs.settled.values())} need no execution: {settled}"))
    if jobs.shared:
        out.print(Text(f"  - {jobs.shared} are the same work as another"))
    out.print(Text(f"  = {jobs.distinct} distinct executions; {jobs.done} are in the folder, {jobs.pending} to do"))
    if rejected:
        out.print(Text(f"  {rejected} input rows are rejected; `run` writes why to rejects.jsonl", style="yellow"))
    out.print()
    out.print(_table(made))
    out.print()
    for line in _lines(made):
        out.print(Text(line))


def _table(made: Forecast) -> Table:
    table = Table(show_edge=False, pad_edge=False)
    table.add_column(f"on {made.nodes} node(s) × {made.slots} at once", no_wrap=True)
    table.add_column("expected", justify="right", no_wrap=True)
    table.add_column(f"{made.level:.0%} interval", justify="right", no_wrap=True)
    table.add_column("at most", justify="right", no_wrap=True)
    table.add_column("", overflow="fold")
    images = made.images
    rows: list[tuple[str, Estimate, str]] = [
        ("wall time", made.wall_seconds, "seconds"),
        ("CPU-hours", made.cpu_hours, "number"),
        ("dollars of grading", made.dollars, "dollars"),
        ("image pulls", images.pulls, "count"),
        ("pulls per node", images.pulls_per_node, "count"),
        ("pulled per node", images.bytes_per_node, "bytes"),
        ("disk for results", made.disk_results, "bytes"),
    ]
    for name, estimate, unit in rows:
        low, high = show(estimate.low, unit), show(estimate.high, unit)
        interval = f"{low} to {high}" if (estimate.low, estimate.high) != (None, None) else "–"
        expected = "unknown" if estimate.expected is None else show(estimate.expected, unit)
        table.add_row(name, expected, interval, show(estimate.at_most, unit), Text(estimate.why))
    return table


def show(value: float | None, unit: str) -> str:
    """A number of a forecast as people write it; `unit` is seconds, bytes, dollars, count or number."""
    if value is None:
        return "–"
    if unit == "seconds":
        return screen.seconds(value)
    if unit == "bytes":
        return f"{value / 2**30:,.1f} GiB" if value >= 2**30 else f"{value / 2**20:,.1f} MiB"
    if unit == "dollars":
        return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"
    if unit == "count":
        return f"{value:,.1f}" if value % 1 else f"{value:,.0f}"
    return f"{value:,.3g}" if value < 100 else f"{value:,.0f}"


def _lines(made: Forecast) -> Iterator[str]:
    levels = {
        "task": "by executions of their own task",
        "image": "by their image",
        "repository": "by their repository",
        "all": "by all executions",
        "unknown": "unknown",
    }
    if made.sources:
        parts = [f"{made.sources[level]} {text}" for level, text in levels.items() if level in made.sources]
        yield f"durations of {made.jobs.pending} jobs: {', '.join(parts)}"
    for path, count in made.history.items():
        yield f"past run: {path} ({count} executions)"
    images = made.images
    if images.distinct:
        here = "no engine was asked" if images.here is None else f"{images.here} are here"
        unknown = f"; the size of {images.unknown_sizes} is unknown" if images.unknown_sizes else ""
        yield f"images: {images.distinct}, {here}{unknown}"
    spent = made.producing
    if spent.tokens or spent.dollars:
        dollars = "dollars unknown" if spent.dollars is None else f"${spent.dollars:,.2f}"
        yield f"producing the candidates is spent already: {spent.tokens:,} tokens, {dollars}"
    if made.jobs.pending and made.wall_seconds.expected is not None and made.images.pulls.expected != 0:
        yield "wall time does not hold the time of pulls"
    for text in made.assumed:
        yield f"assumed: {text}"
