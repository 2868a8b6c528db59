"""A folder of files of rows as a source: what other tools put there is picked up."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from parsimony.canonical import digest_bytes
from parsimony.errors import InputError
from parsimony.refresh.model import Fetched, Mark
from parsimony.refresh.reading import RowFile

SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, slots=True)
class FolderSource:
    """Files of rows in a folder: JSON, JSON lines, gzip of these, Parquet. Folders in it are for base trees.

    Names that begin with a dot are passed over, so a file can be put there under such a name and renamed when it is
    whole. One that is read half-written has a bad row at its end, and is read again the next time.

    Attributes:
        defaults: for fields that rows do not have, as `parsimony.tasks.read_tasks` takes them.
        files: names of files, with `*` and `?`; others are passed over.
    """

    name: str
    folder: Path
    defaults: Mapping[str, object] = field(default_factory=dict)
    files: str = "*"

    @property
    def place(self) -> str:
        """The folder, and which files of it."""
        return str(self.folder if self.files == "*" else self.folder / self.files)

    def fetch(self, since: Mark | None) -> Fetched:
        """The rows of the files that are not as they were. The mark is the digest of each file.

        Raises:
            InputError: there is no such folder, or it cannot be read.
        """
        if not self.folder.is_dir():
            raise InputError("there is no such folder", mend="make it, or name another", file=str(self.folder))
        mark, offered, rejected = {}, [], []
        before = since or {}
        try:
            for path in self._files():
                called = path.name
                mark[called] = digest_bytes(path.read_bytes())
                if before.get(called) != mark[called]:
                    rows, problems = RowFile(path, called, self.name, mark[called]).read(self.defaults)
                    offered += rows
                    rejected += problems
        except OSError as error:
            problem = f"cannot be read ({error.strerror or error})"
            raise InputError(problem, mend="check its permissions", file=str(error.filename or self.folder)) from None
        unchanged = since is not None and mark.items() <= before.items()
        return Fetched(tuple(offered), tuple(rejected), mark, unchanged)

    def _files(self) -> list[Path]:
        return sorted(
            path
            for path in self.folder.iterdir()
            if not path.name.startswith(".")
            and path.name.removesuffix(".gz").endswith(SUFFIXES)
            and fnmatch.fnmatchcase(path.name, self.files)
            and path.is_file()
        )
