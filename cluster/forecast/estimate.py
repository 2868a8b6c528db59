"""The forecast of a plan: counts that are exact, and numbers with intervals from the records of past runs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from cluster.forecast.draws import Courses, draw, makespans, sources
from cluster.forecast.here import Here
from cluster.forecast.history import History
from cluster.forecast.model import LEVEL, Estimate, Forecast, Images, Jobs, Producing
from cluster.images.needs import fair_share, pulls, sent_bytes
from cluster.plan import Inputs, Plan, Work
from cluster.sweep import Sweep
from parsimony.cost_ledger import ComputePrice, Kind, PriceTable
from parsimony.cost_ledger.entries import priced
from parsimony.errors import InputError
from parsimony.runs import Spend
from parsimony.tasks import Candidate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_HISTORY: Final = "no execution is recorded; name past runs with --against"


@dataclass(frozen=True, slots=True)
class Capacity:
    """What runs at once: `slots` executions on each of `nodes`."""

    nodes: int
    slots: int

    @property
    def total(self) -> int:
        """Slots of all nodes."""
        return self.nodes * self.slots


def forecast(
    sweep: Sweep,
    inputs: Inputs,
    plan: Plan,
    done: set[str],
    *,
    history: History,
    here: Here,
    capacity: Capacity,
    prices: PriceTable,
) -> Forecast:
    """What is ahead.

    Args:
        done: keys of the plan's work that have a durable execution.
        prices: of computing and of models.
    """
    pending = [work for key, work in plan.work.items() if key not in done]
    courses = draw(pending, history)
    assumed = courses.assumed if courses is not None else ()
    if sweep.variants:
        assumed += ("executions under other conditions (`variants:`) come on top: one for each resolved candidate",)
    if history.overhead_s is None and courses is not None:
        assumed += ("starting and ending the run take no time: no past run tells how long they take",)
    return Forecast(
        sweep=sweep.name,
        nodes=capacity.nodes,
        slots=capacity.slots,
        jobs=_jobs(inputs, plan, done, len(pending)),
        sources=sources(pending, history),
        history={run.path: run.executions for run in history.runs},
        cpu_hours=_cpu_hours(courses, pending),
        wall_seconds=_wall(courses, pending, capacity, history),
        dollars=_dollars(courses, pending, prices),
        producing=producing(inputs.candidates, prices),
        images=_images(pending, here, capacity),
        disk_results=_results(history, len(pending)),
        assumed=assumed,
        made_at=time.time(),
    )


def _jobs(inputs: Inputs, plan: Plan, done: set[str], pending: int) -> Jobs:
    settled = Counter(unit.settled.value for unit in plan.units if unit.settled is not None)
    executed = sum(unit.key is not None for unit in plan.units)
    return Jobs(
        candidates=len({unit.identity[:3] for unit in plan.units}),
        units=len(plan.units),
        settled=dict(sorted(settled.items())),
        shared=executed - len(plan.work),
        distinct=len(plan.work),
        done=len(done),
        pending=pending,
    )


def _interval(values: NDArray[np.float64], at_most: float | None) -> Estimate:
    import numpy as np  # noqa: PLC0415

    tail = (1 - LEVEL) / 2
    low, middle, high = (float(x) for x in np.quantile(values, [tail, 0.5, 1 - tail]))
    return Estimate(middle, low, high, at_most)


def _cpu_hours(courses: Courses | None, pending: Sequence[Work]) -> Estimate:
    bound = sum(work.limits.deadline_s * (work.limits.cpus or 1.0) for work in pending) / 3600
    if courses is None:
        return _nothing_or(pending, bound)
    return _interval(courses.cpu.sum(axis=1) / 3600, bound)


def _nothing_or(pending: Sequence[Work], bound: float | None) -> Estimate:
    return Estimate(None, at_most=bound, why=NO_HISTORY) if pending else Estimate(0.0, 0.0, 0.0, 0.0)


def _wall(courses: Courses | None, pending: Sequence[Work], capacity: Capacity, history: History) -> Estimate:
    """Seconds from the first job to the last one's end, and what starting and ending take; pulls are not in it."""
    limits = [work.limits.deadline_s for work in pending]
    # Greedy scheduling never takes longer than an even share of the work and one job more.
    bound = sum(limits) / capacity.total + max(limits, default=0.0)
    if courses is None:
        return _nothing_or(pending, bound)
    return _interval(makespans(courses, capacity.total) + (history.overhead_s or 0.0), bound)


def _dollars(courses: Courses | None, pending: Sequence[Work], prices: PriceTable) -> Estimate:
    """Of grading alone; what producing the candidates cost is spent."""
    import numpy as np  # noqa: PLC0415

    price = prices.processor(datetime.now(UTC).date())
    if not pending:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    if price is None:
        return Estimate(why="computing has no price; give --price-per-cpu-hour, or a price file in `prices:`")
    bound = _most_dollars(pending, price)
    if courses is None:
        return Estimate(None, at_most=bound, why=NO_HISTORY)
    total = courses.cpu * float(price.cpu_hour) / 3600
    if price.gib_hour:
        if np.isnan(courses.gib).any():
            return Estimate(at_most=bound, why="memory has a price, and no record tells the peaks of all jobs")
        total = total + courses.wall * courses.gib * float(price.gib_hour) / 3600
    return _interval(total.sum(axis=1), bound)


def _most_dollars(pending: Sequence[Work], price: ComputePrice) -> float | None:
    total = 0.0
    for work in pending:
        limits = work.limits
        hours = limits.deadline_s / 3600
        total += hours * (
            (limits.cpus or 1.0) * float(price.cpu_hour) + limits.memory_bytes / 2**30 * float(price.gib_hour)
        )
    return total


def producing(candidates: Sequence[Candidate], prices: PriceTable) -> Producing:
    """What making the candidates cost, as far as their rows and the prices tell."""
    tokens, micro, without, known = 0, 0, 0, True
    for one in candidates:
        if one.usage is None:
            without += 1
            continue
        tokens += one.usage.tokens or 0
        spend = Spend(
            input_tokens=one.usage.input_tokens or 0,
            cached_tokens=one.usage.cached_tokens or 0,
            output_tokens=one.usage.output_tokens or 0,
            micro_dollars=None if one.usage.dollars is None else round(one.usage.dollars * 1_000_000),
            model=one.usage.model,
        )
        try:
            day = one.usage.day or datetime.now(UTC).date()
            dollars = priced(Kind.LLM, spend, prices, day, name=one.instance_id)[1]
        except InputError:
            dollars = None
        known = known and dollars is not None
        micro += dollars or 0
    return Producing(tokens, micro / 1e6 if known and without < len(candidates) else None, without)


def _images(pending: Sequence[Work], here: Here, capacity: Capacity) -> Images:
    wanted = list(dict.fromkeys(work.task.image for work in pending if work.task.image is not None))
    if not wanted:
        none = Estimate(0.0, 0.0, 0.0, 0.0)
        return Images(0, None if here.sizes is None else 0, none, none, none, 0)
    sizes: Mapping[str, int] = here.sizes or {}
    absent = [image for image in wanted if image not in sizes]
    unknown = len(absent)
    least, most = (float(n) for n in pulls(len(wanted), capacity.nodes))
    if here.sizes is None:
        any_pulls = Estimate(low=0.0, high=most, why=f"no engine was asked: {here.problem}")
        return Images(len(wanted), None, any_pulls, any_pulls, _sent(here, wanted, capacity), unknown)
    if capacity.nodes == 1:
        count = float(len(absent))
        certain = Estimate(count, count, count, count)
        return Images(len(wanted), len(sizes), certain, certain, _sent(here, absent, capacity), unknown)
    every = Estimate(least, least, most, float(len(wanted) * capacity.nodes))
    per_node = Estimate(least / capacity.nodes, least / capacity.nodes, float(len(wanted)), float(len(wanted)))
    if here.lock is not None or not sizes:
        return Images(len(wanted), len(sizes), every, per_node, _sent(here, wanted, capacity), unknown)
    mean = sum(sizes.values()) / len(sizes)
    why = f"by the mean of the {len(sizes)} images that are here" if unknown else ""
    share = least / capacity.nodes
    return Images(
        len(wanted),
        len(sizes),
        every,
        per_node,
        Estimate(share * mean, min(sizes.values()), float(sum(sizes.values())) if not unknown else None, why=why),
        unknown,
    )


def _sent(here: Here, absent: Sequence[str], capacity: Capacity) -> Estimate:
    """Bytes that a registry sends to a node, by the sweep's lock."""
    if not absent:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    every = sent_bytes(here.lock, absent)
    if every is None:
        return Estimate(why="the engine does not tell the size of what is not here; pin the images (docs/images.md)")
    if capacity.nodes == 1:
        return Estimate(float(every), float(every), float(every), float(every))
    fair = fair_share(here.lock, absent, capacity.nodes)
    return Estimate(None if fair is None else float(fair), high=float(every), at_most=float(every))


def _results(history: History, pending: int) -> Estimate:
    """Bytes in the folder of the run, at what past runs took per execution."""
    shares = [x.result_bytes / x.executions for x in history.runs if x.result_bytes is not None and x.executions]
    if not pending:
        return Estimate(0.0, 0.0, 0.0, 0.0)
    if not shares:
        return Estimate(why=NO_HISTORY)
    why = "" if len(shares) > 1 else "one past run tells nothing of how much they differ"
    low, high = (min(shares) * pending, max(shares) * pending) if len(shares) > 1 else (None, None)
    return Estimate(sum(shares) / len(shares) * pending, low, high, why=why)
