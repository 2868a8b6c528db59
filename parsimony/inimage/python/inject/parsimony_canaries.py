"""The two canaries of a pytest run: real items that its real machinery runs last, one that must pass and one that must
fail. PYTEST_DONT_REWRITE

They are made after the last test and never stand among the session's items: no collection hook sees them, -k, -m and
--deselect do not reach them, -x does not stop before them. They are not logged: exit status, summary and report files
of the run are as without them.
"""

import ast
import os
import pathlib
import sys
import types

import pytest
from _pytest import fixtures, runner
from _pytest.assertion import rewrite
from _pytest.runner import runtestprotocol

# Each of these has to raise; the canary that must fail passes as soon as one does not.
MUST_RAISE = (
    "assert False",
    "assert not 1, 'message'",
    "assert 1 == 2",
    "assert 'a' in ['b']",
    "assert all(value < 2 for value in (1, 2, 3))",
    "assert is_zero(1)",
    "fail('canary')",
    "with raises(ValueError): pass",
    "case.fail()",
    "case.assertEqual(1, 2)",
    "case.assertTrue(False)",
    "case.assertFalse(True)",
    "case.assertIn(1, [2])",
    "case.assertIsNone(1)",
    "case.assertDictEqual({1: 1}, {1: 2})",
    "case.assertRaises(ValueError, int, '1')",
)
MUST_HOLD = (
    "assert True",
    "assert 1 == 1, 'message'",
    "assert 'a' in ['a']",
    "with raises(ValueError): int('x')",
    "case.assertEqual(1, 1)",
    "case.assertRaises(ValueError, int, 'x')",
)


class CanaryModule(pytest.Module):
    """A test module without the code of a file."""

    def _getobj(self):
        return types.ModuleType("parsimony_canaries")


class CanaryFunction(pytest.Function):
    """A test whose failure nobody reads: making it legible would take longer than both canaries."""

    def repr_failure(self, excinfo, style=None):
        """A word in place of the traceback."""
        return "canary"


def run(session, names, beside):
    """Run both canaries.

    Args:
        session: the pytest session.
        names: {"pass": name, "fail": name}.
        beside: path of a test file: the canaries stand in its place and see the same conftest files.

    Returns:
        [(id, [test reports])]: those of set-up, call and tear-down, as they were made.
    """
    kept = session._setupstate
    session._setupstate = type(kept)()  # a session that was stopped has the last test's fixtures still up
    try:
        results = []
        for kind in ("pass", "fail"):
            item = _item(session, beside or str(session.config.rootdir), names[kind], BODIES[kind])
            reports = runtestprotocol(item, log=False, nextitem=None)
            if not any(report.when == "call" for report in reports):
                # A hook of the project's has kept a test that it does not know from starting.
                reports = [_call_alone(item)]
            results.append((item.nodeid, reports))
        return results
    finally:
        session._setupstate = kept


def _call_alone(item):
    info = runner.CallInfo.from_call(item.runtest, "call")
    return item.ihook.pytest_runtest_makereport(item=item, call=info)


def _item(session, path, name, body):
    folder = os.path.dirname(os.path.relpath(path, str(session.config.rootdir))).replace(os.sep, "/")
    module = _module(session, path, "%s/test_%s.py" % (folder, name) if folder else "test_%s.py" % name)
    # No fixtures at all: an autouse fixture may want things that only the project's own tests have.
    try:
        info = fixtures.FuncFixtureInfo((), (), [], {})
    except TypeError:  # before pytest 4.2
        info = fixtures.FuncFixtureInfo((), [], {})
    options = {"name": "test_" + name, "callobj": body, "fixtureinfo": info}
    if hasattr(pytest.Function, "from_parent"):
        return CanaryFunction.from_parent(module, **options)
    return CanaryFunction(parent=module, **options)


def _module(session, path, nodeid):
    if not hasattr(CanaryModule, "from_parent"):
        return CanaryModule(_local(path), session, nodeid=nodeid)
    try:
        return CanaryModule.from_parent(session, path=pathlib.Path(path), nodeid=nodeid)
    except TypeError:  # before pytest 7
        return CanaryModule.from_parent(session, fspath=_local(path), nodeid=nodeid)


def _local(path):
    import py

    return py.path.local(path)


def _checks(statements):
    """A function for each statement, with its assertions as pytest rewrites them (plain where it cannot be asked)."""
    known = [each for each in statements if "case." not in each or "unittest" in sys.modules]
    source = "\n".join("def check_%d():\n    %s" % numbered for numbered in enumerate(known))
    tree = ast.parse(source)
    try:
        rewrite.rewrite_asserts(tree, source.encode("ascii"))
    except (TypeError, AttributeError):  # before pytest 5
        tree = ast.parse(source)
        rewrite.rewrite_asserts(tree)
    names = {"raises": pytest.raises, "fail": pytest.fail, "is_zero": lambda value: value == 0}
    if "unittest" in sys.modules:
        names["case"] = sys.modules["unittest"].FunctionTestCase(must_pass)
    exec(compile(tree, "<canary>", "exec", dont_inherit=True), names)
    return [names["check_%d" % number] for number in range(len(known))]


def must_fail():
    """Fails, unless an assertion lets through what is wrong."""
    for check in _checks(MUST_RAISE):
        try:
            check()
        except (AssertionError, pytest.fail.Exception):
            continue
        return
    raise AssertionError("this test has to fail")


def must_pass():
    """Passes, unless an assertion refuses what is right."""
    for check in _checks(MUST_HOLD):
        check()


BODIES = {"pass": must_pass, "fail": must_fail}
