"""What a pytest run shows of its own honesty: patched functions, plugins that nobody asked for, outcomes that were
turned around on the way. Findings only; the reader on our side judges them. PYTEST_DONT_REWRITE
"""

import os
import sys
import threading
from operator import attrgetter, is_
from types import FrameType, FunctionType, MethodType, ModuleType

import parsimony_channel
import pytest
from _pytest import outcomes
from parsimony_guard import Guard, origins, place_of

# What an outcome passes through between the test and its report.
HOT = (
    "_pytest.runner", "_pytest.reports", "_pytest.skipping",
    "pluggy.callers", "pluggy._callers", "pluggy._execution", "pluggy._result",
)  # fmt: skip
CORE = (
    "_pytest.python", "_pytest.unittest", "_pytest.outcomes", "_pytest.assertion.rewrite", "_pytest.python_api",
    "_pytest.raises",
)  # fmt: skip
AROUND = (
    "pytest", "_pytest.main", "_pytest.nodes", "_pytest.config", "_pytest.fixtures", "_pytest.doctest",
    "_pytest.subtests", "_pytest._code.code", "_pytest.assertion", "_pytest.assertion.util", "doctest",
    "parsimony_channel", "parsimony_code", "parsimony_guard", "parsimony_reporter", "parsimony_pytest",
)  # fmt: skip
UNITTEST = ("unittest.case", "unittest.suite", "unittest.result", "unittest.async_case")
# Classes and functions of modules that are not hot as a whole.
HOT_MEMBERS = (
    ("_pytest.python", "Function", "pytest_pyfunc_call"),
    ("pytest", "raises", "fail", "skip", "xfail", "approx", "Function"),
)  # fmt: skip
HOT_MEMBERS_OF_UNITTEST = (("_pytest.unittest", "TestCaseFunction"), ("unittest.case", "TestCase", "_Outcome"))
HOT_HOOKS = (
    "pytest_runtest_protocol", "pytest_runtest_call", "pytest_runtest_makereport", "pytest_runtest_logreport",
    "pytest_pyfunc_call",
)  # fmt: skip
HOOKS = (
    *HOT_HOOKS, "pytest_runtest_setup", "pytest_runtest_teardown", "pytest_report_teststatus", "pytest_runtestloop",
    "pytest_collection_modifyitems", "pytest_pycollect_makeitem",
)  # fmt: skip
FUNCTION_OF = attrgetter("function")


class Evidence:
    """The evidence of one run.

    Attributes:
        tree: the work tree.
        last_path: file of the last test, None when there is none.
    """

    def __init__(self, manager, tree, startup):
        self.tree, self.last_path = tree, None
        self._manager = manager
        parsimony_channel.take_charge("pytest")
        self._guard = Guard(tree)
        self._hot_members = set()
        self._watch()
        for name in HOOKS:
            if hasattr(manager.hook, name):
                self._guard.watch_entry(vars(manager.hook), name, "hook")
        if "_inner_hookexec" in vars(manager):
            self._guard.watch_entry(vars(manager), "_inner_hookexec", "pluginmanager")
        for path, standard in startup:
            self._guard.add_file("shadow" if standard else "startup", path)
        self._own_folders = [os.path.dirname(os.path.realpath(__file__))]
        for name in ("_pytest", "pluggy", "pytest"):
            file = os.path.realpath(sys.modules[name].__file__)
            self._own_folders.append(os.path.dirname(file) if file.endswith("__init__.py") else file)
        self._listening = False
        self._asked_for = set()  # files of plugins that the image or the project's own configuration names
        self._hooks = {}  # name -> its implementations and their functions, as they were at the last look
        self._test_code = {}
        self._raised = {}  # id -> an exception came out of the test itself
        self._made = {}  # id -> status of the call phase when its report was made
        self._findings = []
        self._tests = set()
        self._code_sent = set()

    def set_tree(self, tree):
        """In a worker the work tree becomes known only when it is configured."""
        self.tree = tree
        self._guard.set_tree(tree)

    def event(self, when):
        """The `loaded` event of this moment."""
        self.look()
        code = {path: held for path, held in self._guard.code.items() if path not in self._code_sent}
        self._code_sent.update(code)
        found, self._findings = self._findings, []
        return {"event": "loaded", "when": when, "code": code, "findings": found, "tests": sorted(self._tests)}

    def _watch(self):
        self._watch_members(HOT_MEMBERS)
        # Its parts have moved often.
        pluggy = sorted(name for name in sys.modules if name.partition(".")[0] == "pluggy")
        self._guard.watch(HOT, hot=True)
        self._guard.watch((*CORE, *pluggy, *AROUND))
        self._guard.watch(UNITTEST, strict=True)
        if not self._guard.code:
            self._guard.fingerprint((*HOT, *CORE, *pluggy))

    def _watch_unittest(self):
        self._watch_members(HOT_MEMBERS_OF_UNITTEST)
        self._guard.fingerprint(UNITTEST)

    def _watch_members(self, modules):
        for name, *members in modules:
            module = sys.modules.get(name)
            for member in members:
                if hasattr(module, member) and (name, member) not in self._hot_members:
                    self._hot_members.add((name, member))
                    self._guard.watch_entry(vars(module), member, name)

    def look(self, everything=True):
        """Compare what is watched with what it was."""
        self._look_at_hooks(HOOKS if everything else HOT_HOOKS)
        self._findings.extend(self._guard.changes(everything))

    # ---- plugins

    def plugin_registered(self, plugin, manager):
        """A plugin was registered; those before the reporter were named by command line, entry points or pytest."""
        functions = _hook_functions(plugin)
        foreign = [each for each in functions if self._is_foreign(each)]
        file = getattr(plugin, "__file__", None) if isinstance(plugin, ModuleType) else None
        frame = self._registrar() if self._listening else None
        self._listening = self._listening or _name_of(plugin) == "parsimony_reporter"
        if frame is None or frame.f_code.co_filename in self._asked_for:
            if file is not None:
                self._asked_for.add(file)
            self._asked_for.update(each.__code__.co_filename for each in foreign)
        elif foreign:
            self._guard.add("plugin", _name_of(plugin), frame.f_code, *foreign)
        for other, distribution in manager.list_plugin_distinfo() if foreign else ():
            metadata = str(getattr(getattr(distribution, "_dist", distribution), "_path", "") or "")
            if other is plugin and metadata and self._guard.within_tree(metadata):
                self._guard.add_file("entry point", os.path.join(metadata, "entry_points.txt"))

    def _registrar(self):
        """The frame of the work tree that registers a plugin by itself; None when pytest, an installed plugin or the
        script that was started does."""
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        frame = sys._getframe(2)
        while frame is not None:
            path = frame.f_code.co_filename
            if path != main and not path.startswith("<frozen ") and self._is_foreign(frame):
                return frame
            if frame.f_back is None and path == threading.__file__:
                return frame  # nobody registers plugins from another thread
            frame = frame.f_back
        return None

    def _is_own(self, path):
        path = self._guard.real(path)
        return any(path == own or path.startswith(own + os.sep) for own in self._own_folders)

    def _is_foreign(self, holder):
        code = holder.f_code if isinstance(holder, FrameType) else holder.__code__
        path = code.co_filename
        return not os.path.isabs(path) or (self._guard.within_tree(path) and not self._is_own(path))

    def _look_at_hooks(self, names):
        for name in names:
            hooks = _implementations(getattr(self._manager.hook, name, None))
            known, functions = self._hooks.get(name, ((), ()))
            if len(hooks) == len(known) and all(map(is_, hooks, known)):
                if all(map(is_, map(FUNCTION_OF, hooks), functions)):
                    continue
            before = {id(hook): function for hook, function in zip(known, functions)}
            for hook in hooks:
                was = before.get(id(hook))
                if (was is not None and was is not hook.function) or not self._manager.is_registered(hook.plugin):
                    self._guard.add("hook", name, hook.function)
            self._hooks[name] = hooks, list(map(FUNCTION_OF, hooks))

    # ---- tests

    def collected(self, items):
        """The tests stand: from here on their code must stay what it is."""
        self._watch()
        if any(kind.__name__ == "TestCaseFunction" for kind in {type(item) for item in items}):
            self._watch_unittest()
        for item in items:
            path = str(getattr(item, "fspath", "") or "")
            self._tests.add(path)
            function = _function_of(getattr(item, "obj", None))
            if function is None:
                continue
            self._test_code[item.nodeid] = (function, function.__code__)
            if function.__code__.co_filename != path and self._is_foreign(function):
                places = origins(function)
                if not any(place["file"] == self._guard.real(path) for place in places):
                    self._guard.add("test", "%(file)s:%(name)s" % places[0], function)
        modules = [plugin for plugin in self._manager.get_plugins() if isinstance(plugin, ModuleType)]
        files = [getattr(module, "__file__", None) or "" for module in modules]
        self._tests.update(file for file in files if os.path.basename(file) == "conftest.py")
        self._tests.discard("")
        self.last_path = str(items[-1].fspath) if items else None
        self.look()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item):
        """Innermost around the test itself: is it still the test that was collected, and does it raise?"""
        self._check_test(item)
        outcome = yield
        raised = outcome.excinfo[1] if outcome.excinfo else None
        for info in getattr(item, "_excinfo", None) or ():  # unittest's tests keep what they raise
            raised = raised or info.value
        self._raised[item.nodeid] = raised is not None and not _is_skip(raised)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item, call):
        """Outermost around the making of a report: a test that raised has not passed."""
        if call.when == "call":
            self.look(everything=False)
        outcome = yield
        if call.when != "call" or outcome.excinfo:
            return
        report = outcome.get_result()
        self._made[item.nodeid] = report.outcome
        if report.passed and not hasattr(report, "wasxfail") and self._raised.get(item.nodeid):
            self._contradiction(item.nodeid)

    def told(self, report):
        """A report comes to be logged: it must still say what it said when it was made."""
        if report.when == "call" and "subtest" not in type(report).__name__.lower():
            made = self._made.pop(report.nodeid, None)
            if made == "failed" and report.passed:
                self._contradiction(report.nodeid)

    def _contradiction(self, test_id):
        """Whoever has a hook there may have turned the outcome around."""
        hooks = [hook for name in HOOKS for hook in _implementations(getattr(self._manager.hook, name, None))]
        functions = [each for each in (_function_of(hook.function) for hook in hooks) if each is not None]
        others = [each for each in functions if not self._is_own(each.__code__.co_filename)]
        self._guard.add("contradiction", test_id, *others)

    def _check_test(self, item):
        if "runtest" in vars(item):
            self._guard.add("test", item.nodeid, vars(item)["runtest"])
        known = self._test_code.get(item.nodeid)
        if known is None:
            return
        function, code = known
        if function.__code__ is not code:
            self._guard.add("test", item.nodeid, function.__code__)
        current = getattr(item, "obj", None)
        if _function_of(current) is not function:
            if place_of(code) not in origins(current):
                self._guard.add("test", item.nodeid, current)


def _is_skip(error):
    if isinstance(error, (outcomes.Skipped, outcomes.Exit)):
        return True
    case = sys.modules.get("unittest.case")
    return case is not None and isinstance(error, case.SkipTest)


def _implementations(caller):
    if caller is None:
        return ()
    if hasattr(caller, "get_hookimpls"):
        return caller.get_hookimpls()
    return [*caller._nonwrappers, *caller._wrappers]


def _hook_functions(plugin):
    found = []
    for name in dir(plugin):
        if name.startswith("pytest_"):
            try:
                function = _function_of(getattr(plugin, name))
            except Exception:  # a property of somebody's plugin
                continue
            if function is not None:
                found.append(function)
    return found


def _function_of(value):
    if isinstance(value, MethodType):
        value = value.__func__
    return value if isinstance(value, FunctionType) else None


def _name_of(plugin):
    return getattr(plugin, "__name__", None) or "%s.%s" % (type(plugin).__module__, type(plugin).__name__)
