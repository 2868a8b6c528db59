"""The two canaries of a pytest run: real items that its real machinery runs last, one that must pass and one that must
fail. PYTEST_DONT_REWRITE

They are made after the last test and never stand among the session's items: no collection hook sees them, -k, -m and
--deselect do not reach them, -x does not stop before them. They are not logged: exit status, summary and report files
of the run are as without them.
"""

import ast
import os
import sys
import types

import pytest
from _pytest import fixtures
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
    """A test module that is not on disk."""

    def _getobj(self):
        return types.ModuleType("parsimony_canaries")


def run(session, names, beside):
    """Run both canaries.

    Args:
        session: the pytest session.
        names: {"pass": name, "fail": name}.
        beside: path of a test file: the canaries stand in the same folder and see the same conftest files.

    Returns:
        [(id, [test reports])]: those of set-up, call and tear-down, as they were made.
    """
    folder = os.path.dirname(beside) if beside else str(session.config.rootdir)
    kept = session._setupstate
    session._setupstate = type(kept)()  # a session that was stopped has the last test's fixtures still up
    try:
        results = []
        for kind in ("pass", "fail"):
            item = _item(session, os.path.join(folder, "test_%s.py" % names[kind]), "test_" + names[kind], BODIES[kind])
            results.append((item.nodeid, runtestprotocol(item, log=False, nextitem=None)))
        return results
    finally:
        session._setupstate = kept


def _item(session, path, name, body):
    module = _make(CanaryModule, session, path)
    # No fixtures at all: an autouse fixture may want things that only the project's own tests have.
    try:
        info = fixtures.FuncFixtureInfo((), (), [], {})
    except TypeError:  # before pytest 4.2
        info = fixtures.FuncFixtureInfo((), [], {})
    options = {"name": name, "callobj": body, "fixtureinfo": info}
    if hasattr(pytest.Function, "from_parent"):
        return pytest.Function.from_parent(module, **options)
    return pytest.Function(parent=module, **options)


def _make(kind, session, path):
    if not hasattr(kind, "from_parent"):
        return kind(_local(path), session)
    try:
        from pathlib import Path

        return kind.from_parent(session, path=Path(path))
    except TypeError:  # before pytest 7
        return kind.from_parent(session, fspath=_local(path))


def _local(path):
    import py

    return py.path.local(path)


def _rewritten(source):
    """The code of `source` with assertions as pytest rewrites them, plain where this pytest cannot be asked."""
    tree = ast.parse(source)
    for arguments in ((source.encode("ascii"),), ()):
        try:
            rewrite.rewrite_asserts(tree, *arguments)
            return compile(tree, __file__, "exec", dont_inherit=True)
        except (TypeError, AttributeError):
            tree = ast.parse(source)
    return compile(tree, __file__, "exec", dont_inherit=True)


def _names():
    names = {"raises": pytest.raises, "fail": pytest.fail, "is_zero": lambda value: value == 0}
    if "unittest" in sys.modules:
        names["case"] = sys.modules["unittest"].FunctionTestCase(_nothing)
    return names


def _nothing():
    pass


def _statements(every):
    return [each for each in every if "case." not in each or "unittest" in sys.modules]


def must_fail():
    """Fails, unless an assertion lets through what is wrong."""
    for statement in _statements(MUST_RAISE):
        try:
            exec(_rewritten(statement), _names())
        except (AssertionError, pytest.fail.Exception):
            continue
        return
    raise AssertionError("this test has to fail")


def must_pass():
    """Passes, unless an assertion refuses what is right."""
    for statement in _statements(MUST_HOLD):
        exec(_rewritten(statement), _names())


BODIES = {"pass": must_pass, "fail": must_fail}
