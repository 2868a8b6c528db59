"""The composition root: the command `parsimony`. The only part of `parsimony` that may import `cluster`, and it
imports what a command needs when the command runs, so that help comes at once."""

from __future__ import annotations

import os
import sys

from parsimony.errors import InputError, LedgerError, ParsimonyError, SandboxUnavailable

DONE, NO, CANNOT, PARTIAL = 0, 1, 2, 3
"""Exit statuses of every command: done; the answer is no; cannot run; done in part."""


def main() -> None:
    """Run the command line; every error that we raise on purpose is one line on stderr and exit status 2."""
    from parsimony.cli.app import app

    try:
        app()
    except InputError as error:
        _stop(str(error))
    except LedgerError as error:
        _stop(str(error))
    except SandboxUnavailable as error:
        _stop(f"{error}; `parsimony doctor` looks at what a sandbox needs, and --sandbox process needs no engine")
    except ParsimonyError as error:
        _stop(f"{type(error).__name__}: {error}")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] in {"parsimony", "cluster"}:
            raise
        _stop(f"this command needs the package {error.name!r}; install `parsimony-grading[cluster,report]`")
    except MemoryError:
        _stop("this machine has no memory left; what is durable stays, and the same command goes on with the rest")
    except RuntimeError as error:
        if "can't start new thread" not in str(error):
            raise
        _stop("this machine lets no more threads be started (limits of processes: `ulimit -u`, the container's pids)")
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is left to tell it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(DONE) from None
    except OSError as error:
        if error.filename is None:
            raise
        _stop(f"{error.filename}: {error.strerror}; check the path, its permissions and the room on its disk")


def _stop(message: str) -> None:
    print(f"parsimony: {message}", file=sys.stderr)  # noqa: T201 - the one place that speaks to a person
    raise SystemExit(CANNOT)
