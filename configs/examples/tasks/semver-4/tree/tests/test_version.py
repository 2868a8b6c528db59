import pytest

from semver import Version


@pytest.mark.parametrize("text", ["0.0.0", "1.2.3", "1.0.0-alpha.1", "1.0.0-x-y.7+build.5", "1.0.0+20130313"])
def test_text_round_trip(text):
    assert str(Version.parse(text)) == text


@pytest.mark.parametrize("text", ["1", "1.2", "01.2.3", "1.2.3-", "1.2.3+", "a.b.c", ""])
def test_what_is_no_version(text):
    with pytest.raises(ValueError, match="not a semantic version"):
        Version.parse(text)


@pytest.mark.parametrize(
    ("lower", "higher"),
    [
        ("1.0.0", "2.0.0"),
        ("2.0.0", "2.1.0"),
        ("2.1.0", "2.1.1"),
        ("2.9.0", "2.10.0"),
        ("1.0.0-alpha", "1.0.0"),
        ("1.0.0-alpha", "1.0.0-alpha.1"),
        ("1.0.0-alpha.beta", "1.0.0-beta"),
    ],
)
def test_order(lower, higher):
    assert Version.parse(lower) < Version.parse(higher)


def test_build_has_no_say():
    one, other = Version.parse("1.0.0+a"), Version.parse("1.0.0+b")
    assert one == other
    assert hash(one) == hash(other)
