"""The index of waiting jobs gives what a look at every job would give."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.dispatch import Job
from cluster.dispatch.priorities import PriorityMap
from cluster.dispatch.waiting import WaitingJobs

AGENTS = ("x", "y", "z")
IMAGES = st.sampled_from([None, "a", "b", "c", "d"])


class Naive:
    """The same rules, by looking at everything each time."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Job, str | None]] = []
        self.held: dict[str, set[str | None]] = {}

    def take(self, agent: str, alone: bool) -> Job | None:
        def rank(item: tuple[Job, str | None]) -> tuple[object, ...]:
            job, avoid = item
            retry = avoid in self.held
            holders = [name for name, images in self.held.items() if job.image in images]
            return (not retry, not retry and agent not in holders, not retry and bool(holders), job.order)

        fit = [item for item in self.jobs if alone or item[1] != agent]
        if not fit:
            return None
        best = min(fit, key=rank)
        self.jobs.remove(best)
        self.held[agent].add(best[0].image)
        return best[0]

    def leave(self, agent: str) -> None:
        del self.held[agent]
        self.jobs = [(job, None if avoid == agent else avoid) for job, avoid in self.jobs]


SECONDS = st.sampled_from([None, 1.0, 2.0, 3.0])
PUT = st.tuples(st.just("put"), IMAGES, SECONDS, st.sampled_from([None, None, *AGENTS]))
TAKE = st.tuples(st.just("take"), st.sampled_from(AGENTS), st.booleans())
LEAVE = st.tuples(st.just("leave"), st.sampled_from(AGENTS))
JOIN = st.tuples(st.just("join"), st.sampled_from(AGENTS), st.frozensets(st.sampled_from("abcd"), max_size=2))
STEPS = st.builds(
    lambda joins, puts, rest: [*joins, *puts, *rest],
    st.tuples(*(st.tuples(st.just("join"), st.just(agent), st.just(frozenset())) for agent in AGENTS)),
    st.lists(PUT, min_size=4, max_size=12),
    st.lists(st.one_of(PUT, PUT, TAKE, TAKE, TAKE, TAKE, LEAVE, JOIN), min_size=5, max_size=40),
)


@settings(max_examples=400)
@given(STEPS)
def test_index_equals_a_full_search(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    waiting, naive = WaitingJobs(), Naive()
    for number, (what, *details) in enumerate(steps):
        if what == "put":
            image, seconds, avoid = details
            job = Job(f"job-{number}", image, seconds)
            waiting.put(job, avoid=avoid)
            naive.jobs.append((job, avoid if avoid in naive.held else None))
        elif what == "join" and details[0] not in naive.held:
            waiting.join(*details)
            naive.held[details[0]] = set(details[1])
        elif what == "leave" and details[0] in naive.held:
            waiting.leave(*details)
            naive.leave(*details)
        elif what == "take" and details[0] in naive.held:
            agent, alone = details
            assert waiting.take(agent, alone=alone) == naive.take(agent, alone)
        assert len(waiting) == len(naive.jobs)
        assert sorted(job.key for job in waiting) == sorted(job.key for job, _ in naive.jobs)


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.one_of(st.none(), st.integers(0, 9)))))
def test_priority_map_equals_a_dictionary(changes: list[tuple[str, int | None]]) -> None:
    priorities: PriorityMap[str] = PriorityMap()
    plain: dict[str, int] = {}
    for key, priority in changes:
        if priority is None:
            priorities.discard(key)
            plain.pop(key, None)
        else:
            priorities.set(key, priority)
            plain[key] = priority
        assert priorities.first() == min(plain, key=lambda name: (plain[name], name), default=None)
        assert priorities.first_priority() == min(plain.values(), default=None)
        assert len(priorities) == len(plain)


def test_priority_map_forgets_what_changed() -> None:
    priorities: PriorityMap[str] = PriorityMap()
    for priority in range(10_000, 0, -1):
        priorities.set("only", priority)
    assert priorities.first_priority() == 1
    assert len(priorities._heap) < 100
