"""Which URLs a results file rests on: what a snapshot of the cache has to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from parsimony.artifacts import dataset
from parsimony.artifacts.cache import Cache
from parsimony.artifacts.examine import encode
from parsimony.artifacts.places import PAGE, Places
from parsimony.artifacts.recorded import RecordedPatches
from parsimony.measurements import Record
from parsimony.patches import parse


@dataclass(slots=True)
class References:
    """Finds URLs for records."""

    cache: Cache
    places: Places
    _patches: RecordedPatches = field(init=False)
    _human: dict[str, str] | None = None

    def __post_init__(self) -> None:
        self._patches = RecordedPatches(self.cache)

    def urls(self, records: Sequence[Record]) -> list[str]:
        """Every URL that the records rest on, sorted; whether it is in the cache or not."""
        found = {self.places.page(offset) for offset in range(0, dataset.VERIFIED_TASKS, PAGE)}
        for record in records:
            found.update(self._of(record))
        return sorted(found)

    def _of(self, record: Record) -> Iterator[str]:
        yield from _addresses(record.provenance)
        reports = record.provenance.get("reports_url")
        if isinstance(reports, str):
            yield f"{reports}/{record.task_id}/report.json"
        if record.base is None or record.analysis_status not in {"ok", "error"}:
            return
        for path in self._paths(record):
            yield self.places.file(record.base.repo, record.base.base_commit, path)

    def _paths(self, record: Record) -> set[str]:
        """Paths that either patch names. Which of them were read, the cache knows."""
        found: set[str] = set()
        for patch in (self._patches.of(record), self._human_patch(record.task_id)):
            for file in parse(patch).files if patch is not None else ():
                for path in (file.old_path, file.new_path):
                    if path is not None:
                        found.add(path.decode("utf-8", "replace"))
        if record.metrics is not None:
            found.update(record.metrics.touched_files)
        return found

    def _human_patch(self, task: str) -> bytes | None:
        if self._human is None:
            self._human = dict(self._dataset())
        text = self._human.get(task)
        return None if text is None else encode(text)

    def _dataset(self) -> Iterator[tuple[str, str]]:
        for offset in range(0, dataset.VERIFIED_TASKS, PAGE):
            data = self.cache.read(self.places.page(offset))
            for row in dataset.page_rows(data) if data is not None else ():
                task, patch = row.get("instance_id"), row.get("patch")
                if isinstance(task, str) and isinstance(patch, str):
                    yield task, patch


def _addresses(value: object) -> Iterator[str]:
    """Every text within a value that is an address, without what follows its `#`."""
    if isinstance(value, str):
        if value.startswith(("http://", "https://")):
            yield value.partition("#")[0]
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _addresses(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _addresses(inner)
