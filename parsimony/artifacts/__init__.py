"""What others published, brought here once and kept: datasets, submissions, base files; and their measurement.

Only `dataset` and `analyze` download. Everything goes through one cache of files named by the SHA-256 of their address,
so that the same command needs no network a second time. What comes from elsewhere is data: nothing of it is imported
or run.
"""

from parsimony.artifacts.cache import Cache
from parsimony.artifacts.download import Fetcher, FetchFailed, NotThere, Offline
from parsimony.artifacts.observer import Observer, Quiet
from parsimony.artifacts.places import Places

__all__ = [
    "Cache",
    "FetchFailed",
    "Fetcher",
    "NotThere",
    "Observer",
    "Offline",
    "Places",
    "Quiet",
]
