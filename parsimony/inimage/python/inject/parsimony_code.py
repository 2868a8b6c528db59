"""Identity of Python code: digests of code objects in memory, and of those that a source file holds.

Shared by the reporter (what is loaded) and the witness (what lies on disk). Digests are comparable between processes of
the same Python version. Runs on Python 3.6 and later with the standard library alone; as a script it answers for
another interpreter: `python parsimony_code.py OPTIMIZE SINCE FILE...` prints JSON. PYTEST_DONT_REWRITE
"""

import os
import sys
from _frozen_importlib_external import MAGIC_NUMBER, cache_from_source
from types import CodeType

try:  # the built-in module loads in a tenth of the time of OpenSSL, and tests leave it alone
    from _sha2 import sha256
except ImportError:
    try:
        from _sha256 import sha256
    except ImportError:
        from hashlib import sha256

MAGIC = MAGIC_NUMBER.hex()


def signer(key):
    """HMAC-SHA256 with `key` (bytes) as a function: message -> hexadecimal digits, as bytes."""
    block = (key if len(key) <= 64 else sha256(key).digest()).ljust(64, b"\0")
    inner = sha256(bytes(byte ^ 0x36 for byte in block))
    outer = sha256(bytes(byte ^ 0x5C for byte in block))

    def sign(message):
        first, second = inner.copy(), outer.copy()
        first.update(message)
        second.update(first.digest())
        return second.hexdigest().encode("ascii")

    return sign


def digest(code):
    """24 hexadecimal digits that stand for what a code object does. Where it stands (file, lines) does not count."""
    return _digest(code, {}).hexdigest()[:24]


def _digest(code, known):
    total = known.get(id(code))
    if total is not None:
        return total
    plain = [const for const in code.co_consts if not isinstance(const, CodeType)]
    parts = (
        code.co_name,
        code.co_argcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_code,
        getattr(code, "co_exceptiontable", None),
        plain,
    )
    text = repr(parts)
    if "frozenset(" in text:  # its order differs from process to process
        text = repr((parts[:-1], [_ordered(const) for const in plain]))
    total = known[id(code)] = sha256(text.encode("utf-8", "surrogatepass"))
    if len(plain) < len(code.co_consts):
        for const in code.co_consts:
            if isinstance(const, CodeType):
                total.update(_digest(const, known).digest())
    return total


def _ordered(const):
    if isinstance(const, frozenset):
        return ("frozenset", sorted(map(repr, map(_ordered, const))))
    return tuple(map(_ordered, const)) if isinstance(const, tuple) else const


def codes(code):
    """A code object and all that are nested in it."""
    found = [code]
    for each in found:
        found.extend(const for const in each.co_consts if isinstance(const, CodeType))
    return found


def module_code(path, optimize, since):
    """The code of a source file: from its compiled file when that one is valid and older than `since`, else compiled.

    Args:
        optimize: the optimization level of the interpreter that loaded it (0, 1, 2).
        since: epoch seconds; a compiled file that was made later may be anybody's.

    Raises:
        OSError, SyntaxError, ValueError: it cannot be read or compiled.
    """
    with open(path, "rb") as file:
        source = file.read()
        status = os.fstat(file.fileno())
    cached = _cached(path, optimize, since, status)
    if cached is not None:
        return cached
    return compile(source, path, "exec", dont_inherit=True, optimize=optimize)


def _cached(path, optimize, since, status):
    import marshal
    import struct

    try:
        with open(cache_from_source(path, optimization=optimize or ""), "rb") as file:
            data = file.read()
            if os.fstat(file.fileno()).st_ctime >= since:
                return None
    except (OSError, NotImplementedError):
        return None
    stamp = struct.pack("<II", int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    # Before 3.7 the header had no flags.
    start = 16 if sys.version_info >= (3, 7) else 12
    if data[:4] != MAGIC_NUMBER or data[start - 8 : start] != stamp or (start == 16 and data[4:8] != b"\0\0\0\0"):
        return None
    try:
        return marshal.loads(data[start:])
    except (EOFError, ValueError, TypeError):
        return None


def inventory(path, optimize, since):
    """{"digests": [...], "places": [[name, first line], ...]} of everything that the source file `path` defines."""
    every, known = codes(module_code(path, optimize, since)), {}
    return {
        "digests": [_digest(code, known).hexdigest()[:24] for code in every],
        "places": [[code.co_name, code.co_firstlineno] for code in every],
    }


def main(arguments):
    """Answer for the files in `arguments`: {path: inventory or null}."""
    import json

    answer = {}
    for path in arguments[2:]:
        try:
            answer[path] = inventory(path, int(arguments[0]), float(arguments[1]))
        except (OSError, SyntaxError, ValueError):
            answer[path] = None
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1:])
