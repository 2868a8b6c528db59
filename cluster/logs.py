"""Logs: JSON lines on stderr (readable lines on a terminal), set up once per process, warnings and worse by default.

Everything goes through one chain: our own events, and what Ray, Docker, Kubernetes and `warnings` say through
`logging`. Events are named by dotted constants; each job ends in one line, `job.finished` or
`job.missing`. docs/logs.md has the list.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any, Final, TextIO, cast

import structlog

from cluster.redaction import Redactor

LEVEL_VARIABLE: Final = "PARSIMONY_LOG_LEVEL"


class _StandardError:
    """Standard error as it is when something is written: whoever embeds us may put another in its place."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


class _Handler(logging.StreamHandler[TextIO]):
    """Ours: set up again, it takes the place of itself, and nobody else's is touched."""


def configure_logs(level: str | None = None) -> None:
    """Set logging up for this process.

    Args:
        level: a name such as `info`; default: $PARSIMONY_LOG_LEVEL, else warnings. Other libraries' loggers are heard
            from warnings on, whatever it says.
    """
    chosen = (level or os.environ.get(LEVEL_VARIABLE) or "warning").upper()
    number = logging.getLevelNamesMapping().get(chosen, logging.WARNING)
    first: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    last = _last()
    structlog.configure(
        processors=[*first, *last],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _StandardError())),
        cache_logger_on_first_use=True,
    )
    _adopt(max(number, logging.WARNING), first, last)


def _last() -> list[Any]:
    """Tracebacks as data, what no log may hold taken out of everything, the line. In this order: an exception's message
    may hold a secret, and so may its locals, which are not shown."""
    redactor = Redactor.of_environment(os.environ)

    def redact(_logger: object, _method: str, event: MutableMapping[str, Any]) -> dict[str, object]:
        return redactor.fields(event)

    if sys.stderr.isatty():
        plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
        return [structlog.processors.format_exc_info, redact, plain]
    tracebacks = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
    return [structlog.processors.ExceptionRenderer(tracebacks), redact, structlog.processors.JSONRenderer()]


def _adopt(level: int, first: list[Any], last: list[Any]) -> None:
    """Bring what other libraries log into the same lines."""
    meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler = _Handler(cast("TextIO", _StandardError()))
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[meta, *last],
            foreign_pre_chain=[
                *first,
                structlog.stdlib.add_logger_name,
                structlog.stdlib.PositionalArgumentsFormatter(),
            ],
            use_get_message=True,
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [*(each for each in root.handlers if not isinstance(each, _Handler)), handler]
    root.setLevel(level)
    logging.captureWarnings(True)
