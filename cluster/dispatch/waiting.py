"""The jobs that wait, and which of them an agent should get: those whose image it holds, longest first; then others."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from cluster.dispatch.model import Job, Order
from cluster.dispatch.priorities import PriorityMap

_NO_IMAGE = ""
"""Stands for None among images: every sandbox without images holds it after its first job."""

_Heap = list[tuple[Order, Job]]  # orders are never equal, so jobs are never compared


class WaitingJobs:
    """Waiting jobs by image, with an index of images for every agent.

    An agent that asks gets, in this order:

    1. a job to be retried after a fault on another agent;
    2. a job whose image the agent holds;
    3. a job whose image no agent holds, so that agents spread over images;
    4. a job whose image only others hold: a slot that idles costs more than a second pull.

    Within each of them `Job.order` decides. An index may think too well of an image whose first job was taken by
    another agent; that is found out and mended when the image comes up, so an operation costs O(log jobs) amortised,
    times the number of agents that hold the image.
    """

    def __init__(self) -> None:
        self._groups: dict[str, _Heap] = {}
        self._retries: dict[str, _Heap] = {}
        self._holders: dict[str, set[str]] = {}
        self._held: dict[str, set[str]] = {}
        self._held_index: dict[str, PriorityMap[str]] = {}
        self._unheld_index: PriorityMap[str] = PriorityMap()
        self._index: PriorityMap[str] = PriorityMap()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Job]:
        """Every waiting job, in no order that means anything."""
        for heaps in (self._groups, self._retries):
            for heap in heaps.values():
                yield from (job for _, job in heap)

    def join(self, agent: str, images: frozenset[str]) -> None:
        """From now on `agent` may ask; it holds `images`."""
        self._held[agent] = set()
        self._held_index[agent] = PriorityMap()
        for image in sorted(images):
            self._hold(agent, image)

    def leave(self, agent: str) -> None:
        """`agent` is gone, with what it held; jobs that were to avoid it need not any more."""
        for image in self._held.pop(agent):
            holders = self._holders[image]
            holders.discard(agent)
            if not holders:
                del self._holders[image]
                self._note_first(image)
        del self._held_index[agent]
        for _, job in self._retries.pop(agent, ()):
            self._count -= 1
            self.put(job)

    def put(self, job: Job, *, avoid: str | None = None) -> None:
        """Add a job; `avoid` names the agent that should get it only when there is no other."""
        self._count += 1
        if avoid in self._held:
            heapq.heappush(self._retries.setdefault(avoid, []), (job.order, job))
            return
        image = job.image or _NO_IMAGE
        group = self._groups.setdefault(image, [])
        heapq.heappush(group, (job.order, job))
        if group[0][1] is job:
            self._note_first(image)

    def take(self, agent: str, *, alone: bool) -> Job | None:
        """The job that `agent` should run next, taken out; None when there is none for it.

        Args:
            alone: no other agent may be given work, so jobs that were to avoid this one need not.
        """
        avoided = self._best_retry(agent, alone=alone)
        if avoided is not None:
            job = self._pop(self._retries, avoided)
        elif (image := self._best_image(agent)) is not None:
            job = self._pop(self._groups, image)
        else:
            return None
        self._hold(agent, job.image or _NO_IMAGE)
        return job

    def _pop(self, heaps: dict[str, _Heap], key: str) -> Job:
        heap = heaps[key]
        job = heapq.heappop(heap)[1]
        if not heap:
            del heaps[key]
        self._count -= 1
        return job

    def _hold(self, agent: str, image: str) -> None:
        if image in self._held[agent]:
            return
        self._held[agent].add(image)
        self._holders.setdefault(image, set()).add(agent)
        self._note_first(image)

    def _note_first(self, image: str) -> None:
        """Tell every index that may offer `image` about its first job."""
        group = self._groups.get(image)
        if group is None:
            return
        order = group[0][0]
        self._index.set(image, order)
        holders = self._holders.get(image)
        if holders is None:
            self._unheld_index.set(image, order)
            return
        for agent in holders:
            self._held_index[agent].set(image, order)

    def _best_retry(self, agent: str, *, alone: bool) -> str | None:
        avoided = (name for name in self._retries if alone or name != agent)
        return min(avoided, key=lambda name: self._retries[name][0][0], default=None)

    def _best_image(self, agent: str) -> str | None:
        for index in (self._held_index[agent], self._unheld_index, self._index):
            image = self._first_of(index)
            if image is not None:
                return image
        return None

    def _first_of(self, index: PriorityMap[str]) -> str | None:
        while (image := index.first()) is not None:
            group = self._groups.get(image)
            if group is None or (index is self._unheld_index and image in self._holders):
                index.discard(image)
            elif index[image] != group[0][0]:
                index.set(image, group[0][0])
            else:
                return image
        return None
