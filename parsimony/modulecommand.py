"""What the commands that are run as modules (`python -m parsimony.scoring` and others) have in common.

Errors are one line on stderr and exit status 2. Files appear whole or not at all; what must never be replaced is
created only where nothing is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NoReturn

from parsimony import strict_json
from parsimony.errors import InputError, ParsimonyError
from parsimony.measurements import Record, ResultsFile, read_bytes, read_results

DONE: Final = 0
CANNOT: Final = 2

RECORDS_HELP: Final = "results files of `parsimony analyze`: JSON lines, a record each"


def run(command: Callable[[Sequence[str]], int]) -> NoReturn:
    """Run a command with the words of the command line and end the process with its exit status."""
    try:
        status = command(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is left to tell it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(DONE) from None
    except ParsimonyError as error:
        _stop(str(error))
    except RecursionError:
        _stop("the input holds an object that is nested too deeply; make it flatter")
    raise SystemExit(status)


def _stop(message: str) -> NoReturn:
    print(f"error: {message}", file=sys.stderr)  # noqa: T201 - the one place that speaks to a person
    raise SystemExit(CANNOT) from None


def parser(name: str, doc: str | None, examples: str) -> argparse.ArgumentParser:
    """A parser for `python -m NAME`, whose help is a module's docstring and examples of use."""
    return argparse.ArgumentParser(
        prog=f"python -m {name}",
        description=doc,
        epilog=f"examples:\n{examples}\n\nexit status: 0 done, 2 cannot run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def count(text: str) -> int:
    """An argument that is an integer, 1 or more."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is not 1 or more")
    return value


def read_all(paths: Sequence[str]) -> tuple[list[Record], dict[str, str]]:
    """The records of several results files in their order, and {path as given: SHA-256 of the file, hex}.

    Raises:
        InputError: a file cannot be read or holds a line that is no record.
    """
    files: list[ResultsFile] = [read_results(path) for path in paths]
    return [record for file in files for record in file.records], {file.path: file.sha256 for file in files}


def read_json(path: str) -> tuple[object, str]:
    """The value of a JSON file and the SHA-256 (hex) of its bytes.

    Raises:
        InputError: it cannot be read or is no JSON.
    """
    data = read_bytes(path)
    try:
        return strict_json.loads(data), hashlib.sha256(data).hexdigest()
    except InputError as error:
        raise error.at(file=path) from None


def write_json(value: object, path: str | None) -> None:
    """Write JSON to a file, by rename, or to stdout where no file is named.

    Raises:
        InputError: the file cannot be written.
    """
    if path is None:
        sys.stdout.write(_text(value))
    else:
        _write(Path(path), _text(value).encode(), os.replace)


def write_text(text: str, path: str) -> None:
    """Write a text file, by rename.

    Raises:
        InputError: it cannot be written.
    """
    _write(Path(path), text.encode("utf-8", "replace"), os.replace)


def create_json(value: object, path: str) -> None:
    """Write JSON to a file that must not be there yet: what is frozen is never replaced.

    Raises:
        InputError: it is there, or it cannot be written.
    """
    try:
        # A link, other than a rename, fails where something is, also when that came between a look and the write.
        _write(Path(path), _text(value).encode(), os.link)
    except FileExistsError:
        mend = "what is frozen stays; write to another path under a new name"
        raise InputError("is there already", mend=mend, file=path) from None


def _text(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True, allow_nan=False) + "\n"


def _write(path: Path, data: bytes, place: Callable[[Path, Path], None]) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        place(draft, path)
    except FileExistsError:
        raise
    except OSError as error:
        problem = f"cannot be written: {error.strerror or error}"
        raise InputError(problem, mend="check the path and its permissions", file=str(path)) from None
    finally:
        draft.unlink(missing_ok=True)
