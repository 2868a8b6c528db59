"""When standing work is due, and the texts that start it."""

from __future__ import annotations

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from parsimony.cli.auditing_schedule import job
from parsimony.errors import InputError
from parsimony.schedules import Cron, Schedule, State, read_duration, write_duration
from parsimony.schedules.timers import crontab, kubernetes, systemd


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "after", "wanted"),
    [
        ("* * * * *", "2026-12-01 03:00:30", "2026-12-01 03:01"),
        ("30 3 * * *", "2026-12-01 03:30", "2026-12-02 03:30"),
        ("30 3 * * *", "2026-12-01 03:29:59", "2026-12-01 03:30"),
        ("*/15 9-17/4 * * *", "2026-12-01 09:50", "2026-12-01 13:00"),
        ("0 0 1 jan *", "2026-12-01 00:00", "2027-01-01 00:00"),
        ("0 0 29 2 *", "2026-12-01 00:00", "2028-02-29 00:00"),
        ("0 0 29 2 *", "2096-03-01 00:00", "2104-02-29 00:00"),  # 2100 is no leap year
        ("0 4 * * mon", "2026-12-01 00:00", "2026-12-07 04:00"),  # that day is a Tuesday
        ("0 4 * * 0", "2026-12-01 00:00", "2026-12-06 04:00"),
        ("0 4 * * 7", "2026-12-01 00:00", "2026-12-06 04:00"),
        ("0 4 13 * fri", "2026-12-01 00:00", "2026-12-04 04:00"),  # either day, where both are restricted
        ("0 4 */2 * fri", "2026-12-01 00:00", "2026-12-11 04:00"),  # both, where one begins with a star
        ("5,10 0,12 * * *", "2026-12-01 00:05", "2026-12-01 00:10"),
    ],
)
def test_times_of_a_crontab(cron: str, after: str, wanted: str) -> None:
    assert Cron.parse(cron).after(at(after)) == at(wanted)


@pytest.mark.parametrize(
    "text",
    ["", "* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "a * * * *", "5-3 * * * *",
     "*/0 * * * *", "*/x * * * *", "1,,2 * * * *", "0 0 30 2 *", "-1 * * * *", "١ * * * *", "@daily"],
)  # fmt: skip
def test_what_is_no_crontab_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Cron.parse(text)


@given(st.datetimes(min_value=datetime(2020, 1, 1), max_value=datetime(2040, 1, 1)))  # noqa: DTZ001 - made aware below
def test_the_next_time_is_later_and_fits(moment: datetime) -> None:
    now = moment.replace(tzinfo=UTC)
    found = Cron.parse("7,37 */5 * * 1-5").after(now)
    assert found > now
    assert found.minute in {7, 37}
    assert found.hour % 5 == 0
    assert found.isoweekday() <= 5
    assert found.second == found.microsecond == 0


@pytest.mark.parametrize(("text", "hours"), [("12h", 12), ("7d", 168), ("2w", 336), ("1d12h", 36), ("90m", 1.5)])
def test_durations(text: str, hours: float) -> None:
    assert read_duration(text) == timedelta(hours=hours)
    assert read_duration(write_duration(timedelta(hours=hours))) == timedelta(hours=hours)


@pytest.mark.parametrize("text", ["", "7", "d", "0d", "-1d", "1y", "1d x", "1.5d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        read_duration(text)


def test_an_interval_runs_from_start_to_start() -> None:
    plan = Schedule(every=timedelta(days=7), grace=timedelta(hours=6))
    made, last = at("2026-11-01 00:00"), at("2026-12-01 03:00")
    assert plan.due(None, made) == made
    assert plan.due(last, made) == at("2026-12-08 03:00")
    assert plan.state(last, made, at("2026-12-08 02:59")) is State.CURRENT
    assert plan.state(last, made, at("2026-12-08 03:00")) is State.DUE
    assert plan.state(last, made, at("2026-12-08 09:00")) is State.DUE
    assert plan.state(last, made, at("2026-12-08 09:01")) is State.OVERDUE
    assert plan.state(None, made, at("2026-12-08 09:01")) is State.OVERDUE


def test_times_run_from_the_last_start() -> None:
    plan = Schedule(cron=Cron.parse("0 3 * * *"))
    assert plan.due(at("2026-12-01 03:04"), at("2026-01-01 00:00")) == at("2026-12-02 03:00")


@pytest.mark.parametrize("both", [{}, {"every": timedelta(days=1), "cron": Cron.parse("* * * * *")}])
def test_one_of_the_two_is_needed(both: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Schedule(**both)  # type: ignore[arg-type]


FOLDER = Path("/srv/a b/100%/tasks.audit")
WEEKLY, NIGHTLY = Schedule(every=timedelta(days=7)), Schedule(cron=Cron.parse("30 3 * * 1"))


def test_the_crontab_line_survives_blanks_and_percent_signs() -> None:
    line = crontab(NIGHTLY, job(FOLDER))
    assert line.startswith("30 3 * * 1 parsimony audit run --if-due --out ")
    assert line.count("\n") == 1
    command = line.removeprefix("30 3 * * 1 ").replace("\\%", "%")
    split = subprocess.run(
        ["sh", "-c", f'set -- {command}printf "%s\\n" "$@"'], capture_output=True, text=True, check=True
    )
    assert split.stdout.splitlines()[-1] == str(FOLDER)
    assert crontab(WEEKLY, job(FOLDER)).startswith("17 * * * * ")


def test_the_cronjob_is_yaml_that_names_the_folder() -> None:
    made = yaml.safe_load(kubernetes(NIGHTLY, job(Path('/srv/"x"/tasks.audit'))))
    assert made["spec"]["schedule"] == "30 3 * * 1"
    container = made["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
    assert container["args"] == ["audit", "run", "--if-due", "--out", '/srv/"x"/tasks.audit']
    assert container["volumeMounts"][0]["mountPath"] == '/srv/"x"'


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="there is no systemd here")
def test_systemd_reads_its_units(tmp_path: Path) -> None:
    service, timer = systemd(WEEKLY, job(FOLDER)).split("# parsimony-audit.timer\n")
    (tmp_path / "parsimony-audit.service").write_text(service)
    (tmp_path / "parsimony-audit.timer").write_text(timer)
    command = ["systemd-analyze", "verify", str(tmp_path / "parsimony-audit.timer")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "parsimony" not in done.stderr.replace("Command parsimony is not executable", "")


def test_systemd_units_hold_the_command() -> None:
    text = systemd(WEEKLY, job(FOLDER))
    assert "ExecStart=/bin/sh -c " in text
    assert "100%%" in text
    assert "Persistent=true" in text
