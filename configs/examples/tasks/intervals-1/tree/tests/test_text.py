import pytest

from intervals import IntervalSet, parse


@pytest.mark.parametrize(
    ("text", "runs"),
    [("7", [(7, 8)]), ("1-3, 8", [(1, 4), (8, 9)]), (" -4 - -2 ", [(-4, -1)]), ("", [])],
)
def test_parse(text, runs):
    assert list(parse(text)) == runs


@pytest.mark.parametrize("text", ["1-3-5", "one", "1,,x"])
def test_parse_quotes_what_it_cannot_read(text):
    with pytest.raises(ValueError, match="not a number"):
        parse(text)


def test_text_round_trip():
    assert str(parse("1-3, 8")) == "1-3, 8"
    assert parse(str(IntervalSet([(0, 2), (5, 6)]))) == IntervalSet([(0, 2), (5, 6)])
