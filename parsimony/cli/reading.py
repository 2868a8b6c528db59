"""Commands that read a run: status, show, report, export."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cluster import exports, results
from cluster.ledger import LedgerReader
from cluster.rows import unpack_tests
from cluster.rundir import RunFolder, read_jsonl
from parsimony.cli import DONE, PARTIAL, ledgerfile, screen
from parsimony.errors import InputError


def read_summary(folder: RunFolder) -> dict[str, Any]:
    """The summary of a run that ended at least once.

    Raises:
        InputError: there is none yet, or it is damaged.
    """
    try:
        summary: dict[str, Any] = json.loads(folder.summary.read_bytes())
    except OSError:
        mend = "give it the same command again; it goes on where it stopped"
        raise InputError("the run was interrupted before its first summary", mend=mend, file=str(folder.root)) from None
    except ValueError:
        mend = f"run `parsimony regrade {folder.root}`"
        raise InputError("is not JSON", mend=mend, file=str(folder.summary)) from None
    return summary


def read_footprints(folder: RunFolder) -> list[dict[str, Any]]:
    """The footprints of a run; none where it was graded without, or by an older version."""
    return list(read_jsonl(folder.footprints)) if folder.footprints.exists() else []


def status(root: Path, *, as_json: bool) -> int:
    """Census, outcomes and rates. While a run goes on, the counts come from its ledger."""
    folder = RunFolder.existing(root)
    live = results.live_counts(LedgerReader(folder.ledger))
    summary = read_summary(folder) if folder.summary.exists() else None
    if as_json:
        screen.print_json({"summary": summary, "ledger": live})
    else:
        out = screen.console()
        running = live["planned"] - live["recorded"] if live["planned"] is not None else None
        out.print(
            f"ledger: {live['recorded']} verdicts from {live['executions']} executions, {live['attempts']} attempts"
        )
        if running:
            out.print(f"{running} of {live['planned']} planned have no verdict yet")
        if summary is not None:
            print_summary(summary, folder)
    complete = summary is not None and summary["census"]["complete"] and not summary["census"]["rejected_rows"]
    return DONE if complete else PARTIAL


def print_summary(summary: Mapping[str, Any], folder: RunFolder) -> None:
    """The scoreboard and what stands beside it."""
    out = screen.console()
    out.print()
    out.print(screen.scoreboard(summary))
    out.print()
    out.print(Text(screen.census_line(summary)))
    for flake in summary["flaky"][:5]:
        named = f"{flake['task_id']}, arm {flake['arm']}, seed {flake['seed']}"
        out.print(Text(f"flaky: {named}: " + ", ".join(f"{o} × {n}" for o, n in flake["outcomes"].items())))
    told = (
        screen.quarantine_lines(summary),
        screen.robustness_lines(summary),
        screen.spent_lines(summary),
        screen.budget_lines(summary),
        screen.forecast_lines(summary),
    )
    for line in (line for lines in told for line in lines):
        out.print(Text(line))
    if folder.report.exists():
        out.print(Text(f"report: {folder.report}"))


def find_line(folder: RunFolder, task: str, arm: str | None, seed: int | None) -> dict[str, Any]:
    """The outcome line that the words mean.

    Raises:
        InputError: none or several fit; names them.
    """
    lines = list(read_jsonl(folder.outcomes))
    fits = [x for x in lines if x["task_id"] == task] or [x for x in lines if x["task_id"].endswith(task)]
    if not fits:
        known = ", ".join(dict.fromkeys(x["task_id"] for x in lines[:400]))
        raise InputError(f"has no task {task!r}", mend=f"known: {known[:600]}", file=str(folder.root))
    chosen = [x for x in fits if (arm is None or x["arm"] == arm) and (seed is None or x["seed"] == seed)]
    choices = {(x["task_id"], x["arm"], x["seed"]) for x in chosen}
    if len(choices) != 1:
        offered = sorted(choices or {(x["task_id"], x["arm"], x["seed"]) for x in fits})
        listed = "; ".join(f"{t} --arm {a} --seed {s}" for t, a, s in offered[:8])
        problem = f"has {len(choices) or 'no'} candidates of {task!r}" + ("" if choices else " of that arm and seed")
        raise InputError(problem, mend=f"say which: {listed}", file=str(folder.root))
    return chosen[0]


def show(root: Path, task: str, arm: str | None, seed: int | None, *, log_lines: int, as_json: bool) -> int:
    """One candidate in full."""
    folder = RunFolder.existing(root)
    line = find_line(folder, task, arm, seed)
    execution = results.execution_of(LedgerReader(folder.ledger), line["execution_key"])
    tests = {name: one.status.value for name, one in unpack_tests(execution["tests"]).items()} if execution else {}
    log = (folder.root / execution["log_file"]) if execution and execution["log_file"] else None
    if as_json:
        shown = {k: v for k, v in (execution or {}).items() if k not in {"tests", "applied_patch"}}
        screen.print_json({"outcome": line, "execution": json.loads(json.dumps(shown, default=str)), "tests": tests})
        return DONE
    out = screen.console()
    _print_verdict(out, line, execution)
    for text in _footprint_lines(folder, line):
        out.print(Text(text))
    if tests:
        out.print()
        out.print(_tests_table(tests))
    if log is not None and log.exists() and log_lines:
        _, *tail = log.read_bytes().rsplit(b"\n", log_lines + 1) if log.stat().st_size else [b""]
        out.print(f"\n[bold]log[/bold] {escape(str(log))}, last lines")
        out.print(Text(b"\n".join(tail or [log.read_bytes()]).decode("utf-8", "replace").strip()))
    if execution and execution["applied_patch"]:
        patch = execution["applied_patch"].decode("utf-8", "replace")
        out.print(f"\n[bold]patch as applied[/bold] ({execution['apply_strategy']})")
        out.print(Text(patch if len(patch) < 6000 else patch[:6000] + f"\n… {len(patch) - 6000:,} characters more"))
    return DONE


def _print_verdict(out: Any, line: Mapping[str, Any], execution: Mapping[str, Any] | None) -> None:
    out.print(Text.assemble((line["task_id"], "bold"), f"  arm {line['arm']}  seed {line['seed']}"))
    out.print(Text.assemble(screen.outcome_text(line["outcome"]), f"  (evidence: {line['evidence']})"))
    for reason in line["reasons"]:
        out.print(Text(f"  · {reason}"))
    if line["score"]:
        for gate in ("fail_to_pass", "pass_to_pass"):
            found = line["score"][gate]
            out.print(Text(f"{gate.upper()}: {found['passed']} of {found['total']} ({found['verdict']})"))
    if execution:
        out.print(
            f"{screen.seconds(execution['wall_seconds'])} wall, {screen.seconds(execution['cpu_seconds'])} CPU, "
            f"peak {screen.mebibytes(execution['peak_memory_bytes'])}, {line['attempts']} attempt(s), "
            f"sandbox {execution['sandbox']}"
        )
        for title in ("repairs", "restored"):
            if execution[title]:
                out.print(Text(f"{title}: {', '.join(execution[title])}"))
        if line["outcome"] == "does_not_apply" and execution["apply_messages"]:
            out.print(Text(execution["apply_messages"]))


def _footprint_lines(folder: RunFolder, line: Mapping[str, Any]) -> Iterator[str]:
    """The footprint of the candidate of an outcome line, in words."""
    wanted = line["task_id"], line["arm"], line["seed"]
    for one in read_footprints(folder):
        if (one["task_id"], one["agent"], one["seed"]) != wanted:
            continue
        metrics, human = one["metrics"], one["human_metrics"]
        if metrics is None:
            yield f"footprint: not measured ({one.get('analysis_error') or one['analysis_status']})"
        elif metrics["net_units"] is None:
            yield f"footprint: unknown, as these do not parse: {', '.join(metrics['lexical_files'])}"
        else:
            own = (
                "" if human is None or human["churn"] is None else f"; the task's own fix: {human['net_units']:+d} net"
            )
            yield (
                f"footprint: {metrics['net_units']:+d} net units, {metrics['churn']} churn in "
                f"{metrics['files_changed']} file(s){own}"
            )


def _tests_table(tests: Mapping[str, str]) -> Table:
    """Tests that did not pass first, then as many others as a screen takes."""
    ordered = sorted(tests.items(), key=lambda item: (item[1] == "passed", item[0]))
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("status", no_wrap=True)
    table.add_column("test", overflow="fold")
    for name, state in ordered[:40]:
        table.add_row(Text(state, style="green" if state == "passed" else "red"), Text(name))
    if len(ordered) > 40:
        table.add_row("…", f"{len(ordered) - 40} more (--json lists all)")
    return table


def report(root: Path, out: Path | None, ledger: Path, models: Path) -> int:
    """Write the page again, with what the ledger of sets lets its rates be called."""
    from cluster.finished import read_run
    from parsimony.report import write_report

    folder = RunFolder.existing(root)
    path = out or folder.report
    claim = ledgerfile.claim_of(read_run(root), ledger, models) if ledger.exists() else None
    lines = list(read_jsonl(folder.outcomes))
    write_report(path, read_summary(folder), lines, read_footprints(folder), claim)
    screen.console().print(Text(f"report: {path}"))
    if claim is not None:
        screen.console().print(Text(claim.label))
    return DONE


def export(root: Path, form: str, out: Path | None) -> int:
    """Write results for other tools."""
    folder = RunFolder.existing(root)
    lines = list(read_jsonl(folder.outcomes))
    for path in exports.write(form, lines, folder, out or folder.root / "export"):
        screen.console().print(Text(str(path)))
    return DONE
