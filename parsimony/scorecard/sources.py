"""What the parser of its language says of one source file. Many candidates share files, so answers are kept."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, Final

from parsimony.errors import InputError
from parsimony.footprint.languages.lineprocess import Ended, LineProcess
from parsimony.footprint.languages.remote import FILE_SECONDS
from parsimony.footprint.tracks import MAX_SOURCE_BYTES, load_track
from parsimony.measurements.tracks import PYTHON, pinned_parsers
from parsimony.scope import languages
from parsimony.scorecard import python_delta, python_outline
from parsimony.scorecard.outline import Outline, from_rows
from parsimony.scorecard.python_delta import PythonBase, Window

KEPT: Final = 20_000
"""Files whose outline is kept; one takes a few kilobytes."""

KEPT_BASES: Final = 256
"""Files of Python that others are read by what differs from them."""

_SCRIPTS = frozenset({"javascript", "typescript"})


@dataclass(frozen=True, slots=True)
class Source:
    """One file as its parser sees it.

    Attributes:
        outline: None when it does not parse.
        compiles: whether the language's own check takes it: the byte-compiler of Python, else the parser.
        problem: why it does not parse.
    """

    outline: Outline | None
    compiles: bool
    problem: str = ""


@dataclass(slots=True)
class Sources:
    """Sources by language and content, the least recently used dropped first."""

    most: int = KEPT
    _kept: OrderedDict[tuple[str, str, bytes], Source] = field(default_factory=OrderedDict, repr=False)
    _bases: OrderedDict[bytes, PythonBase] = field(default_factory=OrderedDict, repr=False)

    def read(
        self, path: str, data: bytes, language: str, *, base: bytes | None = None, windows: Sequence[Window] = ()
    ) -> Source:
        """What the parser of `language` says of a file.

        Args:
            path: tells dialects apart (.ts and .tsx).
            base: another version that was read before: what differs from it is faster to read. It changes no answer.
            windows: where it differs, as far as that is known.

        Raises:
            InputError: there is no parser for the language, or it is not installed.
        """
        digest = sha256(data).digest()
        key = (language, _dialect(path, language), digest)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        known = self._bases.get(sha256(base).digest()) if base is not None and language == PYTHON else None
        found = self._python(data, digest, known, windows) if language == PYTHON else _read(path, data, language)
        self._kept[key] = found
        if len(self._kept) > self.most:
            self._kept.popitem(last=False)
        return found

    def _python(self, data: bytes, digest: bytes, known: PythonBase | None, windows: Sequence[Window]) -> Source:
        try:
            text = python_outline.text_of(data)
            after = python_delta.read_after(known, text, windows) if known is not None else None
            if after is not None:
                return Source(*after)
            module, outline, compiles = python_outline.parse(text)
        except InputError as error:
            return Source(None, compiles=False, problem=str(error))
        base = python_delta.read_base(text, module, outline) if compiles and known is None else None
        if base is not None:
            self._bases[digest] = base
            if len(self._bases) > KEPT_BASES:
                self._bases.popitem(last=False)
        return Source(outline, compiles)


def _dialect(path: str, language: str) -> str:
    return PurePosixPath(path).suffix.lower() if language in _SCRIPTS else ""


def _read(path: str, data: bytes, language: str) -> Source:
    if language not in languages():
        raise InputError.wrong("language", language, "one of: " + ", ".join(languages()))
    load_track(language=language)  # says what to install where the parser is not there, or has another version
    try:
        outline = _ask_script(path, data) if language in _SCRIPTS else _ask_trees(language, data)
    except InputError as error:
        return Source(None, compiles=False, problem=str(error))
    return Source(outline, compiles=True)


def _ask_trees(language: str, data: bytes) -> Outline:
    return _ask(_trees_process(), {"language": language, "text": _text(data)})


def _ask_script(path: str, data: bytes) -> Outline:
    return _ask(_script_process(), {"name": "file" + PurePosixPath(path).suffix, "text": _text(data)})


def _text(data: bytes) -> str:
    if len(data) > MAX_SOURCE_BYTES:
        raise InputError(f"has {len(data)} bytes, over the limit of {MAX_SOURCE_BYTES}", mend="leave the file out")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", mend="only UTF-8 sources are read") from None


def _ask(process: LineProcess, request: Mapping[str, object]) -> Outline:
    try:
        answer: dict[str, Any] = json.loads(process.ask(json.dumps(request).encode() + b"\n", FILE_SECONDS))
    except TimeoutError:
        raise InputError(f"takes more than {FILE_SECONDS:g} seconds to parse", mend="leave the file out") from None
    except Ended:
        raise InputError("takes more memory to parse than the parser may have", mend="leave the file out") from None
    if "error" in answer:
        raise InputError(f"cannot be parsed: {answer['error']}", mend="the parser refuses it", row=answer["line"])
    return from_rows(answer["definitions"])


@lru_cache
def _trees_process() -> LineProcess:
    return LineProcess(_start_trees)


def _start_trees() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "parsimony.scorecard.treesitter_outline"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


@lru_cache
def _script_process() -> LineProcess:
    return LineProcess(_start_script)


def _start_script() -> subprocess.Popen[bytes]:
    """The compiler of the footprint's track, asked for definitions by a program of our own."""
    from parsimony.footprint.languages import script  # noqa: PLC0415 - only where such a file is read

    place = script._place(pinned_parsers("typescript")["typescript"])
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return subprocess.Popen(
        [place.node, f"--max-old-space-size={script._MEMORY_MEBIBYTES}", str(_program()), str(place.modules.resolve())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=inherited,
    )


@lru_cache
def _program() -> Path:
    """The program for Node as a file, which it is not where the package is imported from an archive."""
    files = ExitStack()
    atexit.register(files.close)
    return files.enter_context(resources.as_file(resources.files(__package__) / "script_outline.cjs"))
