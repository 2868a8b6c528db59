import unittest

from ratelimit import Keeper
from tests.clock import Clock


class Callers(unittest.TestCase):
    def test_one_caller_does_not_use_up_another(self):
        keeper = Keeper(rate=1, burst=1, clock=Clock())
        self.assertEqual([keeper.allow("a"), keeper.allow("a"), keeper.allow("b")], [True, False, True])
