"""The jobs that wait, and which of them an agent should get, so that images are pulled seldom and nothing ends late."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Final

from cluster.dispatch.holders import Holders
from cluster.dispatch.model import Job, Order
from cluster.dispatch.priorities import PriorityMap

NO_IMAGE: Final = ""
"""Stands for None among images: every sandbox without images holds it."""

LOOKED_AT: Final = 16
"""Images that are looked at for one that is worth a pull: a bound on the time, not on what is found in the end."""

PULL_S: Final = 45.0
"""Seconds that a pull is taken to last. Nobody knows before; only its order of magnitude matters."""

WORTH: Final = 3.0
"""An image is pulled for an agent without anything else when its jobs would wait so many times longer than a pull."""

AHEAD: Final = 2.0
"""A job whose image is pulled ahead may be so many times longer than one that gains nothing by waiting at its agent."""

_Heap = list[tuple[Order, Job]]  # orders are never equal, so jobs are never compared


class WaitingJobs:
    """Waiting jobs by image, with an index of images for every agent.

    An agent that asks gets, in this order:

    1. a job to be retried after a fault on another agent;
    2. a job whose image the agent holds;
    3. a job of an image in need: one whose holders would be busy with it for longer than the whole run lasts at best;
    4. a job whose image no agent holds, so that agents spread over images;
    5. a job of the image whose holders are busiest with it, when its jobs would wait long (`WORTH`).

    3 and 5 are pulls of an image that others hold. They are made only for an agent with a free slot, only when more
    jobs wait than the holders have free slots, and only while all pulls stay under `Policy.pulls` times the images or
    the agents, whichever are more; beyond that an idle agent waits. Within an image `Job.order` decides, among images
    of 2 and 4 that of their first job.

    An agent without a free slot gets a job to keep waiting only when the job is short beside what is left
    (`Policy.prefetch_share`), and an image ahead of time only while its own images keep it busy for less than a pull.

    An index may think too well of an image whose first job was taken by another agent; that is found out and mended
    when the image comes up, so an operation costs O(log jobs) amortised, times the agents that hold the image.

    Args:
        room: free slots of an agent, 0 while it is not trusted.
        pulls, prefetch_share: see `Policy`.
    """

    def __init__(
        self,
        room: Callable[[str], int] = lambda agent: 0,
        pulls: float = 1.2,
        prefetch_share: float = 0.1,
    ) -> None:
        self._left: dict[str, float] = {}  # seconds of the jobs that wait, by image
        self._weight = 0.0  # all of them
        self._prefetch_share = prefetch_share
        self._groups: dict[str, _Heap] = {}
        self._retries: dict[str, _Heap] = {}
        self._holders = Holders(room, pulls)
        self._held_index: dict[str, PriorityMap[str]] = {}
        self._unheld_index: PriorityMap[str] = PriorityMap()
        self._pressed: PriorityMap[str] = PriorityMap()  # images that somebody holds, by the pressure on them
        self._count = 0
        self.changes = 0  # goes up with all that may give an agent something which found nothing before

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Job]:
        """Every waiting job, in no order that means anything."""
        for heaps in (self._groups, self._retries):
            for heap in heaps.values():
                yield from (job for _, job in heap)

    def join(self, agent: str, images: frozenset[str], slots: int = 1) -> None:
        """From now on `agent` may ask; it holds `images`."""
        self.changes += 1
        self._holders.join(agent, slots)
        self._held_index[agent] = PriorityMap()
        for image in sorted({*images, NO_IMAGE}):
            self._hold(agent, image)

    def leave(self, agent: str) -> None:
        """`agent` is gone, with what it held; jobs that were to avoid it need not any more."""
        self.changes += 1
        for image in self._holders.leave(agent):
            self._note_first(image)
        del self._held_index[agent]
        for _, job in self._retries.pop(agent, ()):
            self._count -= 1
            self.put(job)

    def distrust(self, agent: str) -> None:
        """What `agent` holds counts for nobody else until `trust`: jobs must not wait for an agent that fails."""
        self.changes += 1
        for image in self._holders.distrust(agent):
            self._note_first(image)

    def trust(self, agent: str) -> None:
        """Undo `distrust`."""
        self.changes += 1
        for image in self._holders.trust(agent):
            self._note_first(image)

    def announce(self, job: Job) -> None:
        """There is a job; it weighs on its image until `ended`, whether it waits or runs."""
        self._holders.weigh(job.image or NO_IMAGE, job.weight, 1)

    def ended(self, job: Job) -> None:
        """The job is terminal."""
        image = job.image or NO_IMAGE
        self._holders.weigh(image, -job.weight, -1)
        if image in self._groups:
            self._note_pressure(image)

    def put(self, job: Job, *, avoid: str | None = None) -> None:
        """Add a job; `avoid` names the agent that should get it only when there is no other."""
        self._count += 1
        self.changes += 1
        if avoid is not None and avoid in self._held_index:
            heapq.heappush(self._retries.setdefault(avoid, []), (job.order, job))
            return
        image = job.image or NO_IMAGE
        group = self._groups.setdefault(image, [])
        heapq.heappush(group, (job.order, job))
        self._left[image] = self._left.get(image, 0.0) + job.weight
        self._weight += job.weight
        if group[0][1] is job:
            self._note_first(image)

    def take(self, agent: str, *, alone: bool, idle: bool = True) -> Job | None:
        """The job that `agent` should run next, taken out; None when there is none for it.

        Args:
            alone: no other agent may be given work, so jobs that were to avoid this one need not, and nothing is left
                for others.
            idle: the agent has a free slot: it may pull what others hold.
        """
        avoided = self._best_retry(agent, alone=alone)
        if avoided is not None:
            job = self._pop(self._retries, avoided)
        elif (image := self._best_image(agent, alone=alone, idle=idle)) is not None:
            job = self._pop(self._groups, image)
            self._left[image] -= job.weight
            self._weight -= job.weight
            if image not in self._groups:
                self._exhausted(image)
        else:
            return None
        self._hold(agent, job.image or NO_IMAGE, pulled=True)
        return job

    def worth_a_pull(self) -> bool:
        """Whether an idle agent that found nothing would find something now: an image that others hold."""
        return self._most_pressed(least=WORTH * PULL_S, free=False) is not None

    def _pop(self, heaps: dict[str, _Heap], key: str) -> Job:
        heap = heaps[key]
        job = heapq.heappop(heap)[1]
        if not heap:
            del heaps[key]
        self._count -= 1
        return job

    def _exhausted(self, image: str) -> None:
        """Nothing waits for an image any more."""
        del self._left[image]
        self._pressed.discard(image)
        for agent in self._holders.with_image(image):
            self._held_index[agent].discard(image)

    def _hold(self, agent: str, image: str, *, pulled: bool = False) -> None:
        if self._holders.hold(agent, image, pulled=pulled):
            self._note_first(image)

    def _note_first(self, image: str) -> None:
        """Tell every index that may offer `image` about its first job."""
        group = self._groups.get(image)
        if group is None:
            return
        order = group[0][0]
        if not self._holders.are_there(image):
            self._unheld_index.set(image, order)
        for agent in self._holders.with_image(image):
            self._held_index[agent].set(image, order)
        self._note_pressure(image)

    def _note_pressure(self, image: str) -> None:
        if self._holders.are_there(image):
            self._pressed.set(image, -self._holders.pressure(image))
        else:
            self._pressed.discard(image)

    def _best_retry(self, agent: str, *, alone: bool) -> str | None:
        avoided = (name for name in self._retries if alone or name != agent)
        return min(avoided, key=lambda name: self._retries[name][0][0], default=None)

    def _best_image(self, agent: str, *, alone: bool, idle: bool) -> str | None:
        held = self._first_of(self._held_index[agent])
        if not idle:
            return self._to_wait(agent, held)
        if held is not None:
            return held
        unheld = self._first_of(self._unheld_index)
        if unheld is None:
            return self._most_pressed(least=WORTH * PULL_S, free=alone)
        least = max(self._share(), self._holders.pressure(unheld, self._holders.slots(agent)))
        return self._most_pressed(least=least, free=alone) or unheld

    def _to_wait(self, agent: str, held: str | None) -> str | None:
        """The image of a job that may wait at an agent without a free slot, where no other can take it.

        The next image is pulled while what the agent holds still keeps its slots busy.
        """
        longest = self._prefetch_share * self._share()
        unheld = None if self._lasts(agent) else self._first_of(self._unheld_index)
        for image, limit in ((unheld, AHEAD * longest), (held, longest)):
            if image is not None and self._groups[image][0][1].weight <= limit:
                return image
        return None

    def _lasts(self, agent: str) -> bool:
        """Whether the waiting jobs of its images keep an agent busy for as long as a pull may take."""
        seconds = 0.0
        wanted = PULL_S * self._holders.slots(agent)
        for image in self._held_index[agent]:
            if image in self._groups:
                seconds += self._left[image] / max(1, len(self._holders.of(image)))
                if seconds >= wanted:
                    return True
        return False

    def _most_pressed(self, *, least: float, free: bool) -> str | None:
        """The image above the pressure `least` whose holders are busiest with it, and that another agent may pull."""
        unheld = len(self._unheld_index)
        if not free and not self._holders.may_pull(reserved=unheld):
            return None
        found: str | None = None
        passed: list[str] = []
        for _ in range(LOOKED_AT):
            image = self._pressed.first()
            if image is None or -self._pressed[image] <= least / 2:
                break
            if free or self._in_need(image, least):
                found = image
                break
            passed.append(image)
            self._pressed.discard(image)
        for image in passed:
            self._note_pressure(image)
        return found

    def _share(self) -> float:
        return self._holders.share(self._weight)

    def _in_need(self, image: str, least: float) -> bool:
        """Whether jobs wait that the holders have no slot for, and must wait for longer than `least`."""
        if len(self._groups[image]) <= self._holders.room(image):
            return False
        return self._holders.pressure(image, rounds=2) > least

    def _first_of(self, index: PriorityMap[str]) -> str | None:
        while (image := index.first()) is not None:
            group = self._groups.get(image)
            if group is None or (index is self._unheld_index and self._holders.are_there(image)):
                index.discard(image)
            elif index[image] != group[0][0]:
                index.set(image, group[0][0])
            else:
                return image
        return None
