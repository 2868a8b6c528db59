"""Wraps the function through which every hook is called.

Level: 3
Says: pluginmanager._inner_hookexec of the test runner was replaced by pkg/__init__.py
"""

import gc

from pluggy import PluginManager

for manager in gc.get_objects():
    if type(manager).__name__ == "PytestPluginManager" and isinstance(manager, PluginManager):
        original = manager._inner_hookexec

        def execute(name, methods, kwargs, firstresult, original=original):
            result = original(name, methods, kwargs, firstresult)
            if name == "pytest_runtest_makereport" and kwargs["item"].name == "test_add":
                result.outcome, result.longrepr = "passed", None
            return result

        manager._inner_hookexec = execute
