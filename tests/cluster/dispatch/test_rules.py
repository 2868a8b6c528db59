"""Each rule of dispatch, by itself."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from cluster.dispatch import (
    AgentJoined,
    AgentLost,
    AttemptFinished,
    BudgetExhausted,
    Cancel,
    Command,
    ConcurrencyChanged,
    Counts,
    Dispatcher,
    DrainRequested,
    Ending,
    Finished,
    InvalidEvent,
    Job,
    JobsAdded,
    JobState,
    PauseRequested,
    Policy,
    Quarantined,
    RecordAttempt,
    RecordTerminal,
    ResumeRequested,
    RunEnding,
    Start,
    StopRequested,
    Tick,
    WakeAt,
)
from cluster.dispatch.retry import backoff
from parsimony.errors import InputError

C = TypeVar("C")

STEADY = Policy(backoff_seconds=10.0, jitter=0.0, quarantine_after=100, breaker_jobs=100)


def jobs(*keys: str, image: str | None = None) -> JobsAdded:
    return JobsAdded(tuple(Job(key, image) for key in keys))


def fault(key: str, attempt: int, ending: Ending = Ending.TEMPORARY, **details: float) -> AttemptFinished:
    return AttemptFinished(key, attempt, ending, "ImagePullFailed", "no route", **details)


def done(key: str, attempt: int = 1) -> AttemptFinished:
    return AttemptFinished(key, attempt, Ending.DONE)


def starts(commands: list[Command]) -> list[tuple[str, int, str]]:
    return [(c.job.key, c.attempt, c.agent) for c in commands if isinstance(c, Start)]


def only(commands: list[Command], kind: type[C]) -> list[C]:
    return [command for command in commands if isinstance(command, kind)]


def test_a_job_runs_and_the_run_completes() -> None:
    dispatcher = Dispatcher(STEADY)
    assert starts(dispatcher.handle(jobs("a"), AgentJoined("n", 1), now=1)) == [("a", 1, "n")]
    job = Job("a")
    assert dispatcher.handle(done("a"), now=2) == [
        RecordAttempt(job, 1, "n", Ending.DONE),
        RecordTerminal(job, 1, ()),
        Finished(RunEnding.COMPLETED),
    ]
    assert [(step.at, step.state) for step in dispatcher.story("a")] == [
        (1, JobState.WAITING),
        (1, JobState.RUNNING),
        (2, JobState.DONE),
    ]
    assert dispatcher.counts == Counts(total=1, waiting=0, delayed=0, running=0, done=1, missing=0, retried=0)


def test_a_run_without_jobs_is_complete_at_once() -> None:
    assert Dispatcher().handle(JobsAdded(()), now=0) == [Finished(RunEnding.COMPLETED)]


def test_identical_keys_are_refused_and_nothing_of_the_event_is_taken() -> None:
    dispatcher = Dispatcher(STEADY)
    with pytest.raises(InvalidEvent, match="identical work"):
        dispatcher.handle(jobs("a", "b", "a"), now=0)
    assert dispatcher.counts.total == 0


@pytest.mark.parametrize(
    "event",
    [
        done("unknown"),
        done("a", attempt=2),
        done("a", attempt=0),
        AttemptFinished("a", 1, Ending.CANCELLED),
        AgentLost("stranger", "gone"),
        AgentJoined("n", 1),
        AgentJoined("m", 0),
        jobs("a"),
    ],
)
def test_what_cannot_have_happened_is_refused(event: AttemptFinished | AgentLost | AgentJoined | JobsAdded) -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(jobs("a"), AgentJoined("n", 1), now=0)
    with pytest.raises(InvalidEvent):
        dispatcher.handle(event, now=1)


def test_time_does_not_go_back() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(Tick(), now=5)
    with pytest.raises(InvalidEvent, match="time went back"):
        dispatcher.handle(Tick(), now=4)


def test_longest_first_unknown_before_all_then_rank() -> None:
    dispatcher = Dispatcher(STEADY)
    added = JobsAdded(
        (
            Job("short", expected_seconds=1),
            Job("long", expected_seconds=9),
            Job("second", expected_seconds=5, rank=2),
            Job("first", expected_seconds=5, rank=1),
            Job("unknown"),
        )
    )
    commands = dispatcher.handle(added, AgentJoined("n", 5), now=0)
    assert [key for key, _, _ in starts(commands)] == ["unknown", "long", "first", "second", "short"]


def test_jobs_of_one_image_go_where_it_is_and_agents_spread_over_images() -> None:
    dispatcher = Dispatcher(STEADY)
    added = JobsAdded(tuple(Job(f"{image}{i}", image, 1.0, rank=i) for i in range(2) for image in "pqr"))
    commands = dispatcher.handle(
        added, AgentJoined("has-q", 1, frozenset("q")), AgentJoined("none", 1), AgentJoined("other", 1), now=0
    )
    assert starts(commands) == [("q0", 1, "has-q"), ("p0", 1, "none"), ("r0", 1, "other")]
    assert starts(dispatcher.handle(done("r0"), now=1)) == [("r1", 1, "other")]
    assert starts(dispatcher.handle(done("r1"), now=2)) == [], "a pull takes longer than the second that p1 waits"
    assert starts(dispatcher.handle(done("q0"), now=2)) == [("q1", 1, "has-q")]
    assert starts(dispatcher.handle(done("p0"), now=3)) == [("p1", 1, "none")]


def test_an_idle_agent_pulls_what_would_have_to_wait_long_for_those_that_hold_it() -> None:
    dispatcher = Dispatcher(STEADY)
    added = JobsAdded(tuple(Job(f"p{i}", "p", 600.0, rank=i) for i in range(3)))
    commands = dispatcher.handle(added, AgentJoined("has-p", 1, frozenset("p")), AgentJoined("none", 1), now=0)
    assert starts(commands) == [("p0", 1, "has-p"), ("p1", 1, "none")]


def test_pulls_are_few_however_many_agents_are_idle() -> None:
    """Ten images and ten agents: what all of them pull together stays within the policy."""
    dispatcher = Dispatcher(STEADY)
    joins = [AgentJoined(f"n{number}", 1) for number in range(10)]
    added = JobsAdded(tuple(Job(f"{image}-{i}", f"image-{image}", 600.0) for image in range(10) for i in range(20)))
    commands = dispatcher.handle(added, *joins, now=0)
    pulled = {(agent, key.partition("-")[0]) for key, _, agent in starts(commands)}
    now = 0
    while running := [(key, agent) for key, _, agent in starts(commands)]:
        now += 1
        commands = dispatcher.handle(*(done(key) for key, _ in running), now=now)
        pulled |= {(agent, key.partition("-")[0]) for key, _, agent in starts(commands)}
    assert dispatcher.counts.done == 200
    assert len(pulled) <= 12


def test_slots_of_all_agents_fill_before_anything_is_prefetched() -> None:
    """What waits at an agent no other can take, so that only small parts of what is left wait there."""
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("m", 1, prefetch=1), AgentJoined("n", 2, prefetch=1), now=0)
    commands = dispatcher.handle(jobs(*(f"job-{number}" for number in range(70))), now=0)
    assert [agent for _, _, agent in starts(commands)] == ["m", "n", "n", "m", "n"]
    few = Dispatcher(STEADY)
    few.handle(AgentJoined("m", 1, prefetch=1), AgentJoined("n", 2, prefetch=1), now=0)
    assert [agent for _, _, agent in starts(few.handle(jobs(*"abcdefg"), now=0))] == ["m", "n", "n"]


def test_the_limit_holds_over_all_agents_and_can_change() -> None:
    dispatcher = Dispatcher(STEADY)
    commands = dispatcher.handle(
        ConcurrencyChanged(2), AgentJoined("m", 2), AgentJoined("n", 2), jobs(*"abcdef"), now=0
    )
    assert len(starts(commands)) == 2
    assert len(starts(dispatcher.handle(ConcurrencyChanged(3), now=1))) == 1
    assert starts(dispatcher.handle(ConcurrencyChanged(1), done("a"), now=2)) == []
    assert len(starts(dispatcher.handle(ConcurrencyChanged(None), now=3))) == 2


def test_a_pause_starts_nothing_and_ends_nothing() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(jobs("a", "b"), AgentJoined("n", 1), now=0)
    commands = dispatcher.handle(PauseRequested(), done("a"), now=1)
    assert not starts(commands)
    assert not only(commands, Finished)
    assert starts(dispatcher.handle(ResumeRequested(), now=2)) == [("b", 1, "n")]


def test_a_fault_waits_and_goes_elsewhere() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("m", 1), AgentJoined("n", 1), jobs("a"), now=0)
    commands = dispatcher.handle(fault("a", 1), now=1)
    assert only(commands, WakeAt) == [WakeAt(11)]
    assert not starts(commands)
    assert not starts(dispatcher.handle(Tick(), now=10.9))
    assert starts(dispatcher.handle(Tick(), now=11)) == [("a", 2, "n")]


def test_elsewhere_means_waiting_for_a_busy_agent_and_not_idling_with_other_work() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("m", 1), AgentJoined("n", 1), jobs("a", "b", "c"), now=0)
    assert starts(dispatcher.handle(fault("a", 1), now=0)) == [("c", 1, "m")]
    assert not starts(dispatcher.handle(Tick(), now=10))
    assert not starts(dispatcher.handle(done("c"), now=11)), "went back to the agent that failed it"
    assert starts(dispatcher.handle(done("b"), now=12)) == [("a", 2, "n")]


def test_an_agent_that_got_nothing_is_asked_again() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("m", 1), AgentJoined("n", 1), jobs("a", "b"), now=0)
    dispatcher.handle(fault("a", 1), now=0)
    dispatcher.handle(Tick(), now=10)
    assert starts(dispatcher.handle(jobs("c"), now=11)) == [("c", 1, "m")]


def test_the_only_usable_agent_gets_its_own_faults_back() -> None:
    policy = Policy(max_faults=9, backoff_seconds=10, jitter=0, quarantine_after=1, quarantine_seconds=99)
    dispatcher = Dispatcher(policy)
    dispatcher.handle(AgentJoined("m", 1), jobs("a"), now=0)
    dispatcher.handle(fault("a", 1), now=0)
    assert not starts(dispatcher.handle(Tick(), now=20))
    assert starts(dispatcher.handle(Tick(), now=99)) == [("a", 2, "m")], "there is no other"
    dispatcher.handle(AgentJoined("n", 1), fault("a", 2), now=100)
    assert starts(dispatcher.handle(Tick(), now=140)) == [("a", 3, "n")]
    dispatcher.handle(fault("a", 3), now=141)
    assert starts(dispatcher.handle(Tick(), now=200)) == [("a", 4, "m")], "the other is in quarantine"


def test_three_faults_make_a_job_missing_with_all_of_them_told() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("n", 1), jobs("a"), now=0)
    dispatcher.handle(fault("a", 1), now=0)
    dispatcher.handle(Tick(), now=10)
    dispatcher.handle(fault("a", 2), now=10)
    commands = dispatcher.handle(Tick(), now=30)
    assert starts(commands) == [("a", 3, "n")], "the second wait is twice the first"
    commands = dispatcher.handle(fault("a", 3), now=30)
    told = tuple(f"attempt {i} on n: ImagePullFailed: no route" for i in (1, 2, 3))
    assert commands[1:] == [RecordTerminal(Job("a"), None, told), Finished(RunEnding.COMPLETED)]
    assert dispatcher.reasons("a") == told


def test_a_permanent_fault_makes_a_job_missing_at_once() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("n", 1), jobs("a"), now=0)
    commands = dispatcher.handle(fault("a", 1, Ending.PERMANENT), now=0)
    assert RecordTerminal(Job("a"), None, ("attempt 1 on n: ImagePullFailed: no route",)) in commands


def test_of_a_traceback_the_reason_tells_the_error() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("n", 1), jobs("a"), now=0)
    message = "Traceback (most recent call last):\n  File ...\nKeyError: 'x'\n\n"
    dispatcher.handle(AttemptFinished("a", 1, Ending.PERMANENT, "AgentError", message), now=0)
    assert dispatcher.reasons("a") == ("attempt 1 on n: AgentError: KeyError: 'x'",)


def test_a_lost_agent_gives_its_jobs_back_at_once_under_new_numbers() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("m", 2), jobs("a", "b"), now=0)
    commands = dispatcher.handle(AgentJoined("n", 2), AgentLost("m", "node died"), now=1)
    assert [(c.attempt, c.ending) for c in only(commands, RecordAttempt)] == [(1, Ending.LOST)] * 2
    assert starts(commands) == [("a", 2, "n"), ("b", 2, "n")]
    late = dispatcher.handle(done("a", 1), now=2)
    assert late == [RecordAttempt(Job("a"), 1, "m", Ending.DONE, superseded=True)]


def test_losses_do_not_count_as_faults_but_end_somewhere() -> None:
    dispatcher = Dispatcher(Policy(max_faults=1, max_losses=3, breaker_jobs=9))
    dispatcher.handle(jobs("a"), now=0)
    for i in range(3):
        assert starts(dispatcher.handle(AgentJoined(f"n{i}", 1), now=i)) == [("a", i + 1, f"n{i}")]
        commands = dispatcher.handle(AgentLost(f"n{i}", "out of memory"), now=i)
    assert [c.attempt for c in only(commands, RecordTerminal)] == [None]
    assert dispatcher.reasons("a")[-1] == "attempt 3 on n2: lost: out of memory"


def test_a_lost_reply_blames_the_agent_and_goes_elsewhere() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("m", 1), AgentJoined("n", 1), jobs("a"), now=0)
    commands = dispatcher.handle(fault("a", 1, Ending.LOST), now=1)
    assert starts(commands) == [("a", 2, "n")]


def test_numbers_go_on_after_earlier_runs() -> None:
    dispatcher = Dispatcher(STEADY)
    commands = dispatcher.handle(AgentJoined("n", 1), JobsAdded((Job("a", attempted=4),)), now=0)
    assert starts(commands) == [("a", 5, "n")]
    assert dispatcher.counts.retried == 0
    with pytest.raises(InvalidEvent):
        dispatcher.handle(done("a", 4), now=1)


def test_an_agent_that_only_fails_is_quarantined_then_tried_with_one_attempt() -> None:
    policy = Policy(max_faults=9, backoff_seconds=0, quarantine_after=2, quarantine_seconds=60, breaker_jobs=99)
    dispatcher = Dispatcher(policy)
    dispatcher.handle(AgentJoined("bad", 2), jobs("a", "b", "c"), now=0)
    first = dispatcher.handle(fault("a", 1), now=1)
    assert starts(first) == [("a", 2, "bad")], "retries go before fresh jobs"
    second = dispatcher.handle(fault("b", 1), now=1)
    reason = "attempt 1 on bad: ImagePullFailed: no route"
    assert only(second, Quarantined) == [Quarantined("bad", 61, reason)]
    assert not starts(second)
    assert not starts(dispatcher.handle(fault("a", 2), now=2))
    trial = dispatcher.handle(Tick(), now=61)
    assert len(starts(trial)) == 1
    (key, attempt, _) = starts(trial)[0]
    again = dispatcher.handle(fault(key, attempt), now=62)
    assert [c.until for c in only(again, Quarantined)] == [122], "one fault on trial is enough"
    (key, attempt, _) = starts(dispatcher.handle(Tick(), now=122))[0]
    assert len(starts(dispatcher.handle(done(key, attempt), now=123))) == 2, "trusted again"


def test_a_success_ends_a_quarantine_and_a_loss_forgets_it() -> None:
    policy = Policy(max_faults=9, backoff_seconds=0, quarantine_after=1, breaker_jobs=99)
    dispatcher = Dispatcher(policy)
    dispatcher.handle(AgentJoined("n", 2), jobs(*"abcd"), now=0)
    assert not starts(dispatcher.handle(fault("a", 1), now=1))
    assert len(starts(dispatcher.handle(done("b"), now=2))) == 2
    assert only(dispatcher.handle(fault("c", 1), now=3), Quarantined)
    dispatcher.handle(AgentLost("n", "gone"), now=4)
    dispatcher.handle(AgentJoined("n", 2), now=5)
    commands = dispatcher.handle(Tick(), now=100)
    assert not only(commands, Quarantined)
    dispatcher.validate()


def test_the_run_halts_when_nothing_works() -> None:
    dispatcher = Dispatcher(Policy(breaker_jobs=3, quarantine_after=99))
    dispatcher.handle(AgentJoined("n", 2), jobs(*"abcde"), now=0)
    dispatcher.handle(fault("a", 1), now=1)
    dispatcher.handle(fault("b", 1), now=2)
    commands = dispatcher.handle(fault("c", 1), now=3)
    (end,) = only(commands, Finished)
    assert end.ending is RunEnding.HALTED
    assert end.reason.endswith("the last: attempt 1 on n: ImagePullFailed: no route")
    assert only(commands, Cancel) == [Cancel("d", 1, "n")]
    assert dispatcher.counts.missing == 0, "what was not tried to the end is open, not missing"
    assert dispatcher.handle(done("d"), Tick(), now=4) == []


def test_one_success_disarms_the_breaker() -> None:
    dispatcher = Dispatcher(Policy(breaker_jobs=2, quarantine_after=99))
    dispatcher.handle(AgentJoined("n", 3), jobs(*"abcdef"), now=0)
    dispatcher.handle(fault("a", 1), done("b"), now=1)
    assert not only(dispatcher.handle(fault("c", 1), fault("d", 1), now=2), Finished)


def test_one_broken_image_does_not_halt_a_run_of_many() -> None:
    dispatcher = Dispatcher(Policy(breaker_jobs=2, quarantine_after=99))
    dispatcher.handle(AgentJoined("n", 2, frozenset("p")), jobs(*"abc", image="p"), jobs(*"def", image="q"), now=0)
    assert not only(dispatcher.handle(fault("a", 1), fault("b", 1), now=1), Finished)
    assert only(dispatcher.handle(fault("c", 1), fault("d", 1), now=2), Finished)


def test_the_run_halts_when_there_is_work_but_no_agent() -> None:
    dispatcher = Dispatcher(Policy(agentless_seconds=30))
    assert dispatcher.handle(jobs("a"), now=0) == [WakeAt(30)]
    assert dispatcher.handle(AgentJoined("n", 1), now=29)[-1] == WakeAt(None)
    assert WakeAt(70) in dispatcher.handle(AgentLost("n", "gone"), now=40)
    (end,) = only(dispatcher.handle(Tick(), now=70), Finished)
    told = "there was work but no agent for 30 s; the last one was lost: n: gone"
    assert end == Finished(RunEnding.HALTED, told)


def test_a_drain_lets_running_attempts_end_and_starts_nothing() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("n", 2), jobs("a", "b", "c"), now=0)
    assert dispatcher.handle(DrainRequested(), now=1) == []
    dispatcher.handle(fault("a", 1), now=2)
    commands = dispatcher.handle(done("b"), now=3)
    assert RecordTerminal(Job("b"), 1, ()) in commands
    assert Finished(RunEnding.DRAINED, "drained on request") in commands
    assert dispatcher.counts.waiting == 2


def test_an_exhausted_budget_lets_running_attempts_end_and_says_which_cap() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("n", 2), jobs("a", "b", "c"), now=0)
    assert not starts(dispatcher.handle(done("a"), now=1, start=False))
    assert not starts(dispatcher.handle(BudgetExhausted("the cap of $3"), ResumeRequested(), now=1))
    commands = dispatcher.handle(DrainRequested(), done("b"), now=2)
    assert commands[-1] == Finished(RunEnding.EXHAUSTED, "the cap of $3")
    assert (dispatcher.counts.done, dispatcher.counts.waiting, dispatcher.counts.missing) == (2, 1, 0)


def test_a_drain_that_finds_everything_done_completes() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("n", 1), jobs("a"), now=0)
    assert Finished(RunEnding.COMPLETED) in dispatcher.handle(DrainRequested(), done("a"), now=1)


def test_a_stop_cancels_what_runs_and_leaves_it_open() -> None:
    dispatcher = Dispatcher(STEADY)
    dispatcher.handle(AgentJoined("n", 1), jobs("a", "b"), now=0)
    job, why = Job("a"), "stopped on request"
    assert dispatcher.handle(StopRequested(), now=1) == [
        Cancel("a", 1, "n"),
        RecordAttempt(job, 1, "n", Ending.CANCELLED, "Cancelled", why),
        Finished(RunEnding.STOPPED, why),
    ]
    with pytest.raises(InvalidEvent, match="after the end"):
        dispatcher.handle(jobs("z"), now=2)


def test_backoff_doubles_up_to_its_limit_with_jitter_of_its_own_for_each_attempt() -> None:
    plain = Policy(backoff_seconds=2, backoff_limit_seconds=10, jitter=0)
    assert [backoff(plain, "k", n, n) for n in (1, 2, 3, 4, 500)] == [2, 4, 8, 10, 10]
    assert backoff(plain, "k", 1, 1, retry_after=33) == 33
    policy = Policy(backoff_seconds=2, jitter=0.5)
    waits = {backoff(policy, f"job-{i}", 1, 1) for i in range(100)}
    assert len(waits) == 100
    assert all(2 <= wait <= 3 for wait in waits)
    assert waits == {backoff(policy, f"job-{i}", 1, 1) for i in range(100)}
    assert backoff(policy, "k", 1, 1) != backoff(policy, "k", 2, 1)


@pytest.mark.parametrize("field", ["max_faults", "max_losses", "quarantine_after", "breaker_jobs"])
def test_a_count_below_one_is_refused_by_name(field: str) -> None:
    counts: dict[str, Any] = {field: 0}
    with pytest.raises(InputError, match=field):
        Policy(**counts)


@pytest.mark.parametrize("field", ["backoff_seconds", "backoff_limit_seconds", "jitter", "agentless_seconds"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_a_time_that_makes_no_sense_is_refused_by_name(field: str, value: float) -> None:
    times: dict[str, Any] = {field: value}
    with pytest.raises(InputError, match=field):
        Policy(**times)


def test_equal_events_give_equal_commands() -> None:
    def run() -> list[Command]:
        dispatcher = Dispatcher(Policy(breaker_jobs=99))
        commands = dispatcher.handle(AgentJoined("m", 3), AgentJoined("n", 3), jobs(*"abcdefghij"), now=0)
        commands += dispatcher.handle(fault("a", 1), fault("b", 1), now=1)
        return commands + dispatcher.handle(AgentLost("m", "gone"), now=9)

    assert run() == run()
