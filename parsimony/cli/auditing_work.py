"""What `parsimony audit run` and `audit status` do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.text import Text

from cluster.auditing import Audited, audit_tasks, now, stamp
from cluster.dispatch import RunEnding
from cluster.logs import configure_logs
from parsimony.audit import Audit, Verdict, audit_file
from parsimony.chain import Chain
from parsimony.cli import DONE, NO, PARTIAL, auditing_screen, screen
from parsimony.cli.auditing_schedule import ScheduleFile, audits, due_line, read_schedule, stand
from parsimony.cli.grading import OneOff
from parsimony.cli.progress import make_observer
from parsimony.errors import InputError
from parsimony.reference import Reference
from parsimony.schedules import State


@dataclass(frozen=True, slots=True)
class Given:
    """The options of `audit run`; None where nothing was said."""

    tasks: Path | None
    sandbox: str | None
    workers: int | None
    engine: str
    address: str | None
    only: tuple[str, ...]
    image: str | None
    times: int | None
    mutants: int | None

    def over(self, planned: ScheduleFile, folder: Path) -> Given:
        """With what the schedule says where nothing was said."""
        return replace(
            self,
            tasks=self.tasks or (folder / planned.tasks).resolve(),
            sandbox=self.sandbox or planned.sandbox,
            workers=self.workers or planned.workers,
            image=self.image or planned.image,
            times=self.times or planned.times,
            mutants=planned.mutants if self.mutants is None else self.mutants,
        )


def run(given: Given, out: Path | None, ledger: Path | None, *, if_due: bool, as_json: bool) -> int:
    """Audit, and store what came of it."""
    if out is None and given.tasks is None:
        raise InputError("nothing is named to audit", mend="give --tasks FILE, or --out DIR with a schedule in it")
    folder = out if out is not None else given.tasks.with_suffix(".audit") if given.tasks else Path()
    planned = read_schedule(folder)
    if if_due:
        if planned is None:
            mend = "write one with `parsimony audit schedule DIR --tasks FILE --every 7d`"
            raise InputError("has no schedule", mend=mend, file=str(folder))
        standing = stand(folder, planned, now())
        if standing.state is State.CURRENT:
            if as_json:
                screen.print_json({"audited": False, **standing.as_json()})
            else:
                screen.console().print(Text(f"not due: {due_line(standing)}"))
            return DONE
    if planned is not None:
        given = given.over(planned, folder)
    if given.tasks is None:
        mend = "give --tasks FILE, or write a schedule that names one"
        raise InputError("nothing is named to audit", mend=mend, file=str(folder))
    return _audit(given, given.tasks, folder, ledger, as_json=as_json)


def _audit(given: Given, tasks: Path, folder: Path, ledger: Path | None, *, as_json: bool) -> int:
    configure_logs()
    one_off = OneOff(
        tasks, (), given.sandbox or "docker", given.workers, given.engine, given.address, given.only, given.image,
        given.times or 3, None,
    )  # fmt: skip
    sweep = one_off.sweep("audit")
    assert sweep.reference is not None, "a resolved sweep names its reference"
    chain = Chain.open(ledger) if ledger is not None else None  # a damaged ledger is told before the work, not after
    place = _place(folder)
    with make_observer(as_json=as_json) as observer:
        found = audit_tasks(sweep, place, observer, mutants=6 if given.mutants is None else given.mutants)
    if found.ending is RunEnding.COMPLETED:
        state = audit_file(sweep.reference)
        before = Audit.read(state) if state.exists() else Audit()
        _store(found, place, sweep.reference, state, before)
        if chain is not None:
            _note(chain, found.audit, before, tasks)
    if as_json:
        screen.print_json(
            {"audited": True, "ending": found.ending.value, "folder": str(place), **found.audit.to_json()}
        )
    else:
        auditing_screen.print_audit(found.audit)
        auditing_screen.print_end(found.audit, found.ending.value, found.reason, place)
    if found.audit.quarantined:
        return NO
    whole = found.ending is RunEnding.COMPLETED and not found.audit.missing and _measured(found.audit)
    return DONE if whole else PARTIAL


def _measured(audit: Audit) -> bool:
    """Whether every canary has a verdict: without one, nobody knows whether it would be resolved."""
    return not any(
        check.id.startswith("canary.") and check.verdict is Verdict.NOT_MEASURED
        for task in audit.tasks.values()
        for check in task.checks
    )


def _place(folder: Path) -> Path:
    """The folder of this audit: the newest that was not finished, else a new one."""
    begun = sorted(path for path in folder.glob("audits/*") if path.is_dir())
    if begun and not (begun[-1] / "audit.json").exists():
        return begun[-1]
    name = stamp(now()).replace(":", "")
    names = (name, *(f"{name}-{number}" for number in range(2, 100)))  # several audits within a second
    return next(path for one in names if not (path := folder / "audits" / one).exists())


def _store(found: Audited, place: Path, reference: Path, state: Path, before: Audit) -> None:
    """References first: when this is cut off, the audit is not finished and stores the same again."""
    known = Reference.read(reference) if reference.exists() else Reference()
    known.merged(found.references).write(reference)
    found.audit.following(before).write(state)
    found.audit.write(place / "audit.json")


def _note(chain: Chain, audit: Audit, before: Audit, tasks: Path) -> None:
    """Every failure and finding, every task that left quarantine, and the end, as entries of the append-only ledger."""
    common = {"audit": audit.started_at, "tasks": tasks.name}
    entries: list[tuple[str, Mapping[str, Any]]] = [
        ("audit.finding", {**common, "task_id": name, "task_digest": task.task_digest, **check.to_json()})
        for name, task in sorted(audit.tasks.items())
        for check in task.checks
        if check.verdict in {Verdict.FAIL, Verdict.FINDING}
    ]
    released = sorted(name for name in before.quarantined if name in audit.tasks and name not in audit.quarantined)
    entries += [("audit.released", {**common, "task_id": name}) for name in released]
    quarantined = {name: list(reasons) for name, reasons in sorted(audit.quarantined.items())}
    missing = {name: list(reasons) for name, reasons in sorted(audit.missing.items())}
    end = {
        "finished_at": audit.finished_at,
        "audited": len(audit.tasks),
        "quarantined": quarantined,
        "missing": missing,
    }
    chain.extend([*entries, ("audit.finished", {**common, **end})])


def status(folder: Path, *, as_json: bool) -> int:
    """The newest audit, and how the next one stands."""
    if not folder.is_dir():
        raise InputError("is no folder", mend="give the folder that `parsimony audit run` wrote", file=str(folder))
    planned, finished = read_schedule(folder), audits(folder)
    if planned is None and not finished:
        mend = "run `parsimony audit run` or write a schedule with `parsimony audit schedule`"
        raise InputError("holds neither an audit nor a schedule", mend=mend, file=str(folder))
    standing = stand(folder, planned, now())
    newest = Audit.read(finished[-1]) if finished else None
    if as_json:
        audit = newest.to_json() if newest else None
        screen.print_json({**standing.as_json(), "audits": len(finished), "audit": audit})
    else:
        if newest is not None:
            auditing_screen.print_audit(newest)
        screen.console().print(Text(due_line(standing)))
    return NO if standing.state is State.OVERDUE or newest is None else DONE
