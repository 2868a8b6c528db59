"""Golden values: the Wilson interval of R's `binom.confint`, also quoted in the literature."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.statistics import clopper_pearson, quantile, wilson


@pytest.mark.parametrize(
    ("successes", "trials", "lower", "upper"),
    [(13, 27, 0.307432, 0.660144), (0, 30, 0.0, 0.113513), (487, 500, 0.956029, 0.984744), (30, 30, 1 - 0.113513, 1.0)],
)
def test_wilson_gives_the_published_values(successes: int, trials: int, lower: float, upper: float) -> None:
    """Six decimals of published intervals."""
    assert wilson(successes, trials) == pytest.approx((lower, upper), abs=1e-6)


def test_wilson_of_nothing_is_unknown() -> None:
    """No trials, no interval: not 0, not 1."""
    assert wilson(0, 0) is None


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3)])
def test_wilson_refuses_impossible_counts(successes: int, trials: int) -> None:
    """More successes than trials is a fault of the caller."""
    with pytest.raises(ValueError, match="successes of"):
        wilson(successes, trials)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_rate_and_stays_in_range(counts: tuple[int, int]) -> None:
    """The point estimate lies inside; mirrored counts give the mirrored interval."""
    successes, trials = counts
    interval = wilson(successes, trials)
    assert interval is not None
    lower, upper = interval
    assert 0 <= lower <= successes / trials <= upper <= 1
    assert wilson(trials - successes, trials) == pytest.approx((1 - upper, 1 - lower))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0, 1))
def test_quantile_lies_between_the_extremes(values: list[float], q: float) -> None:
    """And its ends are the extremes themselves."""
    found = quantile(values, q)
    assert found is not None
    assert min(values) <= found <= max(values)
    assert (quantile(values, 0), quantile(values, 1)) == (min(values), max(values))


@pytest.mark.parametrize(
    ("successes", "trials", "lower", "upper"),
    [(13, 27, 0.286673, 0.680503), (0, 30, 0.0, 0.115703), (487, 500, 0.955950, 0.986085), (30, 30, 0.884297, 1.0)],
)
def test_clopper_pearson_gives_the_published_values(successes: int, trials: int, lower: float, upper: float) -> None:
    assert clopper_pearson(successes, trials) == pytest.approx((lower, upper), abs=1e-6)


@given(
    st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.5, 0.9, 0.99])
)
def test_the_exact_interval_holds_the_rate(counts: tuple[int, int], level: float) -> None:
    successes, trials = counts
    interval = clopper_pearson(successes, trials, level)
    assert interval is not None
    assert 0 <= interval[0] <= successes / trials <= interval[1] <= 1


@pytest.mark.parametrize("of", [wilson, clopper_pearson])
def test_nothing_is_no_interval_and_nonsense_is_refused(of: object) -> None:
    assert callable(of)
    assert of(0, 0) is None
    with pytest.raises(ValueError, match="level"):
        of(1, 2, 1.0)
