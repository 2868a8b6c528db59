import unittest

from csvsniff import Dialect


class Rows(unittest.TestCase):
    def test_rows(self):
        self.assertEqual(Dialect(";", "'").rows(["a;'b;c'", "d; e"]), [["a", "b;c"], ["d", "e"]])
