import pytest

from semver import satisfies


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("1.5.0", ">=1.2.0 <2.0.0", True),
        ("2.0.0", ">=1.2.0 <2.0.0", False),
        ("1.2.3", "1.2.3", True),
        ("1.2.3", "= 1.2.4", False),
        ("2.0.0-rc.1", "<2.0.0", True),
    ],
    ids=["inside [1.2.0, 2.0.0)", "at its open end", "the same", "another", "a pre-release comes before"],
)
def test_satisfies(version, wanted, fits):
    assert satisfies(version, wanted) is fits
