import unittest

from ratelimit import TokenBucket
from tests.clock import Clock


class Taking(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        self.bucket = TokenBucket(rate=2, burst=4, clock=self.clock)

    def test_a_full_bucket_gives_its_burst(self):
        self.assertEqual([self.bucket.take() for _ in range(5)], [True] * 4 + [False])

    def test_whole_tokens_come_back(self):
        self.bucket.take(4)
        self.clock.now += 1
        self.assertEqual([self.bucket.take() for _ in range(3)], [True, True, False])

    def test_never_more_than_the_burst(self):
        self.clock.now += 1000
        self.assertFalse(self.bucket.take(5))
        self.assertTrue(self.bucket.take(4))

    def test_several_at_once_or_none(self):
        self.bucket.take(3)
        self.assertFalse(self.bucket.take(2))
        self.assertTrue(self.bucket.take(1))


class Waiting(unittest.TestCase):
    def setUp(self):
        self.clock = Clock()
        self.bucket = TokenBucket(rate=2, burst=4, clock=self.clock)

    def test_nothing_to_wait_for(self):
        self.assertEqual(self.bucket.wait_for(4), 0)

    def test_wait(self):
        self.bucket.take(4)
        self.assertEqual(self.bucket.wait_for(3), 1.5)

    def test_never(self):
        with self.assertRaises(ValueError):
            self.bucket.wait_for(5)


class Limits(unittest.TestCase):
    def test_must_be_positive(self):
        for rate, burst in ((0, 1), (1, 0)):
            with self.subTest(rate=rate, burst=burst), self.assertRaises(ValueError):
                TokenBucket(rate, burst)
