"""File names in patch headers, as git and GNU diff write them: quoted, spaced, prefixed, with time stamps."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ESCAPES = {
    ord("a"): 7,
    ord("b"): 8,
    ord("t"): 9,
    ord("n"): 10,
    ord("v"): 11,
    ord("f"): 12,
    ord("r"): 13,
    ord('"'): ord('"'),
    ord("\\"): ord("\\"),
}
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)", re.DOTALL)
_DATE = rb"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[+-]\d\d:?\d\d)?"
_TIMESTAMP = re.compile(rb"(?<![ \t])[ \t]+" + _DATE + rb"\s*$")
_EPOCH = re.compile(
    rb"(1969-12-31|1970-01-01) ([0-2]\d):([0-5]\d):00(?:\.0+)? ([+-])([0-2]\d):?([0-5]\d)\s*$",
)
_BINARY = re.compile(rb"(?:Binary files|Files) (.+) differ\r?\n", re.DOTALL)
_DEV_NULL = re.compile(rb"/dev/null(?=\s|$)")


@dataclass(frozen=True, slots=True)
class HeaderName:
    """One side of a header. `absent`: the file does not exist on this side; `name` None otherwise: unreadable."""

    name: bytes | None
    absent: bool = False


def unquote(text: bytes) -> tuple[bytes, int] | None:
    """The C-style quoted name at the start of `text` and where it ends; None if it is not well quoted."""
    match = _QUOTED.match(text)
    if match is None:
        return None
    inner = match[1]
    if b"\\" not in inner:
        return inner, match.end()
    out = bytearray()
    at = 0
    for escape in _ESCAPE.finditer(inner):
        out += inner[at : escape.start()]
        at = escape.end()
        code = escape[1]
        if len(code) == 3:
            out.append(int(code, 8))
        elif code[0] in _ESCAPES:
            out.append(_ESCAPES[code[0]])
        else:
            return None
    out += inner[at:]
    return bytes(out), match.end()


def file_name(rest: bytes, *, git: bool) -> HeaderName:
    """The name after "--- " or "+++ ".

    A name ends at a tab; in a plain diff also at a time stamp, and one of the epoch says that the file does not exist.
    """
    text = rest.rstrip(b"\r\n")
    if _DEV_NULL.match(text):
        return HeaderName(None, absent=True)
    absent = not git and _is_epoch(text)
    if text.startswith(b'"'):
        quoted = unquote(text)
        return HeaderName(quoted[0] if quoted else None, absent)
    name = text.partition(b"\t")[0]
    if not git and name == text:
        name = _TIMESTAMP.sub(b"", name)
    return HeaderName(name or None, absent)


def _is_epoch(text: bytes) -> bool:
    match = _EPOCH.search(text)
    if match is None:
        return False
    date, hour, minute, sign, zone_hour, zone_minute = match.groups()
    zone = int(zone_hour) * 60 + int(zone_minute)
    minutes = int(hour) * 60 + int(minute) - (zone if sign == b"+" else -zone)
    return minutes == (24 * 60 if date.startswith(b"1969") else 0)


def whole_name(rest: bytes) -> bytes | None:
    """The name after "rename from " and its like: the whole line, or a quoted name. None if unreadable."""
    text = rest.rstrip(b"\r\n")
    if text.startswith(b'"'):
        quoted = unquote(text)
        return quoted[0] if quoted else None
    return text or None


def git_names(rest: bytes) -> tuple[bytes, bytes] | None:
    """Both names of a "diff --git" line, prefixes and all; None where the line leaves it open.

    Unquoted names may hold spaces. Without a rename both sides are one name behind two prefixes, which tells where
    the first ends; the names of a rename stand in lines of their own.
    """
    text = rest.rstrip(b"\r\n")
    if text.startswith(b'"'):
        return _quoted_pair(text)
    mark = text.find(b' "')
    if mark > 0 and text.endswith(b'"'):
        second = unquote(text[mark + 1 :])
        return (text[:mark], second[0]) if second else None
    middle = len(text) // 2
    first, second_name = text[:middle], text[middle + 1 :]
    if text[middle : middle + 1] == b" " and _one_name(first, second_name):
        return first, second_name
    words = text.split(b" ")
    if len(words) == 2 and all(words):
        return words[0], words[1]
    if text.startswith(b"a/") and text.count(b" b/") == 1:
        before, _, after = text.partition(b" b/")
        return before, b"b/" + after
    return None


def _quoted_pair(text: bytes) -> tuple[bytes, bytes] | None:
    first = unquote(text)
    if first is None or text[first[1] : first[1] + 1] != b" ":
        return None
    rest = text[first[1] + 1 :]
    if not rest.startswith(b'"'):
        return (first[0], rest) if rest else None
    second = unquote(rest)
    return (first[0], second[0]) if second else None


def _one_name(first: bytes, second: bytes) -> bool:
    return bool(first) and (first == second or first.partition(b"/")[2] == second.partition(b"/")[2] != b"")


def binary_names(line: bytes) -> tuple[HeaderName, HeaderName] | None:
    """Both sides of a "Binary files A and B differ" line; None if it is not one."""
    match = _BINARY.fullmatch(line)
    if match is None:
        return None
    text = match[1]
    unknown = HeaderName(None)
    cuts = [found.start() for found in re.finditer(rb" and ", text)][:64]
    for cut in cuts:
        old, new = text[:cut], text[cut + 5 :]
        if len(cuts) == 1 or b"/dev/null" in (old, new) or _one_name(old, new):
            return file_name(old, git=True), file_name(new, git=True)
    return unknown, unknown


def strip_prefix(name: bytes) -> bytes:
    """The name without one leading "a/" or "b/"."""
    return name[2:] if name[:2] in (b"a/", b"b/") else name


def possible_paths(name: bytes) -> tuple[bytes, ...]:
    """The paths that a name with a prefix can mean: without "a/" or "b/"; else as it is, and as `-p1` reads it."""
    if name[:2] in (b"a/", b"b/"):
        return (name[2:],)
    _, slash, rest = name.partition(b"/")
    return (name, rest) if slash else (name,)
