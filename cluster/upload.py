"""A copy of a run's folder in an object store, or on any file system that fsspec knows.

Files go up first, then `MANIFEST.json`, which names each with its size and digest: who goes by the manifest finds the
copy whole, or sees by a digest that the next one is under way. What the manifest has is not sent again, so that a
folder of nights that is copied every night costs its new files only; what is gone here is removed there, last.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from cluster.ledger.lock import LOCK_FILE, WriterLock
from parsimony.errors import InputError, TemporaryError

MANIFEST: Final = "MANIFEST.json"
SCHEMA: Final = 1
CHUNK: Final = 1 << 20
LEDGERS_BELOW: Final = 3
"""How many folders deep a ledger may lie: a folder of nights has one in each night."""

Entry = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Uploaded:
    """What an upload did: counts of files, and bytes that were sent."""

    files: int
    sent: int
    sent_bytes: int
    removed: int


def upload(folder: Path, url: str) -> Uploaded:
    """Make `url` a copy of `folder`.

    Args:
        folder: of a run, or of nights. Nobody may write its ledgers meanwhile: their locks are held.
        url: for fsspec, such as `s3://bucket/prefix`; a store's options come from the environment, as its package says.

    Raises:
        InputError: the folder is not there, or nothing here knows such a URL.
        LedgerLocked: a run is going on in the folder.
        TemporaryError: the store refused or did not answer; the same call again sends the rest.
    """
    if not folder.is_dir():
        raise InputError("is no folder", mend="name the folder of a run", file=str(folder))
    system, root = _open(url)
    with contextlib.ExitStack() as held:
        for ledger in _ledgers(folder):
            held.callback(WriterLock(ledger).release)
        here = {name: _entry(path) for name, path in _files(folder)}
        try:
            return _bring(system, root, folder, here)
        except Exception as error:  # each store has errors of its own
            raise TemporaryError(f"{url}: {type(error).__name__}: {' '.join(str(error).split())[:300]}") from error


def _bring(system: Any, root: str, folder: Path, here: Mapping[str, Entry]) -> Uploaded:
    there = _manifest(system, root)
    changed = [name for name, entry in here.items() if there.get(name) != entry]
    for name in changed:
        system.makedirs(f"{root}/{name}".rpartition("/")[0], exist_ok=True)
        system.put_file(str(folder / name), f"{root}/{name}")
    gone = [name for name in there if name not in here]
    if changed or gone or not system.exists(f"{root}/{MANIFEST}"):
        text = json.dumps({"schema": SCHEMA, "files": here}, indent=1, sort_keys=True, ensure_ascii=True)
        system.makedirs(root, exist_ok=True)
        system.pipe_file(f"{root}/{MANIFEST}", text.encode() + b"\n")
    for name in gone:
        with contextlib.suppress(FileNotFoundError):
            system.rm_file(f"{root}/{name}")
    return Uploaded(len(here), len(changed), sum(here[name]["bytes"] for name in changed), len(gone))


def _open(url: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs  # noqa: PLC0415 - only uploads need it
    from fsspec.registry import known_implementations  # noqa: PLC0415

    if "://" not in url:
        raise InputError(f"{url!r} is no URL", mend="write, for example, `s3://bucket/prefix` or `file:///archive`")
    protocol = url.partition("://")[0]
    try:
        system, root = url_to_fs(url)
    except (ImportError, ValueError) as error:
        known = known_implementations.get(protocol)
        mend = f"install what its message names: {known['err']}" if known and "err" in known else "check its protocol"
        raise InputError(f"{url}: nothing here reads {protocol}:// ({error})", mend=mend) from None
    root = str(root).rstrip("/")
    if not root:
        raise InputError(f"{url}: names no folder", mend="add a bucket and a prefix")
    return system, root


def _manifest(system: Any, root: str) -> dict[str, Entry]:
    """Files of the copy that is there, if there is one. Names that lead out of the copy are dropped."""
    try:
        found = json.loads(system.cat_file(f"{root}/{MANIFEST}"))
    except FileNotFoundError:
        return {}
    except ValueError:
        return {}  # torn or foreign: everything is sent again
    files = found.get("files") if isinstance(found, dict) and found.get("schema") == SCHEMA else None
    return {n: e for n, e in files.items() if _inside(n)} if isinstance(files, dict) else {}


def _inside(name: str) -> bool:
    return not name.startswith("/") and not {"", ".", ".."} & set(name.split("/"))


def _ledgers(folder: Path) -> Iterator[Path]:
    """Folders with a ledger's lock in them; links are not followed."""
    level = [folder]
    for _ in range(LEDGERS_BELOW):
        for place in level:
            if (place / "ledger" / LOCK_FILE).is_file():
                yield place / "ledger"
        level = [child for place in level for child in sorted(place.iterdir()) if _is_folder(child)]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and path.name != "ledger"


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Regular files by relative name, in order; no locks, nothing half-written, no manifest of a copy."""
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        ours = path.name == LOCK_FILE or path.name.endswith(".tmp") or name == MANIFEST
        if path.is_file() and not path.is_symlink() and not ours:
            yield name, path


def _entry(path: Path) -> Entry:
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return {"bytes": size, "sha256": digest.hexdigest()}
