"""Logs go to standard error as it is at that moment, as JSON where that is no terminal, without secrets."""

from __future__ import annotations

import io
import json
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
