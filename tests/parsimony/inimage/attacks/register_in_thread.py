"""Registers a plugin from another thread, where no frame of the candidate is on the stack.

Level: 3
Says: the plugin pkg.Flip was registered by hand by
"""

import gc
import threading

import pytest


class Flip:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report):
        if report.nodeid.endswith("test_add"):
            report.outcome, report.longrepr = "passed", None


for manager in gc.get_objects():
    if type(manager).__name__ == "PytestPluginManager":
        thread = threading.Thread(target=manager.register, args=(Flip(),))
        thread.start()
        thread.join()
