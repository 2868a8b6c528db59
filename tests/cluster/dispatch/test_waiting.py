"""The index of waiting jobs keeps the rules that a look at every job would show."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.dispatch import Job
from cluster.dispatch.priorities import PriorityMap
from cluster.dispatch.waiting import WaitingJobs

AGENTS = ("x", "y", "z")
IMAGES = st.sampled_from([None, "a", "b", "c", "d"])


class Naive:
    """Books of every job and image, and what each rule would allow by a look at all of them."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Job, str | None]] = []
        self.held: dict[str, set[str | None]] = {}

    def allowed(self, agent: str, alone: bool) -> list[Job | None]:
        """Each job that `agent` may be given, None among them where it may be told to wait."""
        retries = [job for job, avoid in self.jobs if avoid in self.held and (alone or avoid != agent)]
        if retries:
            return [first(retries)]
        free = [job for job, avoid in self.jobs if avoid not in self.held]
        own = [job for job in free if job.image is None or job.image in self.held[agent]]
        if own:
            return [first(own)]
        images = {job.image for job in free}
        others = [first([job for job in free if job.image == image]) for image in images if self._is_held(image)]
        unheld = [job for job in free if not self._is_held(job.image)]
        return [*others, first(unheld) if unheld else None]

    def _is_held(self, image: str | None) -> bool:
        return any(image in images for images in self.held.values())

    def took(self, agent: str, job: Job) -> None:
        self.jobs = [item for item in self.jobs if item[0] is not job]
        self.held[agent].add(job.image)

    def leave(self, agent: str) -> None:
        del self.held[agent]
        self.jobs = [(job, None if avoid == agent else avoid) for job, avoid in self.jobs]


def first(jobs: list[Job]) -> Job:
    return min(jobs, key=lambda job: job.order)


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
def test_an_agent_gets_what_the_rules_allow(steps: list[tuple]) -> None:  # type: ignore[type-arg]
    """And never waits beside an image that nobody holds."""
    waiting, naive = WaitingJobs(lambda agent: 1), Naive()
    for number, (what, *details) in enumerate(steps):
        if what == "put":
            image, seconds, avoid = details
            job = Job(f"job-{number}", image, seconds)
            waiting.announce(job)
            waiting.put(job, avoid=avoid)
            naive.jobs.append((job, avoid if avoid in naive.held else None))
        elif what == "join" and details[0] not in naive.held:
            waiting.join(*details)
            naive.held[details[0]] = {None, *details[1]}
        elif what == "leave" and details[0] in naive.held:
            waiting.leave(*details)
            naive.leave(*details)
        elif what == "take" and details[0] in naive.held:
            agent, alone = details
            allowed = naive.allowed(agent, alone)
            found = waiting.take(agent, alone=alone)
            assert found in allowed
            if found is not None:
                naive.took(agent, found)
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
