"""Ablations of what is said about verdicts: stages, sets, dates, variance, cost."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence

from parsimony.ablation.model import Ablation, Evidence, Key, key_of
from parsimony.runs import Trial
from parsimony.statistics import paired_test


def stages(evidence: Evidence) -> Ablation:
    """Only the end-to-end number is reported: where two arms resolve alike, whatever changed is "no change"."""
    moves = {name: _moves(evidence, values) for name, values in evidence.stages.items()}
    known = {name: (statistics.fmean(one), len(one)) for name, one in moves.items() if one}
    if not known:
        return Ablation(2, "the hierarchical scorecard", "points by which a stage moved unseen", None, None,
                        "no two arms have stages that are known")  # fmt: skip
    name, (gain, pairs) = max(known.items(), key=lambda item: abs(item[1][0]))
    return Ablation(
        2,
        "the hierarchical scorecard",
        "points by which a stage moved unseen",
        0.0,
        round(100 * abs(gain), 1),
        f"on {pairs} pairs of candidates with one verdict, {name} moved by {100 * gain:+.1f} points, and the end-to-"
        "end number says: no change",
    )


def _moves(evidence: Evidence, values: Mapping[Key, float]) -> list[float]:
    """What changed between the first two arms where they agree end to end, task by task and seed by seed."""
    arms = evidence.run.arms[:2]
    if len(arms) < 2:
        return []
    sides = [{(t.task_id, t.seed, t.repeat): t for t in evidence.run.of(arm)} for arm in arms]
    found = []
    for key in sides[0].keys() & sides[1].keys():
        one, other = sides[0][key], sides[1][key]
        before, after = values.get(key_of(one)), values.get(key_of(other))
        if one.resolved is not None and one.resolved == other.resolved and before is not None and after is not None:
            found.append(after - before)
    return found


def sets(evidence: Evidence) -> Ablation:
    """One set serves for choosing and for reporting: the number of the version that looked best is too good.

    Exact: over all ways to choose versions on half of the tasks, the rate of the chosen version there less its rate on
    the other half. A version is an arm with a seed.
    """
    versions = _by_version(evidence.run.trials)
    tasks = sorted(set.intersection(*map(set, versions.values()))) if versions else []
    size = len(tasks) // 2
    # A set of tasks is a number with a bit for each: what a version resolves of it is one operation.
    bits = [1 << place for place in range(len(tasks))]
    solved = [sum(bit for bit, task in zip(bits, tasks, strict=True) if one[task]) for one in versions.values()]
    halves = itertools.islice(itertools.combinations(bits, size), 20_000)
    gaps = []
    for half in map(sum, halves) if len(tasks) >= 2 and len(versions) >= 2 else ():
        best = max(solved, key=lambda one: (one & half).bit_count())
        inside = (best & half).bit_count() / size
        outside = (best & ~half).bit_count() / (len(tasks) - size)
        gaps.append(inside - outside)
    gap = statistics.fmean(gaps) if gaps else 0.0
    return Ablation(
        3,
        "the separation of three sets",
        "points by which the reported rate is too good",
        0.0 if gaps else None,
        round(100 * gap, 1) if gaps else None,
        f"the best of {len(versions)} versions, chosen and reported on the same {len(tasks) // 2} tasks, looks "
        f"{100 * gap:.1f} points better than it is on tasks that took no part in the choice ({len(gaps)} splits)",
    )


def _by_version(trials: Sequence[Trial]) -> dict[tuple[str, int], dict[str, bool]]:
    found: dict[tuple[str, int], dict[str, bool]] = {}
    for trial in trials:
        if trial.repeat == 0 and trial.resolved is not None:
            found.setdefault((trial.arm, trial.seed), {})[trial.task_id] = trial.resolved
    return found


def dates(evidence: Evidence) -> Ablation:
    """Tasks of any age count as generalization: a system that remembers published fixes looks as good as its memory.

    The system is made from the run: on the older half of the tasks it hands in the fix that was published (which the
    run's own references resolve), on the younger half it does what the first arm did.
    """
    dated = sorted(
        (task.created_at, name) for name, task in evidence.run.tasks.items() if task.created_at and task.patch
    )
    old, young = dated[: len(dated) // 2], dated[len(dated) // 2 :]
    rates = _rates(evidence.run.trials, evidence.run.arms[:1])
    after = [rates[name] for _, name in young if name in rates]
    if not old or not after:
        return Ablation(4, "gating by date", "points of memory in the reported rate", None, None, "no dated tasks")
    honest = statistics.fmean(after)
    mixed = (len(old) + sum(after)) / (len(old) + len(after))
    return Ablation(
        4,
        "gating by date",
        "points of memory in the reported rate",
        0.0,
        round(100 * (mixed - honest), 1),
        f"a system that remembers the fixes from before {young[0][0][:10]} scores {100 * mixed:.1f} % over all tasks "
        f"and {100 * honest:.1f} % on those that came after",
    )


def _rates(trials: Sequence[Trial], arms: Sequence[str]) -> Mapping[str, float]:
    found: dict[str, list[bool]] = {}
    for trial in trials:
        if trial.arm in arms and trial.resolved is not None:
            found.setdefault(trial.task_id, []).append(trial.resolved)
    return {task: statistics.fmean(map(float, values)) for task, values in found.items()}


def variance(evidence: Evidence) -> Ablation:
    """A single run decides: of two runs of the very same system the better one is promoted."""
    promoted = compared = held = 0
    for arm in evidence.run.arms:
        versions = {seed: v for (name, seed), v in _by_version(evidence.run.trials).items() if name == arm}
        for one, other in itertools.permutations(versions.values(), 2):
            tasks = sorted(one.keys() & other.keys())
            compared += 1
            promoted += sum(other[task] for task in tasks) > sum(one[task] for task in tasks)
            test = paired_test([[int(one[task])] for task in tasks], [[int(other[task])] for task in tasks])
            held += test is not None and test.p_value < 0.05 and test.difference.mean > 0
    return Ablation(
        5,
        "estimating variance",
        "promotions among runs of one and the same system",
        float(held) if compared else None,
        float(promoted) if compared else None,
        f"of {compared} comparisons of a system with itself on another seed, {promoted} look like gains by their "
        f"counts and {held} by the paired test",
    )


def cost(evidence: Evidence) -> Ablation:
    """Cost is not recorded: a twin that resolves the same at ten times the price is as good."""
    spent = [trial.llm.micro_dollars for trial in evidence.run.trials if trial.llm and trial.llm.micro_dollars]
    solved = sum(bool(trial.resolved) for trial in evidence.run.trials if trial.repeat == 0)
    if not spent or not solved:
        return Ablation(6, "the cost ledger", "dollars for each resolved task that stay out of sight", None, None,
                        "the candidates tell no dollars")  # fmt: skip
    each = sum(spent) / 1e6 / solved
    dear = 10 * each
    return Ablation(
        6,
        "the cost ledger",
        "dollars for each resolved task that stay out of sight",
        0.0,
        round(dear - each, 2),
        f"the system costs ${each:.2f} for each resolved candidate and its twin ${dear:.2f}; by resolve rate alone "
        "they are equal",
    )
