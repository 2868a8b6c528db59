"""Which paths a patch touches, and which of them must never be written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from parsimony.patches.model import MODE_SUBMODULE, MODE_SYMLINK, ChangeKind, FilePatch, Patch, ProblemKind, show
from parsimony.patches.names import possible_paths

MAX_PATH_BYTES = 4096  # Linux has no longer ones


def touched(patch: Patch) -> tuple[bytes, ...]:
    """Every path that the patch names, old and new, in its order.

    Where a name carries no "a/" or "b/" it stands both as it is and without its first component, which is what `-p1`
    makes of it.
    """
    return tuple(dict.fromkeys(path for file in patch.files for path in _paths(file)))


def refusals(patch: Patch) -> tuple[str, ...]:
    """Why the patch must not be applied, one clause each; empty if it may.

    Paths that leave the tree, that reach into a `.git` (in any spelling of its case, at any depth), that no file can
    have (a NUL, over 4096 bytes), or that run through a link or submodule which the patch itself makes, before or after
    in its order.
    """
    found: dict[str, None] = {}
    for file in patch.files:
        for name in (*file.names, *file.bare_names):
            reason = unsafe(name)
            if reason is not None:
                found[f"{reason}: {show(name)}"] = None
    links = frozenset(_links(patch))
    for file in patch.files:
        if links and file.kind is not ChangeKind.DELETE:
            for path in _written(file):
                over = _first_in(links, path)
                if over is not None:
                    found[f"a path runs through {show(over)}, which the patch itself makes a link: {show(path)}"] = None
    if patch.has(ProblemKind.TOO_LARGE):
        found[patch.problems[0].text] = None
    return tuple(found)


def unsafe(name: bytes) -> str | None:
    """What is wrong with a file name of a header, prefix and all; None if it stays in the tree and out of `.git`."""
    if b"\0" in name:
        return "a path holds a NUL"
    if len(name) > MAX_PATH_BYTES:
        return "a path is too long"
    if any(path.startswith(b"/") for path in (name, *possible_paths(name))):
        return "a path is absolute"
    parts = name.split(b"/")
    if b".." in parts:
        return "a path leaves the tree"
    if any(part.lower() == b".git" for part in parts):
        return "a path reaches into .git"
    return None


def crosses_link(patch: Patch) -> bool:
    """Whether any path of the patch, also one that is only read or removed, is below a link that the patch makes."""
    links = frozenset(_links(patch))
    return bool(links) and any(_first_in(links, path) is not None for path in touched(patch))


def _paths(file: FilePatch) -> Iterator[bytes]:
    for name in file.names:
        yield from possible_paths(name)
    yield from file.bare_names


def _written(file: FilePatch) -> Iterable[bytes]:
    if file.kind in (ChangeKind.RENAME, ChangeKind.COPY):
        return (file.new_path,) if file.new_path else ()
    return _paths(file)


def _links(patch: Patch) -> Iterator[bytes]:
    """Paths that the patch makes, or may make, a symbolic link or a submodule.

    What is renamed or copied whole does not say what it is, so it may be a link.
    """
    for file in patch.files:
        moved = file.kind in (ChangeKind.RENAME, ChangeKind.COPY)
        if file.kind is not ChangeKind.DELETE and (moved or file.new_mode in (MODE_SYMLINK, MODE_SUBMODULE)):
            yield from _written(file)


def _first_in(links: frozenset[bytes], path: bytes) -> bytes | None:
    """The first of `links` that is a proper ancestor of `path`."""
    at = path.find(b"/", 0, MAX_PATH_BYTES)
    while at >= 0:
        if path[:at] in links:
            return path[:at]
        at = path.find(b"/", at + 1, MAX_PATH_BYTES)
    return None
