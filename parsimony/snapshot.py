"""Snapshots: pack exactly the downloads that results rest on, and put them into a cache elsewhere.

`create` takes from the cache what the records name: pages of the dataset, results, predictions, patches, reports, and
the files that the patches of a model and of people touch. `restore` verifies every digest before the first file is
written, never replaces what is there with something else, and needs no trust in who made the archive.
"""

from __future__ import annotations

import argparse
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from parsimony.artifacts import Cache, Places
from parsimony.artifacts.archive import MAX_ENTRY, MAX_TOTAL, Entry, Manifest, read, write
from parsimony.artifacts.references import References
from parsimony.errors import InputError
from parsimony.measurements import read_bytes
from parsimony.modulecommand import DONE, RECORDS_HELP, count, parser, read_all, run, write_json

_DEFAULT_CACHE = ".parsimony-cache"


@dataclass(frozen=True, slots=True)
class Counts:
    """What a snapshot did.

    Attributes:
        bytes: of all contents, as they are in the cache.
        written: entries that were new to the cache; those of a new archive.
        results: {path of a results file as it was packed: whether the file there is the same now}; None where there is
            none.
    """

    entries: int
    bytes: int
    written: int
    results: Mapping[str, bool | None]

    def to_json(self) -> dict[str, object]:
        """For the command line."""
        results = dict(self.results)
        return {"bytes": self.bytes, "entries": self.entries, "results_same": results, "written": self.written}


def create(paths: Sequence[str], cache: Cache, output: Path, *, places: Places | None = None) -> Counts:
    """Pack what results files rest on into a new archive.

    Raises:
        InputError: a results file cannot be read or has no record, nothing of it is in the cache, or the output is
            there already.
    """
    records, digests = read_all(paths)
    urls = References(cache, places or Places()).urls(records)
    entries, absent = [], []
    for url in urls:
        content = cache.read(url)
        if content is not None:
            if len(content) > MAX_ENTRY:
                raise InputError(f"is larger than {MAX_ENTRY} bytes", mend="it cannot be in a snapshot", file=url)
            entries.append(Entry(url, hashlib.sha256(content).hexdigest(), len(content)))
        elif cache.is_absent(url):
            absent.append(url)
    if not entries:
        mend = "name the cache that `parsimony analyze` used with --cache"
        raise InputError("nothing that the records name is in the cache", mend=mend, file=str(cache.folder))
    manifest = Manifest(tuple(entries), digests, tuple(absent))
    _write(output, manifest, cache)
    return Counts(len(entries), sum(entry.size for entry in entries), len(entries), dict.fromkeys(digests, True))


def _write(output: Path, manifest: Manifest, cache: Cache) -> None:
    draft = output.with_name(f".{output.name}.{os.getpid()}.new")
    try:
        with draft.open("wb") as file:
            write(file, manifest, (_content(cache, entry) for entry in manifest.entries))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, output)
    except FileExistsError:
        raise InputError("is there already", mend="write to another path", file=str(output)) from None
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise InputError(problem, mend="check the path and its permissions", file=str(output)) from None
    finally:
        draft.unlink(missing_ok=True)


def _content(cache: Cache, entry: Entry) -> bytes:
    content = cache.read(entry.url)
    if content is None or hashlib.sha256(content).hexdigest() != entry.sha256:
        mend = "let nothing write to it meanwhile"
        raise InputError("the cache changed while it was packed", mend=mend, file=str(cache.path(entry.url)))
    return content


def restore(archive: Path, cache: Cache, *, results: Sequence[str] = (), most: int = MAX_TOTAL) -> Counts:
    """Put the content of an archive into a cache.

    Args:
        results: results files that the archive must have been made for, whatever their names are.
        most: bytes that the archive may hold.

    Raises:
        InputError: the archive is damaged or holds anything else than it says, the cache has other content for one of
            its URLs, or a results file is not one of those that it was made for. Then nothing was written.
    """
    # Twice over the stream: everything is verified before anything is written, and once more as it is.
    manifest = _manifest(archive, most)
    _check_results(manifest, results, archive)
    for entry, _ in _entries(archive, most):
        there = cache.read(entry.url)
        if there is not None and hashlib.sha256(there).hexdigest() != entry.sha256:
            mend = "restore into another cache, or remove this file"
            raise InputError(f"has other content for {entry.url}", mend=mend, file=str(cache.path(entry.url)))
    written = 0
    for entry, content in _entries(archive, most):
        if not cache.has(entry.url):
            cache.store(entry.url, content)
            written += 1
    for url in manifest.absent:
        if not cache.has(url):
            cache.mark_absent(url)
    same = {path: _is_same(path, told) for path, told in manifest.results_sha256.items()}
    return Counts(len(manifest.entries), sum(entry.size for entry in manifest.entries), written, same)


def _is_same(path: str, told: str) -> bool | None:
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest() == told
    except (OSError, ValueError):
        return None


def _manifest(archive: Path, most: int) -> Manifest:
    first = next(read(archive, most=most))
    assert isinstance(first, Manifest)
    return first


def _entries(archive: Path, most: int) -> Iterator[tuple[Entry, bytes]]:
    return (item for item in read(archive, most=most) if not isinstance(item, Manifest))


def _check_results(manifest: Manifest, results: Sequence[str], archive: Path) -> None:
    known = set(manifest.results_sha256.values())
    for path in results:
        if hashlib.sha256(read_bytes(path)).hexdigest() not in known:
            told = ", ".join(sorted(manifest.results_sha256)) or "none"
            mend = f"{archive} was made for: {told}"
            raise InputError("is not a results file that the snapshot was made for", mend=mend, file=path)


_EXAMPLES = """\
  python -m parsimony.snapshot create results.jsonl --output cache.tar.gz
  python -m parsimony.snapshot restore cache.tar.gz --cache .parsimony-cache --results results.jsonl"""


def main(words: Sequence[str]) -> int:
    """The commands."""
    root = parser("parsimony.snapshot", __doc__, _EXAMPLES)
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    told = "pack the downloads that results rest on"
    made = commands.add_parser("create", help=told, description=f"{told[0].upper()}{told[1:]}.")
    made.add_argument("results", metavar="RESULTS", nargs="+", help=RECORDS_HELP)
    made.add_argument("--output", metavar="FILE", required=True, help="the archive, .tar.gz; must not be there yet")
    told = "verify a snapshot and put its downloads into a cache"
    taken = commands.add_parser("restore", help=told, description=f"{told[0].upper()}{told[1:]}.")
    taken.add_argument("archive", metavar="ARCHIVE", help="a snapshot of `create`")
    taken.add_argument("--results", metavar="FILE", nargs="+", default=[], help="it must have been made for these")
    taken.add_argument(
        "--max-bytes", metavar="N", type=count, default=MAX_TOTAL, help=f"it may hold (default: {MAX_TOTAL})"
    )
    for command in (made, taken):
        command.add_argument("--cache", metavar="DIR", default=_DEFAULT_CACHE, help="default: %(default)s")
    options = root.parse_args(words)
    {"create": _create, "restore": _restore}[options.command](options)
    return DONE


def _create(options: argparse.Namespace) -> None:
    counts = create(options.results, Cache(Path(options.cache)), Path(options.output))
    write_json(counts.to_json(), None)


def _restore(options: argparse.Namespace) -> None:
    cache = Cache(Path(options.cache))
    counts = restore(Path(options.archive), cache, results=options.results, most=options.max_bytes)
    write_json(counts.to_json(), None)


if __name__ == "__main__":
    run(main)
