"""Secrets stay out of logs: by the name they stand under, by their shape, by their value, however deep."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.redaction import MOST_CHARACTERS, Redactor, names_secret

SECRET = "s3cr3t-value-0001"


@pytest.mark.parametrize(
    "name",
    ["password", "DB_PASSWD", "client_secret", "Authorization", "api-key", "apiKey", "AWS_SECRET_ACCESS_KEY", "cookie",
     "token", "GITHUB_TOKEN", "access_token", "bearer_token", "private_key", "credentials", "proxy_auth"],
)  # fmt: skip
def test_names_of_secrets(name: str) -> None:
    assert names_secret(name)
    assert Redactor().fields({name: "x"}) == {name: "[redacted]"}


@pytest.mark.parametrize(
    "name",
    ["tokens", "input_tokens", "output_tokens", "tokens_per_dollar", "author", "execution_key", "job", "key",
     "authored", "score_key", "session", "keyboard"],
)  # fmt: skip
def test_names_of_what_one_wants_to_read(name: str) -> None:
    assert not names_secret(name)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("clone https://me:pa55word@host/x.git", "clone https://[redacted]@host/x.git"),
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [redacted]"),
        ("with ghp_abcdefghijklmnopqrstuvwxyz0123456789", "with [redacted]"),
        ("with sk-abcdefghijklmnopqrstuvwxyz", "with [redacted]"),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("task-a is a basic task", "task-a is a basic task"),
    ],
)
def test_shapes_of_secrets(text: str, left: str) -> None:
    assert Redactor().text(text) == left


def test_values_of_the_environment_are_found_anywhere() -> None:
    redactor = Redactor.of_environment({"MY_TOKEN": SECRET, "HOME": "/somebody/here", "SHORT_SECRET": "1"})
    told = redactor.fields({"message": f"got {SECRET}!", "home": "/somebody/here", "number": 1})
    assert told == {"message": "got [redacted]!", "home": "/somebody/here", "number": 1}


def test_a_secret_within_another_leaves_nothing_behind() -> None:
    assert Redactor([SECRET, SECRET + "-longer"]).text(f"{SECRET}-longer") == "[redacted]"


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30) | st.binary(max_size=30) | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(max_size=10), nested, max_size=5))
def test_no_depth_and_no_shape_hides_one(event: dict[str, object]) -> None:
    told = Redactor([SECRET]).fields(event)
    assert SECRET not in json.dumps(told, ensure_ascii=False)
    assert told.keys() == {Redactor([SECRET]).text(name) for name in event}


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_a_long_text_is_cut_after_it_was_redacted(text: str) -> None:
    told = Redactor([SECRET]).text("." * (MOST_CHARACTERS - 5) + SECRET + "." * 100 + text)
    assert "s3cr3" not in told
    assert "more characters)" in told
    assert len(told) < MOST_CHARACTERS + 40


def test_a_structure_without_an_end_ends() -> None:
    loop: list[object] = []
    loop.append(loop)
    assert "…" in json.dumps(Redactor().value(loop), ensure_ascii=False)
