"""Patches in git's format from contents before and after, exact and without a search: one hunk a file."""

from __future__ import annotations

from collections.abc import Mapping

from parsimony.patches.model import split_lines

CONTEXT = 3


def diff(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> bytes:
    """The patch that makes `after` of `before`.

    Args:
        before, after: path -> content, None (or no entry) where there is no file. Paths are plain ones: no quotes,
            controls or line feeds.
    """
    return b"".join(_section(path, before.get(path), after[path]) for path in after if before.get(path) != after[path])


def _section(path: str, before: bytes | None, after: bytes | None) -> bytes:
    name = path.encode("utf-8", "surrogateescape")
    head = b"diff --git a/%b b/%b\n" % (name, name)
    if before is None:
        head += b"new file mode 100644\n"
    if after is None:
        head += b"deleted file mode 100644\n"
    body = _hunk(split_lines(before or b""), split_lines(after or b""))
    if not body:  # an empty file comes or goes: git has no lines for it
        return head
    old = b"/dev/null" if before is None else b"a/" + name
    new = b"/dev/null" if after is None else b"b/" + name
    return head + b"--- %b\n+++ %b\n" % (_closed(old), _closed(new)) + body


def _closed(name: bytes) -> bytes:
    """A name with blanks ends in a tab, as git writes it: `patch` takes what follows a blank for a date."""
    return name + b"\t" if b" " in name else name


def _hunk(old: list[bytes], new: list[bytes]) -> bytes:
    """One hunk from the first line that differs to the last, with context; empty when nothing does."""
    if old == new:
        return b""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    first, after = max(0, start - CONTEXT), max(0, end - CONTEXT)
    old_count, new_count = len(old) - after - first, len(new) - after - first
    lines = [b"@@ -%b +%b @@\n" % (_range(first, old_count), _range(first, new_count))]
    lines += [b" " + line for line in old[first:start]]
    lines += [b"-" + line for line in old[start : len(old) - end]]
    lines += [b"+" + line for line in new[start : len(new) - end]]
    lines += [b" " + line for line in old[len(old) - end : len(old) - after]]
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)


def _range(first: int, count: int) -> bytes:
    return b"%d,%d" % (first + 1 if count else first, count)
