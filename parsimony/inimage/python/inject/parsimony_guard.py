"""Watches the code of a test runner inside its own process: is it still what was loaded, and who changed it?

`Guard.watch` remembers every function of a module by identity. `Guard.changes` compares and gives each new difference
as a finding: what was replaced, and the origins of what stands there now. Findings are only reported here; whether an
origin is the candidate's code or the project's own tests is decided where the patch is known.

Runs on Python 3.6 and later with the standard library alone. PYTEST_DONT_REWRITE
"""

import builtins
import functools
import os
import sys
import time
from operator import attrgetter, is_, itemgetter
from types import CodeType, FunctionType, MethodType, ModuleType

from parsimony_code import MAGIC, digest

NAMES_IN_BUILTINS = (
    "AssertionError", "BaseException", "Exception", "compile", "exec", "getattr", "hasattr", "isinstance", "issubclass",
    "object", "property", "setattr", "super", "type",
)  # fmt: skip
PACKAGES = {}
CODE_OF = attrgetter("__code__")
MAX_ORIGINS = 12
MAX_FINDINGS = 2000
MAX_STEPS = 200
DESCRIPTORS = (FunctionType, staticmethod, classmethod, property)


class Watched:
    """Entries of mappings and code of functions, by identity. Comparing is a matter of a tenth of a millisecond."""

    def __init__(self):
        self._groups = []  # (getter of several keys, mapping, values that have to be there, keys, name)
        self._functions, self._codes, self._names = [], [], []  # side by side

    def hold(self, mapping, members, name):
        """Remember `members` of a mapping."""
        if members:
            # One key more, so that the getter gives a tuple for a single member as well.
            keys, values = (*members, next(iter(members))), (*members.values(), next(iter(members.values())))
            self._groups.append((itemgetter(*keys), mapping, values, keys, name))

    def hold_code(self, function, name):
        """Remember the code of a function."""
        self._functions.append(function)
        self._codes.append(function.__code__)
        self._names.append(name)

    def differences(self):
        """(name, what stands there now) of everything that is not what it was."""
        for getter, mapping, values, keys, name in self._groups:
            try:
                same = all(map(is_, getter(mapping), values))
            except KeyError:
                same = False
            if not same:
                for key, value in zip(keys, values):
                    now = mapping.get(key)
                    if now is not value and now is not None:
                        yield "%s.%s" % (name, key), now
        if not all(map(is_, map(CODE_OF, self._functions), self._codes)):
            for function, code, name in zip(self._functions, self._codes, self._names):
                if function.__code__ is not code:
                    yield name, function.__code__


class Guard:
    """The functions of a runner as they were when it was loaded.

    Attributes:
        code: {file: {digest of a code object: name}}, for a comparison with the disk.
    """

    def __init__(self, tree):
        self._real = {}
        self.set_tree(tree)
        self._hot, self._rest = Watched(), Watched()
        self._modules = set()
        self._seen = {}  # (name, id of what stands there) -> that object, kept so that no other gets its id
        self._told = set()  # (kind, name, files of the origins)
        self.code = {}
        self._pending = []
        self._clock = time.perf_counter
        self._next_full = 0.0
        self._hot.hold(vars(builtins), {name: getattr(builtins, name) for name in NAMES_IN_BUILTINS}, "builtins")

    def set_tree(self, tree):
        """The work tree, an absolute path or ""."""
        self._tree = os.path.join(os.path.realpath(tree), "") if tree else None

    def watch(self, names, hot=False, strict=False):
        """Remember modules that are loaded; a name that is not loaded is passed over. Modules are watched once.

        `hot`: it is compared at each look, however short the tests are. `strict`: code without a file, as generators
        of code make it, does not belong there.
        """
        watched = self._hot if hot else self._rest
        for name in names:
            if name not in self._modules and isinstance(sys.modules.get(name), ModuleType):
                self._modules.add(name)
                watched.hold(vars(sys.modules[name]), _members(sys.modules[name]), name)
                for place, value in _own_members(name):
                    self._watch_member(watched, value, place, _package_of(name), strict)

    def fingerprint(self, names):
        """Add digests of the functions of modules to `code`."""
        for name in names:
            for place, value in _own_members(name) if name in sys.modules else ():
                for part, function in _parts(value, place):
                    for each in _unwrapped(function):
                        if self._is_of(each.__code__.co_filename, _package_of(name)):
                            self.code.setdefault(each.__code__.co_filename, {})[digest(each.__code__)] = part

    def watch_entry(self, mapping, key, name):
        """Remember one entry of a mapping, and what it consists of when it is a class or a function; it is hot."""
        value, package = mapping[key], _package_of(name)
        self._hot.hold(mapping, {key: value}, name)
        if isinstance(value, (type, FunctionType)):
            self._watch_member(self._hot, value, "%s.%s" % (name, key), package, strict=False)

    def changes(self, everything=True):
        """Findings that are new since the last call.

        Without `everything` what is not hot is compared only as often as it takes a fortieth of the time.
        """
        begin = self._clock()
        full = everything or begin >= self._next_full
        for watched in (self._hot, self._rest) if full else (self._hot,):
            for name, now in watched.differences():
                self._changed(name, now)
        if full:
            end = self._clock()
            self._next_full = end + 40 * (end - begin)
        found, self._pending = self._pending, []
        return found

    def add(self, what, name, *objects):
        """A finding of another kind: `what` it is, its name, and the objects whose origins are to be told."""
        places = origins(*objects)
        key = (what, name, frozenset(str(place["file"]) for place in places))
        if key in self._told or len(self._told) > MAX_FINDINGS:
            return
        self._told.add(key)
        if len(self._told) > MAX_FINDINGS:
            what, name, places = "overflow", "more than %d findings" % MAX_FINDINGS, []
        self._pending.append({"what": what, "name": name, "origins": places})

    def add_file(self, what, path):
        """A finding about a whole file."""
        self.add(what, path, compile("", path, "exec"))

    def within_tree(self, path):
        """A file lies in the work tree."""
        return self._tree is not None and self.real(path).startswith(self._tree)

    def real(self, path):
        """The path without links; "" for what is no file, such as <string>."""
        known = self._real.get(path)
        if known is None:
            known = self._real[path] = os.path.realpath(path) if os.path.isabs(path) else ""
        return known

    def _is_of(self, path, package):
        return bool(package) and self.real(path).startswith(package)

    def _changed(self, name, now):
        if (name, id(now)) not in self._seen:
            self._seen[name, id(now)] = now
            self.add("replaced", name, now)

    def _watch_member(self, watched, value, name, package, strict):
        if isinstance(value, type):
            watched.hold(vars(value), _descriptors(value), name)
            strict = strict and not hasattr(value, "_fields")  # the methods of a named tuple have no file
        for part, function in _parts(value, name):
            chain = _unwrapped(function)
            for each in chain:
                watched.hold_code(each, part)
            path = function.__code__.co_filename
            if not any(self._is_of(each.__code__.co_filename, package) for each in chain):
                if self.within_tree(path) or (strict and not os.path.isabs(path)):
                    self._changed(part, function)  # somebody was here before us


def _members(module):
    return {key: value for key, value in vars(module).items() if isinstance(value, (type, FunctionType))}


def _own_members(name):
    """(name, class or function) of everything that a module defines itself."""
    for key, value in _members(sys.modules[name]).items():
        if getattr(value, "__module__", None) == name:
            yield "%s.%s" % (name, key), value


def _descriptors(value):
    return {key: each for key, each in vars(value).items() if isinstance(each, DESCRIPTORS)}


def _parts(value, name):
    """(name, function) of a function, or of all in a class."""
    if isinstance(value, FunctionType):
        yield name, value
    elif isinstance(value, type):
        for key, each in _descriptors(value).items():
            for function in _functions_of(each):
                yield "%s.%s" % (name, key), function


def _package_of(name):
    """What the paths of a runner's code begin with: the folder of its top-level package, or its only file."""
    top = name.partition(".")[0]
    return PACKAGES[top] if top in PACKAGES else PACKAGES.setdefault(top, _folders_of(top))


def _folders_of(top):
    found = []
    for each in ("pytest", "_pytest") if top in ("pytest", "_pytest") else (top,):
        file = os.path.realpath(getattr(sys.modules.get(each), "__file__", None) or "")
        found.append(os.path.join(os.path.dirname(file), "") if os.path.basename(file) == "__init__.py" else file)
    return tuple(found)


def _functions_of(value):
    if isinstance(value, FunctionType):
        return [value]
    if isinstance(value, (staticmethod, classmethod)):
        return [value.__func__] if isinstance(value.__func__, FunctionType) else []
    return [each for each in (value.fget, value.fset) if isinstance(each, FunctionType)]


def _unwrapped(function):
    chain = []
    while isinstance(function, FunctionType) and function not in chain:
        chain.append(function)
        function = getattr(function, "__wrapped__", None)
    return chain


def origins(*objects):
    """Where the code of callables comes from, as [{"file", "name", "line", "digest"}]: through wrappers, closures,
    partial functions, bound methods and doubles. Objects without Python code give {"file": None, "name": type}."""
    found, seen, queue = [], set(), list(objects)
    while queue and len(seen) < MAX_STEPS and len(found) < MAX_ORIGINS:
        value = queue.pop(0)
        if id(value) in seen:
            continue
        seen.add(id(value))
        code = value if isinstance(value, CodeType) else getattr(value, "__code__", None)
        if isinstance(code, CodeType):
            place = place_of(code)
            if place not in found:
                found.append(place)
        queue.extend(_inside(value))
    if not found:
        found.extend({"file": None, "name": type(value).__name__, "line": 0} for value in objects)
    return found


def place_of(code):
    """Where a code object says that it stands, and what it is."""
    file = code.co_filename
    file = os.path.realpath(file) if os.path.isabs(file) else file
    return {"file": file, "name": code.co_name, "line": code.co_firstlineno, "digest": digest(code)}


def _inside(value):
    """Callables that `value` may hand its calls on to."""
    if isinstance(value, FunctionType):
        cells = [_content(cell) for cell in value.__closure__ or ()]
        return [each for each in (*cells, *vars(value).values()) if _callable(each)]
    if isinstance(value, MethodType):
        return [value.__func__]
    if isinstance(value, (staticmethod, classmethod)):
        return [value.__func__]
    if isinstance(value, property):
        return [each for each in (value.fget, value.fset) if each is not None]
    if isinstance(value, functools.partial):
        return [value.func, *filter(_callable, value.args), *filter(_callable, value.keywords.values())]
    if isinstance(value, type):
        return [each for each in vars(value).values() if isinstance(each, DESCRIPTORS)]
    if value is None or isinstance(value, (str, bytes, int, float, ModuleType, CodeType)):
        return []
    held = [each for each in getattr(value, "__dict__", {}).values() if isinstance(each, (FunctionType, MethodType))]
    called = getattr(type(value), "__call__", None)  # noqa: B004
    return [*held, called] if isinstance(called, FunctionType) else held


def _callable(value):
    return callable(value) and not isinstance(value, type)


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:
        return None


def session_event(framework, version):
    """The first event of a run."""
    return {
        "event": "session",
        "framework": framework,
        "version": version,
        "runtime": "%s %d.%d.%d" % ((sys.implementation.name,) + sys.version_info[:3]),
        "executable": sys.executable,
        "pid": os.getpid(),
        "magic": MAGIC,
        "optimize": sys.flags.optimize,
    }
