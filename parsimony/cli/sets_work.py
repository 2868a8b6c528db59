"""What the commands of `parsimony sets` do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from parsimony import strict_json
from parsimony.chain import Chain, Entry
from parsimony.cli import DONE, NO, PARTIAL, ledgerfile, screen
from parsimony.errors import InputError
from parsimony.records import ABComparison, Role
from parsimony.sets import Member, SetStore, State, TaskSet
from parsimony.tasks import Task, read_tasks

# What a row needs to be graded and a set does not look at.
UNUSED = {"image": "unused", "test_cmd": "unused", "log_format": "pytest"}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Tasks of a file: those named, or all."""

    file: Path
    names: tuple[str, ...] = ()

    def read(self) -> tuple[list[Task], int]:
        """The tasks, and how many rows of the file were rejected (each is told on stderr)."""
        found = read_tasks(self.file, defaults=UNUSED)
        for row in found.rejected:
            screen.console(stderr=True).print(Text(f"rejected: {row.problem}"))
        known = {task.instance_id: task for task in found.tasks}
        missing = [name for name in self.names if name not in known]
        if missing:
            mend = f"it has {', '.join(known)[:400]}"
            raise InputError(f"has no task {missing[0]!r}", mend=mend, file=str(self.file), field="--task")
        return [known[name] for name in dict.fromkeys(self.names)] or list(known.values()), len(found.rejected)


def existing(ledger: Path) -> SetStore:
    """The store of a ledger that is there.

    Raises:
        InputError: it is not.
    """
    store = SetStore.open(ledger)
    if not ledger.exists():
        mend = "make the first set with `parsimony sets create`, or name the ledger with --ledger"
        raise InputError("there is no ledger", mend=mend, file=str(ledger))
    return store


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a new set is to be; see the help of `parsimony sets create`."""

    name: str
    role: str
    source: str
    cutoff: str | None


def create(ledger: Path, wanted: Wanted, chosen: Chosen, *, as_json: bool) -> int:
    """Make a set."""
    tasks, rejected = chosen.read()
    store = SetStore.open(ledger)
    entry = store.create(wanted.name, Role(wanted.role), tasks, wanted.source, cutoff=wanted.cutoff)
    return _told(store, store.state.named(wanted.name), entry, rejected, as_json=as_json)


def rotate(ledger: Path, name: str, chosen: Chosen, reason: str, cutoff: str | None, *, as_json: bool) -> int:
    """Exchange the tasks of a set."""
    tasks, rejected = chosen.read()
    store = existing(ledger)
    entry = store.rotate(name, tasks, reason, cutoff=cutoff)
    return _told(store, store.state.named(name), entry, rejected, as_json=as_json)


def burn(ledger: Path, name: str, tasks: Sequence[str], decision: str, *, every: bool, as_json: bool) -> int:
    """Burn tasks of a set."""
    store = existing(ledger)
    entry = store.burn(name, _named(store, name, tasks, every=every), decision)
    return _told(store, store.state.named(name), entry, 0, as_json=as_json)


def retire(ledger: Path, name: str, tasks: Sequence[str], reason: str, *, every: bool, as_json: bool) -> int:
    """Retire tasks of a set."""
    store = existing(ledger)
    entry = store.retire(name, _named(store, name, tasks, every=every), reason)
    return _told(store, store.state.named(name), entry, 0, as_json=as_json)


def _named(store: SetStore, name: str, tasks: Sequence[str], *, every: bool) -> list[str]:
    active = [member.task_id for member in store.state.active(store.state.named(name))]
    if every == bool(tasks):
        raise InputError(
            "no task is named" if not tasks else "--task and --all are given", mend="give one of --task and --all"
        )
    return active if every else list(dict.fromkeys(tasks))


def _told(store: SetStore, one: TaskSet, entry: Entry, rejected: int, *, as_json: bool) -> int:
    """Say what became of a set."""
    record = store.state.record(one)
    if as_json:
        screen.print_json({"entry": entry_json(entry), "set": record.to_json(), "rejected_rows": rejected})
        return PARTIAL if rejected else DONE
    out = screen.console()
    out.print(Text(f"entry {entry.number}: {summary_of(entry)}"))
    burned = ", burned" if record.burned else ""
    out.print(Text(f"{one.set_id}: {counted(record.task_ids)}, {one.role}, {record.contamination_status}{burned}"))
    for task, told in (entry.data.get("ignored_claims") or {}).items():
        said = ", ".join(f"{field} = {value}" for field, value in told.items())
        out.print(Text(f"ignored: the row of {task} says {said}; a status follows from where a task is"))
    if rejected:
        out.print(Text(f"{rejected} rows were rejected and are not in it"))
    return PARTIAL if rejected else DONE


def list_sets(ledger: Path, *, as_json: bool) -> int:
    """All sets."""
    store = existing(ledger)
    records = [store.state.record(one) for one in store.state.sets.values()]
    if as_json:
        screen.print_json([record.to_json() for record in records])
        return DONE
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("set", "role", "tasks", "status", "source", "burned", "decided"):
        table.add_column(heading, justify="right" if heading == "tasks" else "left", overflow="fold")
    for record in records:
        cells = [record.set_id, record.role.value, str(len(record.task_ids)), record.contamination_status.value]
        cells += [record.refresh_source, "yes" if record.burned else "no", day_of(record.last_decision_use)]
        table.add_row(*(Text(cell) for cell in cells))
    screen.console().print(table)
    return DONE


def day_of(epoch: int) -> str:
    """`2026-12-01` in UTC, a dash for never."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(epoch, UTC).date().isoformat() if epoch else "–"


def show(ledger: Path, name: str, *, as_json: bool) -> int:
    """One set, task by task."""
    store = existing(ledger)
    one = store.state.named(name)
    rows = [task_json(store.state, one, member) for member in one.members.values()]
    record = store.state.record(one)
    if as_json:
        screen.print_json({"set": record.to_json(), "cutoff": one.cutoff, "tasks": rows})
        return DONE
    out = screen.console()
    cutoff = f", cutoff {one.cutoff}" if one.cutoff else ""
    out.print(Text.assemble((name, "bold"), f"  {one.role}, {one.source}{cutoff}: {record.contamination_status}"))
    used = f"last decision {day_of(one.last_decision_use)}" if one.last_decision_use else "no decision used it"
    gone = len(rows) - len(record.task_ids)
    out.print(Text(f"{counted(record.task_ids)} in it, {gone} left it; {used}"))
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("task", "status", "created", "note"):
        table.add_column(heading, overflow="fold", max_width=40)
    for row in rows:
        burned, left = row["burned"], row["left_in_entry"]
        notes = [f"burned in entry {burned['entry']}: {burned['reason']}"] if burned else []
        notes += [f"left in entry {left}"] if left is not None else []
        cells = row["task"], row["status"], row["created_at"] or "–", "; ".join(notes)
        table.add_row(*(Text(cell) for cell in cells), style="dim" if left is not None else "")
    out.print(table)
    return DONE


def task_json(state: State, one: TaskSet, member: Member) -> dict[str, Any]:
    """What is known of a task in a set."""
    burn_ = state.burn_of(member)
    return {
        "task": member.task_id,
        "in_it": state.is_active(one, member.task_id),
        "status": state.status(one, member.task_id).value,
        "created_at": member.created_at,
        "burned": {"entry": burn_.entry, "at": burn_.at, "reason": burn_.reason} if burn_ else None,
        "left_in_entry": one.retired.get(member.task_id),
        "fingerprint": member.fingerprint,
    }


def record(ledger: Path, comparison: Path, runs: Sequence[Path], *, as_json: bool) -> int:
    """Write a comparison, or several of one file, into the ledger."""
    from cluster.finished import read_run

    try:
        value = strict_json.loads(comparison.read_bytes())
        found = [ABComparison.from_json(one) for one in (value if isinstance(value, list) else [value])]
    except InputError as error:
        raise error.at(file=str(comparison)) from None
    read = [read_run(folder) for folder in runs]
    tasks = dict.fromkeys(trial.task_id for run in read for trial in run.trials)
    store = SetStore.open(ledger)
    entries = [store.record_comparison(one, tasks, [run.run_id or run.source for run in read]) for one in found]
    if as_json:
        screen.print_json([entry_json(entry) for entry in entries])
        return DONE
    for entry in entries:
        screen.console().print(Text(f"entry {entry.number}: {summary_of(entry)}"))
    return DONE


def decide(ledger: Path, change: str, regression: str, comparison: int | None, reason: str, *, as_json: bool) -> int:
    """Promote a change or not."""
    store = existing(ledger)
    entry = store.decide(change, regression, comparison=comparison, reason=reason)
    promoted = entry.data["verdict"] == "promote"
    if as_json:
        screen.print_json(entry_json(entry))
        return DONE if promoted else NO
    out = screen.console()
    out.print(Text.assemble((entry.data["verdict"], "green bold" if promoted else "red bold"), f"  {change}"))
    out.print(
        Text(f"by {regression}, comparison in entry {entry.data['comparison']}; decision in entry {entry.number}")
    )
    out.print(Text(f"burned: {counted(entry.data['burned'])} ({', '.join(entry.data['burned'][:6])})"))
    return DONE if promoted else NO


def claim(ledger: Path, folder: Path, models: Path, *, as_json: bool) -> int:
    """Whether the result of a run may be called generalization."""
    from cluster.finished import read_run

    decision = ledgerfile.claim_of(read_run(folder), ledger, models)
    if as_json:
        screen.print_json({"generalization": decision.allowed, "reasons": list(decision.reasons)})
    else:
        out = screen.console()
        out.print(Text("generalization" if decision.allowed else "not generalization"))
        for why in decision.reasons:
            out.print(Text(f"  · {why}"))
    return DONE if decision.allowed else NO


def log(ledger: Path, name: str | None, *, as_json: bool) -> int:
    """The entries of the ledger."""
    store = existing(ledger)
    entries = list(store.chain.entries())
    if name is not None:
        members = set(store.state.named(name).members)
        entries = [entry for entry in entries if _is_about(entry, name, members)]
    if as_json:
        screen.print_json([entry_json(entry) for entry in entries])
        return DONE
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("entry", "at (UTC)", "what"):
        table.add_column(heading, no_wrap=heading != "what", overflow="fold")
    for entry in entries:
        table.add_row(str(entry.number), entry.at[:19].replace("T", " "), Text(summary_of(entry)))
    screen.console().print(table)
    return DONE


def _is_about(entry: Entry, name: str, members: Iterable[str]) -> bool:
    data = entry.data
    named = name in (data.get("set"), data.get("regression"))
    tasks = [*_ids(data.get("tasks")), *_ids(data.get("burned"))]
    return named or not set(tasks).isdisjoint(members)


def _ids(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def verify(ledger: Path, expect: str | None, *, adopt: bool, as_json: bool) -> int:
    """Check the ledger."""
    if adopt:
        Chain.adopt(ledger)
    store = existing(ledger)
    held = expect is None or store.chain.holds(expect)
    if as_json:
        found = {"entries": len(store.chain), "head": store.chain.head, "sets": len(store.state.sets)}
        screen.print_json(found | ({} if expect is None else {"holds_expected": held}))
        return DONE if held else NO
    out = screen.console()
    out.print(Text(f"{ledger}: whole; {len(store.chain)} entries, {len(store.state.sets)} sets, every rule kept"))
    out.print(Text(f"head: {store.chain.head}"))
    if not held:
        out.print(Text(f"{expect} is not in it: this is not the ledger that had that entry"))
    return DONE if held else NO


def entry_json(entry: Entry) -> dict[str, Any]:
    """An entry for machines."""
    shown = {"number": entry.number, "at": entry.at, "kind": entry.kind, "digest": entry.digest, "data": entry.data}
    return dict(shown)


def summary_of(entry: Entry) -> str:
    """An entry in a line."""
    data: Mapping[str, Any] = entry.data
    match entry.kind:
        case "set.created":
            return f"{data['set']} created: {data['role']}, {data['source']}, {counted(data['members'])}"
        case "set.rotated":
            return f"{data['set']} rotated to {counted(data['members'])}: {data['reason']}"
        case "set.retired":
            return f"{data['set']}: retired {few(data['tasks'])}: {data['reason']}"
        case "set.burned":
            return f"{data['set']}: burned {few(data['tasks'])}: {data['decision']}"
        case "set.decision":
            ground = f"by {data['regression']}, entry {data['comparison']}"
            return f"decision on {data['change']!r}: {data['verdict']} ({ground})"
        case "comparison":
            result = data["comparison"]["result"]
            change = data["comparison"]["change_under_test"]
            return f"comparison of {change!r} on {counted(data['tasks'])}: {result['recommendation']}"
        case "contamination.finding":
            return f"{data['what']}: {data.get('summary', '')}"
    return entry.kind


def few(names: Sequence[str]) -> str:
    """The first names of a list, and how many more there are."""
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def counted(tasks: Sequence[object]) -> str:
    """`1 task`, `2 tasks`."""
    return f"{len(tasks)} task" + ("" if len(tasks) == 1 else "s")
