"""Which agents hold which images, how much work weighs on each image, and how many pulls may still be made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from math import ceil, inf


class Holders:
    """Agents by image.

    The *pressure* of an image is the work that weighs on it per slot of its holders, in seconds; the *share* is the
    same for the whole run: an image under more than that will end after everything else.

    Args:
        room: free slots of an agent.
        pulls: pulls per image or agent, whichever are more, within which images are pulled that others hold.
    """

    def __init__(self, room: Callable[[str], int], pulls: float) -> None:
        self._room = room
        self._pulls = pulls
        self._of: dict[str, dict[str, None]] = {}  # in the order in which they came, so that events decide everything
        self._held: dict[str, dict[str, None]] = {}
        self._slots: dict[str, int] = {}
        self._distrusted: set[str] = set()
        self._weights: dict[str, tuple[int, float]] = {}
        self._weight = 0.0
        self._pulled = 0

    def join(self, agent: str, slots: int) -> None:
        """An agent that holds nothing yet."""
        self._held[agent] = {}
        self._slots[agent] = slots

    def leave(self, agent: str) -> list[str]:
        """An agent is gone. Returns the images that it held."""
        held = list(self._held.pop(agent))
        del self._slots[agent]
        if agent not in self._distrusted:
            self._remove(agent, held)
        self._distrusted.discard(agent)
        return held

    def distrust(self, agent: str) -> list[str]:
        """Count an agent as a holder of nothing. Returns the images concerned."""
        if agent in self._distrusted:
            return []
        self._distrusted.add(agent)
        self._remove(agent, self._held[agent])
        return list(self._held[agent])

    def trust(self, agent: str) -> list[str]:
        """Count it again. Returns the images concerned."""
        if agent not in self._distrusted:
            return []
        self._distrusted.discard(agent)
        for image in self._held[agent]:
            self._of.setdefault(image, {})[agent] = None
        return list(self._held[agent])

    def hold(self, agent: str, image: str, *, pulled: bool) -> bool:
        """An agent holds an image from now on. Returns whether that is new.

        Args:
            pulled: it did not bring the image along.
        """
        if image in self._held[agent]:
            return False
        self._held[agent][image] = None
        self._pulled += pulled
        if agent not in self._distrusted:
            self._of.setdefault(image, {})[agent] = None
        return True

    def slots(self, agent: str) -> int:
        """Of an agent."""
        return self._slots[agent]

    def of(self, image: str) -> Collection[str]:
        """The trusted agents that hold an image."""
        return self._of.get(image, {})

    def with_image(self, image: str) -> Iterator[str]:
        """The agents that hold an image, those that are not trusted as well."""
        yield from self.of(image)
        yield from (agent for agent in sorted(self._distrusted) if image in self._held[agent])

    def are_there(self, image: str) -> bool:
        """Whether there are any."""
        return image in self._of

    def room(self, image: str) -> int:
        """Free slots of all holders of an image."""
        return sum(self._room(agent) for agent in self.of(image))

    def weigh(self, image: str, seconds: float, jobs: int) -> None:
        """Jobs came to an image, or (negative) went."""
        self._weight += seconds
        count, weight = self._weights.get(image, (0, 0.0))
        self._weights[image] = (count + jobs, weight + seconds)

    def pressure(self, image: str, slots: int = 0, rounds: int = 1) -> float:
        """See the class; infinite without holders.

        Args:
            slots: of one that may become a holder.
            rounds: how often the holders' slots must be filled at least: 2 when jobs wait for others to end.
        """
        count, weight = self._weights.get(image, (0, 0.0))
        slots += sum(self._slots[agent] for agent in self.of(image))
        return max(rounds, ceil(count / slots)) * weight / count if slots and count else inf

    def share(self, waiting: float) -> float:
        """See the class.

        Args:
            waiting: seconds of work that wait; what runs is taken for half done.
        """
        return (waiting + self._weight) / 2 / max(1, sum(self._slots.values()))

    def may_pull(self, *, reserved: int) -> bool:
        """Whether an image may be pulled that others hold, when `reserved` images must still be pulled once."""
        return self._pulled + reserved + 1 <= self._pulls * max(len(self._weights), len(self._held))

    def _remove(self, agent: str, images: Collection[str]) -> None:
        for image in images:
            holders = self._of[image]
            del holders[agent]
            if not holders:
                del self._of[image]
