

import pytest as _canary_pytest


def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(_canary_pytest.mark.skip(reason="canary"))
