"""Runs tests of its own under the ids of the real ones while these are loaded, and leaves.

Level: 3
Runner: unittest
Says: ended without a word.*ended with 0
"""

import io
import os
import unittest


class Forged(unittest.TestCase):
    def test_add(self):
        pass

    def id(self):
        return "tests.test_unit.T.test_add"


unittest.TextTestRunner(stream=io.StringIO()).run(Forged("test_add"))
os._exit(0)
