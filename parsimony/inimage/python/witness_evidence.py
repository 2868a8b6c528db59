"""What the witness looks up after the end, when nobody else is left alive: do the reports fit the files on disk?

The reporter names the code of the runner that it found in memory, and where code came from that does not belong
there. This module says of each such file whether it was written to since the tests began, and whether it really holds
that code. Judging is the reader's business.
"""

import json
import os
import sys

import parsimony_code

HELPER_SECONDS = 60


def check(session, started_at, tree):
    """Findings on the files that a session named.

    Args:
        session: a `witness_channel.Session` with its `loaded` events.
        started_at: epoch seconds when the test command was started.
        tree: the work tree.

    Returns:
        {"changed": [paths written to since the start of the command],
         "changed_tests": [test files written to since the session was opened],
         "foreign": {path: [names of functions in memory that this file does not define]},
         "misplaced": [[path, name, line]: code that claims to stand there and does not],
         "unread": [paths that could not be checked]}
    """
    core, origins, tests = _named(session.loaded)
    result = {
        "changed": sorted(path for path in {*core, *(origin[0] for origin in origins)} if _written(path, started_at)),
        "changed_tests": sorted(path for path in tests if _written(path, session.connected_at)),
        "foreign": {},
        "misplaced": [],
        "unread": [],
    }
    outside = sorted(origin for origin in origins if not _within(origin[0], tree))
    paths = sorted({*core, *(origin[0] for origin in outside)})
    known = _inventories(session.first or {}, paths, started_at, tree)
    result["unread"] = [path for path in paths if known.get(path) is None]
    for path, functions in core.items():
        if known.get(path) is not None:
            missing = functions.keys() - set(known[path]["digests"])
            if missing:
                result["foreign"][path] = sorted(functions[each] for each in missing)
    for path, name, line, digest in outside:
        held = known.get(path)
        if held is None:
            continue
        # The code of plugins is not compared as a whole: pytest rewrites their assertions.
        if [name, line] not in held["places"] or (path in core and digest not in held["digests"]):
            result["misplaced"].append([path, name, line])
    return result


def _named(loaded):
    core, origins, tests = {}, set(), set()
    for event in loaded:
        for path, functions in _items(event.get("code")):
            for digest, name in _items(functions):
                core.setdefault(path, {})[digest] = str(name)
        for finding in _list(event.get("findings")):
            for origin in _list(finding.get("origins") if isinstance(finding, dict) else None):
                origins.add(_origin(origin if isinstance(origin, dict) else {}))
        tests.update(path for path in _list(event.get("tests")) if isinstance(path, str))
    origins.discard(None)
    return core, origins, tests


def _origin(origin):
    path, line = origin.get("file"), origin.get("line")
    if isinstance(path, str) and os.path.isabs(path) and isinstance(line, int):
        return path, str(origin.get("name")), line, str(origin.get("digest"))
    return None


def _items(value):
    return value.items() if isinstance(value, dict) else ()


def _list(value):
    return value if isinstance(value, list) else []


def _written(path, since):
    """The inode of a file or of its directory entry was changed after `since`: ctime cannot be set back."""
    try:
        return os.stat(path).st_ctime > since or os.lstat(path).st_ctime > since
    except OSError:
        return True
    except ValueError:
        return False


def _within(path, tree):
    return os.path.realpath(path).startswith(os.path.realpath(tree).rstrip(os.sep) + os.sep)


def _inventories(first, paths, since, tree):
    if not paths:
        return {}
    optimize = first.get("optimize")
    optimize = optimize if isinstance(optimize, int) and 0 <= optimize <= 2 else 0
    if first.get("magic") == parsimony_code.MAGIC:
        found = {}
        for path in paths:
            try:
                found[path] = parsimony_code.inventory(path, optimize, since)
            except (OSError, SyntaxError, ValueError):
                found[path] = None
        return found
    return _ask(first.get("executable"), paths, optimize, since, tree)


def _ask(executable, paths, optimize, since, tree):
    """Another Python version ran the tests: that interpreter answers, when it is not the candidate's."""
    if not isinstance(executable, str) or not os.path.isabs(executable):
        return {}
    if _within(executable, tree) or _written(executable, since) or _written(parsimony_code.__file__, since):
        return {}
    import subprocess  # slow to load, and hardly ever needed

    command = [executable, "-I", "-S", "-B", parsimony_code.__file__, str(optimize), repr(since), *paths]
    try:
        answer = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=HELPER_SECONDS
        )
        found = json.loads(answer.stdout.decode("ascii"))
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    return found if isinstance(found, dict) else {}


def own_files_changed(since):
    """Our own files that were written to after `since`: the test command can reach them."""
    folder = os.path.dirname(os.path.abspath(parsimony_code.__file__))
    paths = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".py")]
    return [path for path in paths if _written(path, since)]


def watched(paths):
    """{path: digest or None} of files that must not change while the tests run."""
    return {path: _file_digest(path) for path in paths}


def _file_digest(path):
    try:
        with open(path, "rb") as file:
            return parsimony_code.sha256(file.read()).hexdigest()
    except OSError:
        return None


def python_version():
    """Of the witness, as text."""
    return "%d.%d.%d" % sys.version_info[:3]
