"""Notices that nothing works at all, so that a run ends after minutes with the reason and not after hours without."""

from __future__ import annotations

from typing import Final

from cluster.dispatch.model import Job, Policy

_ENOUGH_IMAGES: Final = 3
"""Many jobs of one broken image say nothing about the others."""


class Breaker:
    """Trips when the first jobs of a run all met infrastructure faults; the first success disarms it for good."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._armed = True
        self._jobs: set[str] = set()
        self._images: set[str | None] = set()
        self.last_fault = ""

    def succeeded(self) -> None:
        """Something works."""
        self._armed = False
        self._jobs.clear()
        self._images.clear()

    def failed(self, job: Job, fault: str) -> None:
        """A job met an infrastructure fault."""
        if self._armed:
            self._jobs.add(job.key)
            self._images.add(job.image)
            self.last_fault = fault

    def tripped(self, images: int) -> bool:
        """Whether going on is pointless.

        Args:
            images: how many different images the run has.
        """
        return len(self._jobs) >= self._policy.breaker_jobs and len(self._images) >= min(_ENOUGH_IMAGES, images)
