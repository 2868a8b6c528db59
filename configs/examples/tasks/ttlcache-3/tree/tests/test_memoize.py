from ttlcache import TTLCache, memoize


def test_calls_once():
    calls = []

    @memoize(TTLCache(4, 60))
    def double(number):
        calls.append(number)
        return 2 * number

    assert [double(2), double(2), double(3)] == [4, 4, 6]
    assert calls == [2, 3]


def test_none_is_a_result():
    calls = []

    @memoize(TTLCache(4, 60))
    def nothing():
        calls.append(1)

    nothing(), nothing()
    assert len(calls) == 1
