"""What a sweep allows the runner to do, and the key under which its work is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

from parsimony.canonical import digest_bytes, digest_json
from parsimony.execution import Limits
from parsimony.tasks.model import Task

RUNNER_VERSION: Final = "3"
"""Goes into every execution key: raised whenever the same inputs may give another execution."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Choices of a sweep that change what an execution does.

    Attributes:
        three_way: `git apply --3way` may be tried.
        fuzz: `patch --fuzz=5` may be tried last.
    """

    three_way: bool = True
    fuzz: bool = True

    @property
    def strategies(self) -> tuple[str, ...]:
        """The cascade, in order, by the names of inimage/run.sh."""
        return ("git", *(("3way",) if self.three_way else ()), *(("fuzz",) if self.fuzz else ()))


def execution_key(
    task: Task,
    patch: bytes,
    *,
    environment_digest: str,
    sandbox_kind: str,
    limits: Limits,
    policy: Policy,
    repeat: int = 0,
    variant: str = "",
) -> str:
    """The content key of one execution: `sha256:…` of everything that can change what it does.

    Two candidates with one key are the same work and run once; a changed byte, digest or limit is other work.
    """
    return digest_json(
        {
            "patch": digest_bytes(patch),
            "task": task.digest,
            "environment": environment_digest,
            "runner": RUNNER_VERSION,
            "sandbox": sandbox_kind,
            "limits": asdict(limits),
            "policy": asdict(policy),
            "repeat": repeat,
            "variant": variant,
        }
    )
