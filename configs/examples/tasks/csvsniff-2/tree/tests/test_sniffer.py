import unittest

from csvsniff import sniff


class Delimiters(unittest.TestCase):
    def test_plain_tables(self):
        for delimiter in (",", ";", "\t", "|"):
            with self.subTest(delimiter=delimiter):
                text = f"name{delimiter}age\nAda{delimiter}36\nAlan{delimiter}41\n"
                self.assertEqual(sniff(text).delimiter, delimiter)

    def test_one_column_gets_the_default(self):
        self.assertEqual(sniff("name\nAda\n").delimiter, ",")
        self.assertEqual(sniff("name\nAda\n", default=";").delimiter, ";")

    def test_empty_text(self):
        self.assertEqual(sniff("").delimiter, ",")

    def test_most_lines_win(self):
        self.assertEqual(sniff("a;b\nc;d\ne;f,g\n").delimiter, ";")


class Quotes(unittest.TestCase):
    def test_double(self):
        self.assertEqual(sniff('"a",b\n"c",d\n').quote, '"')

    def test_single(self):
        self.assertEqual(sniff("'a';b\n'c';d\n").quote, "'")


if __name__ == "__main__":
    unittest.main()
