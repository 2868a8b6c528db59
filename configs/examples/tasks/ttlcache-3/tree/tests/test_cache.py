import pytest

from ttlcache import TTLCache


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_keeps_what_it_was_given(clock):
    cache = TTLCache(2, 10, clock)
    cache["a"] = 1
    assert cache["a"] == 1


def test_oldest_use_goes_first(clock):
    cache = TTLCache(2, 10, clock)
    cache["a"], cache["b"] = 1, 2
    cache["a"]
    cache["c"] = 3
    assert set(cache) == {"a", "c"}
    assert cache.evicted == 1


def test_too_old_is_gone(clock):
    cache = TTLCache(2, 10, clock)
    cache["a"] = 1
    clock.now = 10
    assert "a" not in cache
    assert len(cache) == 0


def test_reading_does_not_make_younger(clock):
    cache = TTLCache(2, 10, clock)
    cache["a"] = 1
    clock.now = 9
    cache["a"]
    clock.now = 11
    assert "a" not in cache


def test_writing_again_makes_younger(clock):
    cache = TTLCache(2, 10, clock)
    cache["a"] = 1
    clock.now = 9
    cache["a"] = 2
    clock.now = 11
    assert cache["a"] == 2
    assert cache.evicted == 0


@pytest.mark.parametrize(("size", "ttl"), [(0, 1), (1, 0)])
def test_limits_must_be_positive(size, ttl):
    with pytest.raises(ValueError, match="positive"):
        TTLCache(size, ttl)
