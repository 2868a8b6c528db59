"""What must hold of a dispatcher after every call, whatever has happened."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from cluster.dispatch.model import JobState

if TYPE_CHECKING:
    from cluster.dispatch.dispatcher import Dispatcher


def check(dispatcher: Dispatcher) -> None:
    """Raises AssertionError when something does not hold. O(jobs)."""
    _jobs_are_where_their_state_says(dispatcher)
    _live_attempts_and_agents_agree(dispatcher)
    _stories_agree(dispatcher)


def _jobs_are_where_their_state_says(dispatcher: Dispatcher) -> None:
    jobs, timers = dispatcher._jobs, dispatcher._timers
    waiting = Counter(job.key for job in dispatcher._waiting)
    states = Counter(entry.state for entry in jobs)
    assert all(jobs.count(state) == states[state] for state in JobState), "the counts by state are wrong"
    assert len(dispatcher._waiting) == waiting.total() == states[JobState.WAITING], "jobs were lost or doubled"
    for entry in jobs:
        key = entry.job.key
        assert waiting[key] == (entry.state is JobState.WAITING), (
            f"{key} is {entry.state} and waits {waiting[key]} times"
        )
        assert (("job", key) in timers) == (entry.state is JobState.DELAYED), (
            f"{key} is {entry.state}, its timer is not"
        )


def _live_attempts_and_agents_agree(dispatcher: Dispatcher) -> None:
    holders: dict[str, str] = {}
    for agent in dispatcher._agents:
        assert len(agent.live) <= agent.slots + agent.prefetch, f"{agent.name} has more than it can take"
        for key in agent.live:
            assert key not in holders, f"{key} is live on {holders[key]} and on {agent.name}"
            holders[key] = agent.name
    for entry in dispatcher._jobs:
        running = entry.state is JobState.RUNNING
        assert running == (entry.agent is not None), f"{entry.job.key} is {entry.state} on {entry.agent}"
        assert holders.get(entry.job.key) == entry.agent, f"{entry.job.key} is not live where it should be"
    quarantined = sum(agent.quarantined for agent in dispatcher._agents)
    assert dispatcher._agents.usable == len(dispatcher._agents) - quarantined, "agents are miscounted"


def _stories_agree(dispatcher: Dispatcher) -> None:
    policy = dispatcher.policy
    for entry in dispatcher._jobs:
        states = [step.state for step in entry.story]
        key = entry.job.key
        assert states[-1] is entry.state, f"the story of {key} ends with {states[-1]}, but it is {entry.state}"
        begun = entry.attempts - entry.job.attempted
        assert states.count(JobState.RUNNING) == begun, f"attempts of {key} are miscounted"
        assert states.count(JobState.DONE) + states.count(JobState.MISSING) <= 1, f"{key} ended twice"
        assert entry.faults <= policy.max_faults, f"{key} met too many faults"
        assert entry.losses <= policy.max_losses, f"{key} met too many losses"
        assert len(entry.reasons) >= entry.faults + entry.losses, f"faults of {key} are not all told"
