"""Reports runs of unittest over the channel: `python -m unittest`, `unittest.main()`, any runner that runs suites or
tests against a result, Django's among them. PYTEST_DONT_REWRITE

Where a run enters (the outermost call of a suite or test with a result), the methods of that one result object are
wrapped: what a test did is recorded before any class of the project or of the candidate hears of it. Tests that run
tests of their own are not reported. Two canaries run through `TestCase.run` at the end of each outermost run.
"""

import functools
import os
import sys
import time
import unittest
from types import FunctionType, MethodType

import parsimony_channel
from parsimony_guard import Guard, origins, session_event

__unittest = True  # unittest leaves frames of such modules out of tracebacks

CORE = ("unittest.case", "unittest.result", "unittest.suite", "unittest.runner", "unittest.async_case")
AROUND = (
    "unittest", "unittest.loader", "unittest.main", "unittest.util", "doctest", "parsimony_channel", "parsimony_code",
    "parsimony_guard", "parsimony_unittest",
)  # fmt: skip
RANKS = {"passed": 0, "xfail": 1, "skipped": 2, "failed": 3, "error": 4}
LOADERS = tuple(
    os.path.join(*parts)
    for parts in (("unittest", "loader.py"), ("unittest", "main.py"), ("django", "test", "runner.py"))
)
LOADING = ("loadTestsFromModule", "loadTestsFromName", "loadTestsFromNames", "discover", "createTests", "build_suite")


class Session:
    """The session of this process; it is opened when a run begins and lasts until the process ends."""

    def __init__(self, client):
        self.client, self.send = client, client.send
        self.guard = Guard(client.tree)
        self.started = self.finished = 0
        self.failures = 0
        self.tests = set()
        self._clock = time.perf_counter
        self._code_sent = set()
        self._running = {}  # id of the test object -> [id, worst status or None, time of its start]
        parsimony_channel.take_charge("unittest")
        framework, version = framework_of_run()
        self.send(session_event(framework, version))
        for path, standard in client.startup:
            self.guard.add_file("shadow" if standard else "startup", path)
        self._loaded("start")

    # ---- tests

    def start(self, test):
        """A test begins."""
        test_id = id_of(test)
        self.started += 1
        self._running[id(test)] = [test_id, None, self._clock()]
        event = {"event": "start", "id": test_id}
        label = label_of(test)
        if label is not None and label != test_id:
            event["label"] = label
        self.send(event)
        self._check_origin(test)

    def status(self, test, status):
        """Something was said of a test."""
        state = self._running.get(id(test))
        if state is None:  # a class or module that could not be set up or torn down is no test that was started
            self.started += 1
            self.send({"event": "start", "id": id_of(test)})
            self._result(id_of(test), status, 0.0)
        elif state[1] is None or RANKS[status] > RANKS[state[1]]:
            state[1] = status

    def stop(self, test):
        """A test has ended; one that said nothing was broken off."""
        state = self._running.pop(id(test), None)
        if state is not None:
            self._result(state[0], state[1] or "error", self._clock() - state[2])
            self._look(everything=False)

    def _result(self, test_id, status, seconds):
        self.finished += 1
        self.failures += status in ("failed", "error")
        event = {"event": "result", "id": test_id, "status": status, "seconds": round(max(seconds, 0.0), 6)}
        self.send(event, wait=True)

    # ---- the end of a run

    def end(self, result, failures):
        """An outermost run has come to its end: canaries, evidence, the word that it is finished.

        Args:
            result: the result object of the run.
            failures: how many failures this run had.
        """
        self._canaries()
        said = getattr(result, "wasSuccessful", None)
        if failures and said is not None and said():
            judges = [_function(getattr(result, name, None)) for name in JUDGES]
            self.guard.add("contradiction", "the result of the run", *filter(None, judges))
        self._loaded("finish")
        self.send(
            {
                "event": "finish",
                "exit_status": 1 if self.failures else 0,
                "started": self.started,
                "finished": self.finished,
            }
        )

    def _canaries(self):
        result = Recorded(self, unittest.TestResult()).result
        failures = self.failures
        for kind in ("pass", "fail"):
            canary_of(self.client.canaries[kind], kind).run(result)
        self.failures = failures

    # ---- evidence

    def _loaded(self, when):
        self.guard.watch(CORE, hot=True, strict=True)
        self.guard.watch(AROUND)
        if not self._code_sent:
            self.guard.fingerprint(CORE)
        code = {path: held for path, held in self.guard.code.items() if path not in self._code_sent}
        self._code_sent.update(code)
        found = self.guard.changes()
        self.send({"event": "loaded", "when": when, "code": code, "findings": found, "tests": sorted(self.tests)})

    def _look(self, everything):
        found = self.guard.changes(everything)
        if found:
            self.send({"event": "loaded", "when": "test", "code": {}, "findings": found, "tests": []})

    def _check_origin(self, test):
        """The method of a test has to stand in the file of the class that defines it."""
        name = getattr(test, "_testMethodName", None)
        owner = next((each for each in type(test).__mro__ if name in vars(each)), None)
        module = sys.modules.get(getattr(owner, "__module__", None))
        file = getattr(module, "__file__", None)
        if owner is None or file is None or owner.__module__.startswith("unittest"):
            return
        if self.guard.within_tree(file):
            self.tests.add(os.path.abspath(file))
        method = vars(owner)[name]
        code = getattr(method, "__code__", None)
        if code is not None and code.co_filename == file and name not in vars(test):
            return
        standing = (method, vars(test)[name]) if name in vars(test) else (method,)
        places = origins(*standing)
        if name in vars(test) or not any(place["file"] == self.guard.real(file) for place in places):
            self.guard.add("test", "%s.%s" % (owner.__qualname__, name), *standing)


JUDGES = ("wasSuccessful", "addFailure", "addError", "addUnexpectedSuccess", "addSubTest")


class Recorded:
    """A result object whose methods tell a session first.

    Attributes:
        result: the object itself.
    """

    def __init__(self, session, result):
        self.session, self.result = session, result
        self._wrap("startTest", lambda test: session.start(test))
        self._wrap("stopTest", lambda test: session.stop(test), after=True)
        self._wrap("addSuccess", lambda test: session.status(test, "passed"))
        self._wrap("addFailure", lambda test, error=None, *more: session.status(test, "failed"))
        self._wrap("addError", lambda test, error=None, *more: session.status(test, "error"))
        self._wrap("addSkip", lambda test, reason=None: session.status(getattr(test, "test_case", test), "skipped"))
        self._wrap("addExpectedFailure", lambda test, error=None: session.status(test, "xfail"))
        self._wrap("addUnexpectedSuccess", lambda test, *more: session.status(test, "failed"))  # as unittest itself
        self._wrap("addSubTest", self._subtest)

    def _wrap(self, name, tell, after=False):
        original = getattr(self.result, name, None)
        if original is None:
            return

        @functools.wraps(original)
        def method(*arguments, **options):
            if not after:
                _safely(tell, arguments, options)
            try:
                return original(*arguments, **options)
            finally:
                if after:
                    _safely(tell, arguments, options)

        try:
            setattr(self.result, name, method)
        except AttributeError:  # a result with slots
            pass

    def _subtest(self, test, subtest, error):
        if error is not None:
            failed = isinstance(error[0], type) and issubclass(error[0], test.failureException)
            self.session.status(test, "failed" if failed else "error")


def _safely(tell, arguments, options):
    try:
        tell(*arguments, **options)
    except Exception as error:
        if RUN["session"] is not None:
            RUN["session"].send({"event": "trouble", "message": repr(error)[:500]})


def _function(value):
    value = value.__func__ if isinstance(value, MethodType) else getattr(value, "__wrapped__", value)
    value = value.__func__ if isinstance(value, MethodType) else value
    return value if isinstance(value, FunctionType) else None


def id_of(test):
    """`test.id()`; what a test calls itself when that fails."""
    try:
        return str(test.id())
    except Exception:
        return str(test)


def label_of(test):
    """What `unittest -v` prints before the dots: the first line of the docstring, else `method (class)`."""
    try:
        return test.shortDescription() or str(test)
    except Exception:
        return None


def framework_of_run():
    """("django" or "unittest", its version)."""
    django = sys.modules.get("django")
    if django is not None and "django.test.runner" in sys.modules:
        return "django", str(django.get_version())
    return "unittest", "%d.%d.%d" % sys.version_info[:3]


def canary_of(name, kind):
    """A test of the random `name` that must pass or must fail."""

    def body(self):
        if kind == "pass":
            self.assertEqual(1, 1)
            self.assertRaises(ValueError, int, "x")
            return
        for check in (
            lambda: self.assertEqual(1, 2),
            lambda: self.assertTrue(False),
            lambda: self.assertFalse(True),
            lambda: self.assertIn(1, [2]),
            lambda: self.assertIsNone(1),
            lambda: self.assertDictEqual({1: 1}, {1: 2}),
            lambda: self.assertRaises(ValueError, int, "1"),
            self.fail,
        ):
            try:
                check()
            except self.failureException:
                continue
            return
        self.fail("this test has to fail")

    method = "test_" + name
    return type("Canary", (unittest.TestCase,), {method: body, "__module__": "parsimony_canaries"})(method)


# ---- where runs begin

RUN = {"session": None, "depth": 0, "pid": None, "original": []}


def _enter(result):
    """A suite or test is called with a result: the record of it when this is an outermost run, else None."""
    if RUN["depth"] or not hasattr(result, "startTest") or _loading():
        return None
    session = open_session()
    if session is None:
        return None
    recorded = RUN.get("recorded")
    if recorded is None or recorded.result is not result:
        recorded = RUN["recorded"] = Recorded(session, result)
    return recorded


def _loading():
    """Tests are being loaded: whatever runs now was started by a module that is imported, and is not the run."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name in LOADING and frame.f_code.co_filename.endswith(LOADERS):
            return True
        frame = frame.f_back
    return False


def open_session():
    """The session of this process, opened when there is none; None where nobody listens."""
    if RUN["pid"] != os.getpid():
        if RUN["pid"] is not None:
            return None  # a fork of a process that reports
        RUN["pid"] = os.getpid()
        client = parsimony_channel.session()
        if client is not None:
            parsimony_channel.leave_environment()
            RUN["session"] = Session(client)
    return RUN["session"]


def _around(original):
    @functools.wraps(original)
    def entry(self, *arguments, **options):
        recorded = _enter(arguments[0]) if arguments else None
        if recorded is None:
            return original(self, *arguments, **options)
        before = recorded.session.failures
        RUN["depth"] += 1
        try:
            value = original(self, *arguments, **options)
            recorded.session.end(recorded.result, recorded.session.failures - before)
        finally:
            RUN["depth"] -= 1
        return value

    return entry


def _opening(original):
    @functools.wraps(original)
    def entry(self, *arguments, **options):
        if not RUN["depth"]:
            open_session()  # a process that dies while it loads tests leaves a session without an end
        return original(self, *arguments, **options)

    return entry


def install():
    """Put the entries in place, unless pytest runs tests in this process."""
    if parsimony_channel.in_charge() == "pytest":
        return
    for owner, name, wrap in (
        (unittest.TestSuite, "run", _around),
        (unittest.BaseTestSuite, "__call__", _around),
        (unittest.TestCase, "run", _around),
        (unittest.TestProgram, "__init__", _opening),
    ):
        original = vars(owner)[name]
        RUN["original"].append((owner, name, original))
        setattr(owner, name, wrap(original))


def uninstall():
    """Take the entries away: pytest is in charge of this process."""
    while RUN["original"]:
        owner, name, original = RUN["original"].pop()
        setattr(owner, name, original)
