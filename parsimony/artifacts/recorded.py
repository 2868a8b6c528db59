"""The patches that records name, found again in a cache."""

from __future__ import annotations

from parsimony.artifacts.cache import Cache
from parsimony.artifacts.examine import encode
from parsimony.artifacts.submission import read_predictions
from parsimony.measurements import Record


class RecordedPatches:
    """Finds the patch of a record at its `patch_location`. Each file of predictions is read once."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._predictions: dict[str, dict[str, str] | None] = {}

    def of(self, record: Record) -> bytes | None:
        """Its bytes; None where the cache does not have them.

        Raises:
            InputError: the predictions that it should be in are damaged.
        """
        location = record.provenance.get("patch_location")
        if not isinstance(location, str):
            return None
        url, within, task = location.partition("#instance_id=")
        if not within:
            return self._cache.read(url)
        if url not in self._predictions:
            data = self._cache.read(url)
            self._predictions[url] = None if data is None else read_predictions(data, url)[0]
        text = (self._predictions[url] or {}).get(task)
        return None if text is None else encode(text)
