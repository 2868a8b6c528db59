"""Limits on how often something may happen."""

from ratelimit.bucket import TokenBucket
from ratelimit.keeper import Keeper

__all__ = ["Keeper", "TokenBucket"]
