"""Only counts per seed: the cases of the build spec, section 5.4, and known values."""

from __future__ import annotations

import pytest

from parsimony import ab
from parsimony.errors import InputError
from parsimony.records import Significance

A, B = (33, 36, 35, 34, 37), (36, 39, 38, 40, 37)


def test_three_points_of_a_hundred_on_one_seed_are_noise() -> None:
    verdict, test = ab.significance_of_counts((35,), (38,), 100)
    assert verdict is Significance.NO
    assert test.delta == pytest.approx(0.03)
    assert test.p_value is None


def test_the_same_arms_over_five_seeds_have_a_verdict_from_their_variance() -> None:
    """By hand: means 35 and 38, variances 2.5, t = 3 with 8 degrees of freedom."""
    verdict, test = ab.significance_of_counts(A, B, 100)
    assert verdict is Significance.YES
    assert test.standard_error == pytest.approx(0.01)
    assert test.df == pytest.approx(8)
    assert test.p_value == pytest.approx(0.0170717, abs=1e-7)  # 2 (1 - F(3)), Student's t with 8
    assert test.interval == pytest.approx((0.00694, 0.05306), abs=1e-5)


def test_paired_by_seed() -> None:
    """Differences 3, 3, 3, 6, 0: t = 3 / sqrt(4.5 / 5) with 4 degrees of freedom."""
    verdict, test = ab.significance_of_counts(A, B, 100, paired=True)
    assert verdict is Significance.YES
    assert test.standard_error == pytest.approx(0.0094868, abs=1e-7)
    assert test.df == 4
    assert test.p_value == pytest.approx(0.0341, abs=1e-4)


def test_welch_with_unequal_variances() -> None:
    """By hand: variances 1 and 25 of 3 and 3 seeds; df = (26/3)² / ((1/9 + 625/9) / 2)."""
    test = ab.welch((9, 10, 11), (15, 20, 25), 100)
    assert test.df == pytest.approx((26 / 3) ** 2 / ((1 / 9 + 625 / 9) / 2))
    assert test.standard_error == pytest.approx((26 / 3) ** 0.5 / 100)


def test_equal_seeds_leave_no_doubt() -> None:
    assert ab.welch((5, 5), (5, 5), 10).p_value == 1
    assert ab.welch((5, 5), (6, 6), 10).p_value == 0
    assert ab.paired_by_seed((5, 6), (6, 7), 10).p_value == 0


@pytest.mark.parametrize(
    ("p_value", "interval", "seeds", "expected"),
    [
        (0.001, (0.1, 0.2), 1, Significance.NO),
        (0.049, (0.001, 0.2), 2, Significance.YES),
        (0.05, (0.0, 0.2), 2, Significance.UNDETERMINED),
        (0.2, (-0.019, 0.019), 2, Significance.NO),
        (0.2, (-0.02, 0.019), 2, Significance.UNDETERMINED),
        (0.2, (-0.05, 0.01), 2, Significance.UNDETERMINED),
        (0.001, (0.001, 0.015), 2, Significance.YES),
        (None, None, 2, Significance.UNDETERMINED),
    ],
)
def test_the_rule(
    p_value: float | None, interval: tuple[float, float] | None, seeds: int, expected: Significance
) -> None:
    assert ab.decide(p_value, interval, seeds, alpha=0.05, smallest_effect=0.02) is expected


@pytest.mark.parametrize(("a", "b"), [((), (1,)), ((11,), (1,)), ((-1,), (1,)), ((1,), (11,))])
def test_counts_that_cannot_be(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    with pytest.raises(InputError):
        ab.welch(a, b, 10)


def test_pairs_need_the_same_seeds() -> None:
    with pytest.raises(InputError, match="other seeds"):
        ab.paired_by_seed((1, 2), (1, 2, 3), 10)
