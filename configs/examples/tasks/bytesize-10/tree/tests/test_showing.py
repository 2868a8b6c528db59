import unittest

from bytesize import show


class Binary(unittest.TestCase):
    def test_bytes_are_whole(self):
        """Below one KiB there is nothing after the point."""
        self.assertEqual(show(1023), "1023 B")

    def test_kibibytes(self):
        """1536 bytes are one and a half KiB."""
        self.assertEqual(show(1536), "1.5 KiB")

    def test_each_unit(self):
        """Every power of 1024 has its unit."""
        for power, unit in enumerate(("KiB", "MiB", "GiB", "TiB", "PiB"), start=1):
            with self.subTest(unit=unit):
                self.assertEqual(show(1024**power), f"1.0 {unit}")

    def test_beyond_the_last_unit(self):
        """The last unit takes what is left."""
        self.assertEqual(show(1024**6), "1024.0 PiB")

    def test_less_than_nothing(self):
        """A negative size keeps its sign."""
        self.assertEqual(show(-2048), "-2.0 KiB")


class Decimal(unittest.TestCase):
    def test_kilobytes(self):
        """1500 bytes are one and a half kB."""
        self.assertEqual(show(1500, decimal=True), "1.5 kB")

    def test_digits(self):
        """The caller says how many decimals."""
        self.assertEqual(show(1234, decimal=True, digits=3), "1.234 kB")
        self.assertEqual(show(1_900_000, decimal=True, digits=0), "2 MB")
