"""Engines bring orders to agents and replies back: `local` in this process, `ray` on every node of a Ray cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cluster.agent import AgentSpec, Reader, SandboxFactory
from cluster.engines.protocol import CountsAgents, Engine, EngineEvent, Post, Replied, ReplyLost
from parsimony.errors import InputError

__all__ = [
    "ENGINES",
    "CountsAgents",
    "Engine",
    "EngineEvent",
    "EngineSpec",
    "Post",
    "Replied",
    "ReplyLost",
    "create_engine",
]

ENGINES: Final = ("local", "ray")


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """Which engine, as data.

    Attributes:
        kind: one of `ENGINES`.
        address: of the Ray cluster; None = $RAY_ADDRESS, else a Ray of our own on this machine.
    """

    kind: str = "local"
    address: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in ENGINES:
            raise InputError(
                f"there is no engine called {self.kind!r}", mend=f"use one of {', '.join(ENGINES)}", field="engine"
            )
        if self.kind != "ray" and self.address is not None:
            raise InputError("only the engine `ray` has an address", mend="leave it out, or use ray", field="address")


def create_engine(engine: EngineSpec, sandbox: SandboxFactory, *, slots: int, read: Reader | None = None) -> Engine:
    """The engine that `engine` describes, not yet started: use it as an asynchronous context manager.

    Args:
        slots: gradings at once, per agent.
        read: what makes an execution of a sandbox's result; None = `cluster.measuring.read`.

    Raises:
        InputError: Ray is asked for and is not installed.
    """
    if slots < 1:
        raise InputError("an agent needs at least one slot", mend="give a positive number of workers", field="workers")
    if read is None:
        from cluster import measuring  # noqa: PLC0415 - tests and benchmarks bring their own

        read = measuring.read
    agent = AgentSpec(sandbox, read, slots)
    if engine.kind == "ray":
        from cluster.engines.ray import RayEngine  # noqa: PLC0415 - Ray takes a second to import

        return RayEngine(agent, address=engine.address)
    from cluster.engines.local import LocalEngine  # noqa: PLC0415 - as above

    return LocalEngine(agent)
