"""The past of commits, as packs: what an image may know of its repository, and not one object more."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from cluster.images.spec import RepositorySpec
from parsimony.errors import InputError, PermanentError, TemporaryError

CLONE_TIMEOUT_S: Final = 3600.0
BASE_DATE: Final = "2020-01-01T00:00:00Z"
"""Of the one commit of an image without history: building it again makes the same commit."""


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack and its index, ready for `.git/objects/pack`."""

    name: str
    pack: bytes
    index: bytes


class Repository:
    """A repository on this machine, which is only read.

    Args:
        spec: where it is. folder: of the specification. cache: where clones are kept.

    Raises:
        InputError: there is no repository. TemporaryError: it cannot be cloned now.
    """

    def __init__(self, spec: RepositorySpec, folder: Path, cache: Path) -> None:
        self._objects, self._cloned = "", spec.url is not None
        if spec.path is not None:
            self._path = (folder / spec.path).resolve()
            self._place = str(spec.path)
            if not self._path.is_dir() or self._try("rev-parse", "--git-dir") is None:
                mend = "give the folder of a git repository"
                raise InputError(f"{spec.path} is no repository", mend=mend, field="repository.path")
        else:
            assert spec.url is not None
            self._place = spec.url
            self._path = cache / "repositories" / sha256(spec.url.encode()).hexdigest()[:16]
            if not (self._path / "HEAD").exists():
                self._clone(spec.url)
        self._scratch = tempfile.TemporaryDirectory(prefix="parsimony-images-")

    def commit(self, name: str) -> str:
        """The full id of a commit; a clone that does not have it is brought up to date once.

        Raises:
            InputError: there is none of that name.
        """
        found = self._try("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if found is None and self._cloned:
            self._try("fetch", "--quiet", "--force", "origin", "+refs/*:refs/*")
            found = self._try("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if found is None:
            mend = "check the commit, or bring the repository up to date"
            raise InputError(f"{self._place} has no commit {name}", mend=mend, field="tasks")
        return found.decode().strip()

    def common_past(self, commits: Sequence[str]) -> str | None:
        """The newest commit that all of `commits` come from; None where they share no past."""
        found = self._try("merge-base", "--octopus", *commits)
        return found.decode().split()[0] if found else None

    def alone(self, commit: str) -> str:
        """A commit with the same files and no past, written beside the repository and not into it."""
        tree = self._git("rev-parse", f"{commit}^{{tree}}").decode().strip()
        who = {"NAME": "base", "EMAIL": "base@localhost", "DATE": BASE_DATE}
        author = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        return self._git("commit-tree", tree, "-m", "base", environment=author).decode().strip()

    def tags(self, commit: str) -> dict[str, str]:
        """Tag -> the commit that it stands for, of those that are in the past of `commit` or are it."""
        lines = self._git(
            "for-each-ref", f"--merged={commit}", "--format=%(refname) %(objectname) %(*objectname)", "refs/tags"
        )
        found = {}
        for line in lines.decode("utf-8", "replace").splitlines():
            name, own, *peeled = line.split()
            found[name] = peeled[0] if peeled else own
        return dict(sorted(found.items()))

    def modules(self, commit: str) -> list[str]:
        """Paths of submodules, which no image gets."""
        lines = self._git("ls-tree", "-r", "-z", commit).split(b"\0")
        return [line.split(b"\t", 1)[1].decode("utf-8", "replace") for line in lines if line.startswith(b"160000 ")]

    def pack(self, commits: Iterable[str], known: Iterable[str] = ()) -> Pack | None:
        """Everything that `commits` reach and `known` does not; None where that is nothing."""
        wanted = "".join([*(f"{commit}\n" for commit in commits), *(f"^{commit}\n" for commit in known)])
        with tempfile.TemporaryDirectory(dir=self._scratch.name) as folder:
            self._git("pack-objects", "--quiet", "--revs", "--threads=1", f"{folder}/pack", data=wanted.encode())
            found = next(Path(folder).glob("pack-*.pack"), None)
            if found is None or int.from_bytes(found.read_bytes()[8:12], "big") == 0:
                return None
            return Pack(found.stem, found.read_bytes(), found.with_suffix(".idx").read_bytes())

    def close(self) -> None:
        """Remove what was written beside the repository."""
        self._scratch.cleanup()

    def _clone(self, url: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="clone-", dir=self._path.parent) as folder:
            fresh = Path(folder) / "clone"
            command = ["git", "clone", "--quiet", "--mirror", "--", url, str(fresh)]
            try:
                done = subprocess.run(
                    command, capture_output=True, check=False, env=self._environment(), timeout=CLONE_TIMEOUT_S
                )
            except subprocess.TimeoutExpired:
                raise TemporaryError(
                    f"{url} is not cloned after {CLONE_TIMEOUT_S:.0f} s; clone it, and name it as `path`"
                ) from None
            if done.returncode:
                said = done.stderr.decode("utf-8", "replace").strip().splitlines()
                raise TemporaryError(f"{url} cannot be cloned: {said[-1] if said else 'git says nothing'}")
            if not (self._path / "HEAD").exists():  # else somebody else has cloned it meanwhile
                fresh.replace(self._path)

    def _git(self, *words: str, data: bytes = b"", environment: dict[str, str] | None = None) -> bytes:
        own = Path(self._scratch.name) / "objects"  # what is written goes beside the repository, not into it
        own.mkdir(exist_ok=True)
        if not self._objects:
            place = self._try("rev-parse", "--git-path", "objects") or b""
            self._objects = str(self._path / place.decode().strip())
        written = {"GIT_OBJECT_DIRECTORY": str(own), "GIT_ALTERNATE_OBJECT_DIRECTORIES": self._objects}
        command = ["git", "-c", "safe.directory=*", "-C", str(self._path)]
        env = {**self._environment(), **written, **(environment or {})}
        done = subprocess.run([*command, *words], input=data, capture_output=True, check=False, env=env)
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise PermanentError(f"git {words[0]} in {self._place}: {said or f'status {done.returncode}'}")
        return done.stdout

    def _try(self, *words: str) -> bytes | None:
        command = ["git", "-c", "safe.directory=*", "-C", str(self._path), *words]
        done = subprocess.run(command, capture_output=True, check=False, env=self._environment())
        return done.stdout if done.returncode == 0 else None

    @staticmethod
    def _environment() -> dict[str, str]:
        """This user's, so that credentials of git work; nothing is asked for, nothing is fetched lazily."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        return {**kept, "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
