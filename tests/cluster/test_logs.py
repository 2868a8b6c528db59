"""Logs go to standard error as it is at that moment, as JSON where that is no terminal, without secrets."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator

import pytest
import structlog

from cluster.logs import configure_logs


@pytest.fixture
def fresh() -> Iterator[None]:
    """Logs as they are before anything is set up, and again afterwards."""
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("fresh")
def test_a_standard_error_that_was_replaced_and_closed_is_not_written_to(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", first)
    configure_logs()
    log = structlog.get_logger("test")
    log.warning("one", job=1)
    monkeypatch.setattr(sys, "stderr", second)
    told = first.getvalue()
    first.close()
    log.warning("two", job=2)
    assert [json.loads(text)["job"] for text in (told, second.getvalue())] == [1, 2]


@pytest.mark.usefixtures("fresh")
def test_secrets_and_what_is_below_the_level_stay_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("info")
    structlog.get_logger("test").info("asked", api_key="hunter2", job=3)
    structlog.get_logger("test").debug("unheard")
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["api_key"], line["job"], line["level"]) == ("asked", "[redacted]", 3, "info")


@pytest.fixture
def root() -> Iterator[None]:
    """The root logger, afterwards as it was."""
    logger = logging.getLogger()
    kept, level = logger.handlers[:], logger.level
    yield
    logging.captureWarnings(False)
    logger.handlers[:], logger.level = kept, level


@pytest.mark.usefixtures("fresh", "root")
def test_other_libraries_write_the_same_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGISTRY_TOKEN", "very-secret-0001")
    configure_logs("info")
    logging.getLogger("urllib3").warning("retry %d with %s", 2, "very-secret-0001")
    logging.getLogger("urllib3").info("unheard")
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["logger"], line["level"]) == ("retry 2 with [redacted]", "urllib3", "warning")
    assert line["timestamp"].endswith("Z")


@pytest.mark.usefixtures("fresh", "root")
@pytest.mark.parametrize("terminal", [False, True])
def test_a_traceback_shows_neither_locals_nor_secrets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    monkeypatch.setenv("REGISTRY_TOKEN", "very-secret-0001")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    configure_logs()
    hidden = "only-in-a-local"
    try:
        raise ValueError(f"refused very-secret-0001, {len(hidden)}")
    except ValueError:
        structlog.get_logger("test").exception("asked.refused")
        logging.getLogger("other").exception("asked too")
    told = capsys.readouterr().err
    assert told.count("refused [redacted], 15") >= 2
    assert "very-secret" not in told
    assert hidden not in told.replace('hidden = "only-in-a-local"', "")
