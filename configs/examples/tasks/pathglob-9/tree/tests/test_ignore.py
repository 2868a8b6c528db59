from pathglob import Ignore


def test_the_last_that_fits_decides():
    ignored = Ignore(["*.log", "!keep.log", ""])
    assert [ignored(path) for path in ("a.log", "keep.log", "a.txt")] == [True, False, False]
