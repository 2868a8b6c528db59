

def _canary():
    import sys
    import unittest

    if "pytest" in sys.modules:
        sys.modules["pytest"].skip("canary", allow_module_level=True)
    raise unittest.SkipTest("canary")


_canary()
