import doctest

from tests import examples


def load_tests(loader, tests, pattern):
    tests.addTests(doctest.DocTestSuite(examples))
    return tests
