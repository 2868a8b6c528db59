"""Where published things are: the addresses of datasets, submissions and files of repositories."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

EXPERIMENTS: Final = "SWE-bench/experiments"
VERIFIED: Final = "SWE-bench/SWE-bench_Verified"
PAGE: Final = 100
"""Rows on a page of the rows API, which is the most that it gives."""


@dataclass(frozen=True, slots=True)
class Places:
    """The hosts, each without a slash at its end.

    Attributes:
        files: gives files of public GitHub repositories: `FILES/owner/name/commit/path`.
        bucket: the public bucket of submissions.
        rows: the rows API of datasets.
    """

    files: str = "https://raw.githubusercontent.com"
    bucket: str = "https://swe-bench-submissions.s3.amazonaws.com"
    rows: str = "https://datasets-server.huggingface.co/rows"

    def file(self, repo: str, ref: str, path: str) -> str:
        """A file of a repository at a commit, branch or tag."""
        return f"{self.files}/{quote(repo)}/{quote(ref)}/{quote(path)}"

    def submission(self, ref: str, name: str, path: str) -> str:
        """A file of a submission in the repository of experiments."""
        return self.file(EXPERIMENTS, ref, f"evaluation/verified/{name}/{path}")

    def stored(self, key: str) -> str:
        """An object in the bucket."""
        return f"{self.bucket}/{quote(key)}"

    def listing(self, prefix: str) -> str:
        """Whether the bucket has any object under a prefix: a listing of at most one."""
        return f"{self.bucket}/?list-type=2&max-keys=1&prefix={quote(prefix, safe='')}"

    def page(self, offset: int) -> str:
        """A page of the rows of SWE-bench Verified."""
        return f"{self.rows}?dataset={quote(VERIFIED, safe='')}&config=default&split=test&offset={offset}&length={PAGE}"
