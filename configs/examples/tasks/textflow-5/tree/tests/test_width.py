import unittest

from textflow.width import width_of


class Width(unittest.TestCase):
    def test_latin(self):
        """Latin letters take one column each."""
        self.assertEqual(width_of("naïve"), 5)

    def test_wide(self):
        """East Asian wide characters take two."""
        self.assertEqual(width_of("日本"), 4)

    def test_combining(self):
        """A combining mark takes none."""
        self.assertEqual(width_of("e\u0301"), 1)


class Room(unittest.TestCase):
    def test_no_room(self):
        from textflow import wrap

        with self.assertRaises(ValueError):
            wrap("text", 2, rest="  ")
