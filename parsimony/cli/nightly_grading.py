"""Grade a night and compare it: every step finds what an earlier, killed one left, and goes on."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from cluster.canarying import grade_canaries
from cluster.finished import read_priced_run
from cluster.grading import grade_sweep
from cluster.rundir import RunFolder, write_atomically, write_json
from cluster.session import Observer
from cluster.sweep import Sweep, read_sweep
from parsimony import ab
from parsimony.ab import wording
from parsimony.canonical import digest_bytes
from parsimony.cli.nightly_config import Configured
from parsimony.errors import InputError
from parsimony.nightly import ArmNight, Book, Canary, Conclusion, Gate, Night, State, broken, judge, night_of, unproven
from parsimony.runs import Run, Settings

CANARIES, INPUTS, NIGHT, COMPARISON = "canaries", "inputs", "night.json", "comparison.json"
ROUNDS = ("before", "after")
"""When canaries are graded: before the sweep, so that a broken night costs nothing, and after it."""


@dataclass(frozen=True, slots=True)
class Tonight:
    """A night under way."""

    configured: Configured
    book: Book
    day: date
    observer: Observer

    @property
    def folder(self) -> Path:
        """Its folder, which is that of its run."""
        return self.configured.folder / str(self.day)

    @property
    def baseline(self) -> date | None:
        """The last accepted night before it."""
        return next((day for day in reversed(self.book.accepted) if day < self.day), None)


def conduct(tonight: Tonight) -> Conclusion:
    """Grade what is not graded yet, compare, and write down what came of it."""
    sweep = frozen_inputs(tonight)
    canaries, left_out = _canaries(tonight, sweep, 1)
    gate = _gate_of(canaries)
    if gate is not None:
        return _conclude(tonight, gate, None, canaries, left_out=left_out)
    grade_sweep(sweep, tonight.folder, tonight.observer)
    canaries, left_out = _canaries(tonight, sweep, 2)
    night = _record(tonight, canaries)
    gate = _gate_of(canaries)
    found: Sequence[tuple[str, ab.Comparison]] = ()
    if gate is None:
        gate, found = _compared(tonight, night)
    return _conclude(tonight, gate, night, canaries, found, left_out=left_out)


# ---- inputs


def frozen_inputs(tonight: Tonight) -> Sweep:
    """The sweep with copies of its prediction files: what a system writes the next night is not this night's.

    A night that was interrupted goes on with its copies. One that came to an end without all verdicts takes new ones
    where the files have changed, unless a later night has begun.
    """
    root = tonight.folder / INPUTS
    there = sorted(int(path.name) for path in root.glob("[0-9]*") if path.name.isdecimal())
    concluded = tonight.day in tonight.book.conclusions
    later = any(day > tonight.day for day in tonight.configured.begun())
    if not there or (concluded and not later):
        _copy(tonight.configured.sweep(tonight.day), root, (there or [0])[-1])
        there = sorted(int(path.name) for path in root.glob("[0-9]*") if path.name.isdecimal())
    return read_sweep(root / str(there[-1]) / "sweep.yaml")


def _copy(sweep: Sweep, root: Path, newest: int) -> None:
    """Copy the predictions of a sweep, unless the newest copy is the very same."""
    fresh = root / ".new"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    digest, number = hashlib.sha256(), 0
    names: dict[Path, Path] = {}
    for path in (*sweep.predictions, *(p for arm in (sweep.arms or {}).values() for p in arm.predictions)):
        if path in names:
            continue
        try:
            data = path.read_bytes()
        except OSError as error:
            shutil.rmtree(root)
            mend = "write the predictions of the night first, or mend the path"
            raise InputError(f"cannot be read ({error.strerror})", mend=mend, file=str(path)) from None
        number += 1
        names[path] = Path(f"{number}-{path.name}")
        (fresh / names[path]).write_bytes(data)
        digest.update(f"{path} {digest_bytes(data)}\n".encode("utf-8", "surrogateescape"))
    plain = sweep.model_dump(mode="json")
    plain["predictions"] = [str(names[path]) for path in sweep.predictions]
    for arm, one in (sweep.arms or {}).items():
        plain["arms"][arm]["predictions"] = [str(names[path]) for path in one.predictions]
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True).encode()
    (fresh / "sweep.yaml").write_bytes(text)
    digest.update(text)
    (fresh / "digest").write_text(digest.hexdigest() + "\n", encoding="ascii")
    before = root / str(newest) / "digest"
    if before.exists() and before.read_bytes() == (fresh / "digest").read_bytes():
        shutil.rmtree(fresh)
    else:
        fresh.rename(root / str(newest + 1))


# ---- canaries


def _canaries(tonight: Tonight, sweep: Sweep, rounds: int) -> tuple[tuple[Canary, ...], tuple[str, ...]]:
    """Grade the canaries up to a round."""
    wanted = tonight.configured.file.canaries
    if not wanted.any:
        return (), ()
    found = grade_canaries(
        sweep,
        tonight.folder / CANARIES,
        tonight.observer,
        tasks=wanted.tasks,
        wrong=wanted.wrong,
        rounds=rounds,
    )
    canaries = [
        Canary(line["task_id"], line["arm"], ROUNDS[line["repeat"]], line["outcome"], tuple(line["reasons"]))
        for line in found.lines
    ]
    return tuple(canaries), found.left_out


def _gate_of(canaries: Sequence[Canary]) -> Gate | None:
    """What canaries that do not hold make of a night; None where all do."""
    if wrong := broken(canaries):
        return Gate(State.VOID, wrong)
    if lacking := unproven(canaries):
        return Gate(State.INCOMPLETE, lacking)
    return None


# ---- the night and its baseline


def _record(tonight: Tonight, canaries: Sequence[Canary]) -> Night:
    """What the night's run came to, written into its folder."""
    folder = RunFolder(tonight.folder)
    rejected = len(folder.rejects.read_bytes().splitlines()) if folder.rejects.exists() else 0
    run = read_priced_run(tonight.folder)
    for arm in tonight.configured.file.arms:
        if arm not in run.arms:
            mend = f"it has {', '.join(run.arms)}"
            raise InputError(
                f"names {arm!r}, which has no candidate", mend=mend, file=str(tonight.folder), field="arms"
            )
    night = night_of(tonight.day, run, tonight.configured.file.arms, canaries, rejected)
    write_json(tonight.folder / NIGHT, night.to_json())
    return night


def outcomes_digest(folder: Path) -> str | None:
    """Digest of the outcomes of a night as they stand; None where there are none."""
    path = RunFolder(folder).outcomes
    return digest_bytes(path.read_bytes()) if path.exists() else None


def _compared(tonight: Tonight, night: Night) -> tuple[Gate, Sequence[tuple[str, ab.Comparison]]]:
    """The gate, and the comparison of each arm with itself in the baseline."""
    if tonight.baseline is None:
        return judge((), (), night.missing), ()
    try:
        found = _compare(tonight, tonight.baseline)
    except InputError as error:
        return Gate(State.REFUSED, (f"cannot be compared with {tonight.baseline}: {error}",)), ()
    details = [{"arm": arm, "record": one.record.to_json(), **ab.details(one)} for arm, one in found]
    write_json(tonight.folder / COMPARISON, details)
    arms, comparisons = zip(*found, strict=True)
    return judge(arms, comparisons, night.missing), found


def _compare(tonight: Tonight, baseline: date) -> list[tuple[str, ab.Comparison]]:
    book, folder = tonight.book, tonight.configured.folder / str(baseline)
    accepted = book.outcomes_of(baseline)
    if accepted != outcomes_digest(folder):
        mend = f"put its folder back, or accept it again as it is: `parsimony nightly accept … {baseline}`"
        raise InputError("is not what was accepted: its outcomes changed or are gone", mend=mend, file=str(folder))
    before = Night.read(folder / NIGHT)
    old, new = (
        _as_recorded(read_priced_run(path), record)
        for path, record in (
            (folder, before),
            (tonight.folder, Night.read(tonight.folder / NIGHT)),
        )
    )
    sources = ab.Source(old.counted()), ab.Source(new.counted())
    arms = tonight.configured.file.arms
    pairs = [
        ab.align(
            sources[0].grid(arm, f"{arm} {baseline}"),
            sources[1].grid(arm, f"{arm} {tonight.day}"),
        )
        for arm in arms
    ]
    changes = [f"{tonight.configured.name}: {arm} of {tonight.day} against {baseline}" for arm in arms]
    return list(zip(arms, ab.compare(pairs, changes, tonight.configured.options), strict=True))


def _as_recorded(run: Run, night: Night) -> Run:
    """The run with the settings that its night recorded: its task file may hold other rows by now."""
    run = ab.located(run)
    return replace(run, settings={**run.settings, **{arm: _settings(one) for arm, one in night.arms.items()}})


def _settings(arm: ArmNight) -> Settings:
    return Settings(**arm.settings)


# ---- the ledger


def _conclude(
    tonight: Tonight,
    gate: Gate,
    night: Night | None,
    canaries: Sequence[Canary],
    found: Sequence[tuple[str, ab.Comparison]] = (),
    *,
    left_out: Sequence[str],
) -> Conclusion:
    data = {
        "date": str(tonight.day),
        "baseline": str(tonight.baseline) if tonight.baseline and found else None,
        "reasons": list(gate.reasons),
        "notes": list(left_out),
        "missing": 0 if night is None else night.missing,
        "rejected": 0 if night is None else night.rejected,
        "night": None if night is None else night.digest,
        "outcomes": None if night is None else outcomes_digest(tonight.folder),
        "arms": {} if night is None else {name: _arm(arm) for name, arm in night.arms.items()},
        "comparisons": [_comparison(arm, one) for arm, one in found],
        "canaries": [asdict(one) for one in canaries],
    }
    return tonight.book.conclude(gate.state, data, accept=_accepted_by_rule(tonight, gate.state))


def _accepted_by_rule(tonight: Tonight, state: State) -> str | None:
    """Why the night becomes the baseline by the rule of the file; None where it does not."""
    if state is not State.PASSED:
        return None
    rule, baseline = tonight.configured.file.accept, tonight.book.baseline
    if rule == "first" and baseline is None:
        return "the first night that passed (accept: first)"
    if rule == "passed" and (baseline is None or baseline < tonight.day):
        return "it passed (accept: passed)"
    return None


def _arm(arm: ArmNight) -> Mapping[str, Any]:
    return {
        "rate": arm.rate,
        "interval": list(arm.interval),
        "bounds": list(arm.bounds),
        "missing": arm.missing,
        "cost": asdict(arm.cost),
    }


def _comparison(arm: str, one: ab.Comparison) -> Mapping[str, Any]:
    result = one.record.result
    return {
        "arm": arm,
        "delta": result.delta,
        "interval": None if one.interval is None else list(one.interval),
        "level": one.level,
        "p_value": one.p_value,
        "significant": result.significant.value,
        "detectable": one.power.detectable,
        "finding": wording.finding(one),
        "lost": [change.task_id for change in one.changes if change.side == "lost"],
        "won": [change.task_id for change in one.changes if change.side == "won"],
    }


def write_text(path: Path, text: str | bytes) -> None:
    """A file of the night, by rename."""
    write_atomically(path, text.encode("utf-8", "replace") if isinstance(text, str) else text)
