"""A cache with a size and an age limit."""

from ttlcache.cache import TTLCache
from ttlcache.memoize import memoize

__all__ = ["TTLCache", "memoize"]
