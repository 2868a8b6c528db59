"""The agents: how much each of them runs, and whether it can be trusted with more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cluster.dispatch.model import InvalidEvent, Policy
from cluster.dispatch.priorities import PriorityMap


@dataclass(slots=True)
class AgentState:
    """What is known of one agent.

    Attributes:
        live: keys of the jobs whose live attempt it has.
        faults: infrastructure faults in a row.
        quarantined: gets no work until its time is over.
        on_trial: its quarantine is over and nothing has succeeded since: one attempt at a time.
    """

    name: str
    slots: int
    prefetch: int
    live: set[str] = field(default_factory=set)
    faults: int = 0
    quarantined: bool = False
    on_trial: bool = False

    @property
    def window(self) -> int:
        """How many attempts it may have at once."""
        if self.quarantined:
            return 0
        return 1 if self.on_trial else self.slots + self.prefetch

    @property
    def room(self) -> int:
        """Free slots that may be used; 0 while the agent is not trusted."""
        return 0 if self.quarantined or self.on_trial else max(0, self.slots - len(self.live))

    @property
    def load(self) -> float:
        """Attempts per slot; 1 and more: its slots are taken and further attempts wait at the agent."""
        return len(self.live) / self.slots


class Agents:
    """Agents by name, and which of them should get the next attempt: the one with the smallest load."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._agents: dict[str, AgentState] = {}
        self._open: PriorityMap[str] = PriorityMap()
        self._quarantined = 0

    def __len__(self) -> int:
        return len(self._agents)

    def __contains__(self, name: str) -> bool:
        return name in self._agents

    def __iter__(self) -> Iterator[AgentState]:
        return iter(self._agents.values())

    @property
    def usable(self) -> int:
        """Agents that are not in quarantine."""
        return len(self._agents) - self._quarantined

    def join(self, name: str, slots: int, prefetch: int) -> None:
        """A new agent, trusted until it fails."""
        if name in self._agents:
            raise InvalidEvent(f"agent {name} joined twice")
        if slots < 1 or prefetch < 0:
            raise InvalidEvent(f"agent {name} joined with {slots} slots and a prefetch of {prefetch}")
        agent = AgentState(name, slots, prefetch)
        self._agents[name] = agent
        self._offer(agent)

    def leave(self, name: str) -> AgentState:
        """Take an agent out; returns what it was."""
        agent = self._agents.pop(name, None)
        if agent is None:
            raise InvalidEvent(f"agent {name} was lost but never joined")
        self._open.discard(name)
        self._quarantined -= agent.quarantined
        return agent

    def room(self, name: str) -> int:
        """See `AgentState.room`."""
        return self._agents[name].room

    def least_loaded(self) -> AgentState | None:
        """An agent that may get an attempt, the one with the smallest load; by name among equals."""
        name = self._open.first()
        return None if name is None else self._agents[name]

    def set_aside(self, agent: AgentState) -> None:
        """Do not offer `agent` until `offer_again`: there is nothing for it at present."""
        self._open.discard(agent.name)

    def offer_again(self, agent: AgentState) -> None:
        """Undo `set_aside`."""
        self._offer(agent)

    def begin(self, agent: AgentState, key: str) -> None:
        """`agent` has the live attempt of job `key`."""
        agent.live.add(key)
        self._offer(agent)

    def end(self, name: str, key: str) -> None:
        """It has it no more."""
        agent = self._agents[name]
        agent.live.discard(key)
        self._offer(agent)

    def succeeded(self, name: str) -> bool:
        """An attempt on the agent gave an execution: it works. Returns whether this ended a quarantine or a trial."""
        agent = self._agents[name]
        freed = agent.quarantined or agent.on_trial
        self._quarantined -= agent.quarantined
        agent.faults, agent.quarantined, agent.on_trial = 0, False, False
        self._offer(agent)
        return freed

    def failed(self, name: str) -> bool:
        """An attempt on the agent met an infrastructure fault. Returns whether it goes into quarantine for it."""
        agent = self._agents[name]
        agent.faults += 1
        if agent.quarantined or not (agent.on_trial or agent.faults >= self._policy.quarantine_after):
            return False
        agent.quarantined, agent.on_trial = True, False
        self._quarantined += 1
        self._offer(agent)
        return True

    def release(self, name: str) -> None:
        """The agent's quarantine is over: it is on trial now."""
        agent = self._agents[name]
        self._quarantined -= agent.quarantined
        agent.quarantined, agent.on_trial = False, True
        self._offer(agent)

    def _offer(self, agent: AgentState) -> None:
        if len(agent.live) < agent.window:
            self._open.set(agent.name, agent.load)
        else:
            self._open.discard(agent.name)
