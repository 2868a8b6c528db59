"""What a date can mean, and when one is after another whatever was meant."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.contamination import Cutoff, ModelCutoffs, Moment, gate_task
from parsimony.errors import InputError

LOCAL = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1))  # noqa: DTZ001


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc,arg-type]


@pytest.mark.parametrize(
    ("text", "earliest", "latest"),
    [
        ("2024-04-30T12:00:00Z", utc(2024, 4, 30, 12), utc(2024, 4, 30, 12)),
        ("2024-04-30 12:00+02:00", utc(2024, 4, 30, 10), utc(2024, 4, 30, 10)),
        ("2024-04-30T12:00:00.1234567-0530", utc(2024, 4, 30, 17, 30, 0, 123456), utc(2024, 4, 30, 17, 30, 0, 123456)),
        ("2024-04-30T12:00:00", utc(2024, 4, 29, 22), utc(2024, 5, 1)),
        ("2024-04-30", utc(2024, 4, 29, 10), utc(2024, 5, 1, 12)),
        ("2024-02", utc(2024, 1, 31, 10), utc(2024, 3, 1, 12)),
        ("2023-12", utc(2023, 11, 30, 10), utc(2024, 1, 1, 12)),
    ],
)
def test_the_ends_of_what_a_date_can_mean(text: str, earliest: datetime, latest: datetime) -> None:
    moment = Moment.parse(f" {text} ")
    assert (moment.earliest, moment.latest, moment.text) == (earliest, latest, text)


@pytest.mark.parametrize(
    "text",
    ["", "2024", "2024-13", "2024-02-30", "2024-02-30T00:00:00Z", "yesterday", "04/30/2024", "2024-4-3", "0000-01",
     "9999-12-31", "2024-01-01T25:00:00Z", "2024-01-01T00:00:00+99:00", "2024-01-01T00", None,
     20240101, 1.5, ["2024-01"]],
)  # fmt: skip
def test_what_is_no_date_is_named_with_its_field(text: object) -> None:
    with pytest.raises(InputError, match="created_at: is"):
        Moment.parse(text, field="created_at")


@given(st.text())
def test_no_text_is_a_traceback(text: str) -> None:
    with contextlib.suppress(InputError):
        Moment.parse(text)


@given(
    LOCAL,
    st.integers(-12 * 60, 14 * 60),
    st.sampled_from(["%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M", "%Y-%m-%d", "%Y-%m"]),
)
def test_the_true_instant_is_always_between_the_ends(local: datetime, minutes: int, form: str) -> None:
    moment = Moment.parse(local.strftime(form))
    instant = local.replace(tzinfo=timezone(timedelta(minutes=minutes))).replace(second=0, microsecond=0)
    assert moment.earliest - timedelta(minutes=1) <= instant <= moment.latest + timedelta(minutes=1)


@given(LOCAL, LOCAL)
def test_after_is_an_order(a: datetime, b: datetime) -> None:
    one, two = Moment.parse(a.isoformat() + "Z"), Moment.parse(b.isoformat() + "Z")
    assert one.surely_after(two) == (a > b)
    day = Moment.parse(b.strftime("%Y-%m-%d"))
    assert not (one.surely_after(day) and day.surely_after(one))


@pytest.mark.parametrize(
    ("created", "cutoff", "eligible"),
    [
        ("2024-05-02T00:00:00Z", "2024-04", True),
        ("2024-05-01T13:00:00Z", "2024-04", True),
        ("2024-05-01T11:00:00Z", "2024-04", False),  # still April at UTC-12
        ("2024-04-30T00:00:00Z", "2024-04", False),  # of the month of the cutoff
        ("2024-05", "2024-04", False),  # its first hours at UTC+14 are April elsewhere
        ("2024-06", "2024-04", True),
        ("2024-04-30T12:00:00Z", "2024-04-30T12:00:00Z", False),
        ("2024-04-30T12:00:01Z", "2024-04-30T12:00:00Z", True),
        ("", "2024-04", False),
        (None, "2024-04", False),
        ("soon", "2024-04", False),
    ],
)
def test_the_gate_lets_through_what_is_after_for_certain(created: str | None, cutoff: str, eligible: bool) -> None:
    gated = gate_task("t", created, Cutoff("m", Moment.parse(cutoff), "card"))
    assert gated.eligible is eligible
    assert bool(gated.reason) is not eligible


def test_an_unknown_cutoff_lets_nothing_through() -> None:
    assert not gate_task("t", "2100-01-01T00:00:00Z", None).eligible


def test_cutoffs_are_by_exact_name_and_have_a_source() -> None:
    table: dict[str, dict[str, object]] = {
        "a-1": {"cutoff": "2024-04", "source": "model card"},
        "b": {"cutoff": None, "source": None},
    }
    cutoffs = ModelCutoffs.from_table(table, file="models.yaml")
    found = cutoffs.of("a-1")
    assert found is not None
    assert (found.moment.text, found.source) == ("2024-04", "model card")
    assert [cutoffs.of(name) for name in ("a", "a-1 ", "A-1", "b", "c")] == [None] * 5
    assert len(cutoffs) == 1
    with pytest.raises(InputError, match=r"models.yaml: models.a.source: is missing"):
        ModelCutoffs.from_table({"a": {"cutoff": "2024-04", "source": " "}}, file="models.yaml")
    with pytest.raises(InputError, match=r"models.yaml: models.a.cutoff: is 'spring'"):
        ModelCutoffs.from_table({"a": {"cutoff": "spring", "source": "card"}}, file="models.yaml")
