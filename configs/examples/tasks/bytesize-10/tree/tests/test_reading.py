import unittest

from bytesize import parse


class Sizes(unittest.TestCase):
    def test_units(self):
        """Binary and decimal units, in any case."""
        for text, count in {"7": 7, "1.5 KiB": 1536, "2kb": 2000, " 1 gib ": 1 << 30, "-1 MB": -1_000_000}.items():
            with self.subTest(text=text):
                self.assertEqual(parse(text), count)

    def test_what_is_no_size(self):
        """Anything else is refused."""
        for text in ("", "KiB", "1.5.2 KiB", "1 XB"):
            with self.subTest(text=text), self.assertRaises(ValueError):
                parse(text)
