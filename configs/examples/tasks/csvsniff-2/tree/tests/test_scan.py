import unittest

from csvsniff.scan import split_lines, walk


class Lines(unittest.TestCase):
    def test_break_between_quotes(self):
        self.assertEqual(split_lines('a,"b\nc"\nd,e', '"'), ['a,"b\nc"', "d,e"])

    def test_windows_breaks(self):
        self.assertEqual(split_lines("a\r\nb", '"'), ["a", "b"])


class Walk(unittest.TestCase):
    def test_doubled_quote_stays_inside(self):
        inside = [character for character, quoted in walk('"a""b",c', '"') if quoted and character != '"']
        self.assertEqual(inside, ["a", "b"])
