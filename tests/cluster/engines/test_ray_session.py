"""Having Ray or not: what is said when it is not there, does not start, or does not fit. Starts none."""

from __future__ import annotations

import os
import signal
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.agent import SandboxSpec
from cluster.engines import EngineSpec, create_engine
from parsimony.errors import InputError, PermanentError, SandboxUnavailable

ray = pytest.importorskip("ray", reason="Ray is not installed")
from cluster.engines.ray import session  # noqa: E402 - needs Ray


class NoRay:
    """Stands where the module stands. `init` raises the errors it was given, one a call, then works."""

    def __init__(self, *errors: Exception, initialised: bool = False) -> None:
        self.errors = list(errors)
        self.initialised = initialised
        self.calls: list[dict[str, Any]] = []
        self.shutdowns = 0
        self._private = SimpleNamespace(worker=SimpleNamespace())

    exceptions = ray.exceptions

    def is_initialized(self) -> bool:
        return self.initialised

    def init(self, **options: Any) -> None:
        self.calls.append(options)
        signal.signal(signal.SIGTERM, lambda *_: None)
        if self.errors:
            raise self.errors.pop(0)

    def shutdown(self) -> None:
        self.shutdowns += 1


@pytest.fixture(autouse=True)
def _environment_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"})


def connecting(monkeypatch: pytest.MonkeyPatch, stand_in: NoRay, address: str | None = None) -> bool:
    monkeypatch.setattr(session, "ray", stand_in)
    return session.connect(address)


def test_a_ray_that_is_there_is_used_and_left(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = NoRay(initialised=True)
    assert connecting(monkeypatch, stand_in, "anywhere:1") is False
    assert not stand_in.calls


def test_a_ray_of_our_own_is_small_quiet_and_gets_a_second_try(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGTERM)
    stand_in = NoRay(RuntimeError("timed out during startup"))
    assert connecting(monkeypatch, stand_in) is True
    assert len(stand_in.calls) == 2
    assert stand_in.shutdowns == 1
    assert stand_in.calls[1]["address"] == "local"
    assert stand_in.calls[1]["include_dashboard"] is False
    assert stand_in.calls[1]["log_to_driver"] is False
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_ray_of_our_own_that_does_not_start_is_worth_another_try_later(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = NoRay(RuntimeError("timed out"), RuntimeError("timed out\nagain"))
    with pytest.raises(SandboxUnavailable, match=r"Ray does not start on this machine: timed out$"):
        connecting(monkeypatch, stand_in)


def test_an_address_that_leads_nowhere_is_named_with_the_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = NoRay(ConnectionError("refused"))
    with pytest.raises(SandboxUnavailable, match=r"no Ray cluster answers at head:6379: refused; start one with `ray"):
        connecting(monkeypatch, stand_in, "head:6379")
    assert "include_dashboard" not in stand_in.calls[0]
    assert len(stand_in.calls) == 1


def test_a_cluster_that_does_not_fit_is_no_matter_of_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = NoRay(RuntimeError("Version mismatch: the cluster was started with Python 3.9"))
    monkeypatch.setenv("RAY_ADDRESS", "head:6379")
    with pytest.raises(PermanentError, match=r"the Ray at head:6379: Version mismatch"):
        connecting(monkeypatch, stand_in)


def test_without_the_package_the_mend_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("cluster.engines.ray")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"engine: the engine `ray` needs the package ray; install"):
        create_engine(EngineSpec("ray"), SandboxSpec("process"), slots=1)
