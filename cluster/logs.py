"""Logs: JSON lines on stderr (readable lines on a terminal), set up once per process, warnings and worse by default."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import MutableMapping
from typing import Any, Final, TextIO, cast

import structlog

LEVEL_VARIABLE: Final = "PARSIMONY_LOG_LEVEL"
_SECRET_WORDS: Final = (
    "password",
    "secret",
    "token_value",
    "api_key",
    "apikey",
    "authorization",
    "credential",
    "cookie",
)


class _StandardError:
    """Standard error as it is when something is written: whoever embeds us may put another in its place."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def _redact(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Values under names that speak of secrets never reach a log."""
    for name in event:
        if any(word in name.lower() for word in _SECRET_WORDS):
            event[name] = "[redacted]"
    return event


def configure_logs(level: str | None = None) -> None:
    """Set logging up. `level` is a name such as `info`; default: $PARSIMONY_LOG_LEVEL, else warnings."""
    chosen = (level or os.environ.get(LEVEL_VARIABLE) or "warning").upper()
    number = logging.getLevelNamesMapping().get(chosen, logging.WARNING)
    render: Any = structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    tracebacks = structlog.processors.ExceptionRenderer(
        structlog.tracebacks.ExceptionDictTransformer(show_locals=False)  # locals may hold secrets
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _redact,
            *([] if sys.stderr.isatty() else [tracebacks]),
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(cast("TextIO", _StandardError())),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        stream=sys.stderr, level=max(number, logging.WARNING), format="%(levelname)s %(name)s %(message)s"
    )
