"""Tokens of rendered text, made in a fraction of the time, are those of the library."""

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.footprint import python_tokens as module
from parsimony.footprint.python_source import read
from parsimony.footprint.python_tokens import render, rendered_tokens, tokens

SOURCES = [
    "",
    "x = 1",
    '"""A text\nof two lines."""\nx = 1',
    "def f(a, /, b: int=1, *c, d=..., **e) -> 'x':\n    return a @ b // c ** d",
    "class A:\n    def f(self):\n        if a:\n            return\n    x: int\ny = 1",
    "x = f'{a!r:>{b}}' + f\"{a['b']}\" + f'{{}}' 'c'",
    "x = f'{f\"{a}\"}{b:{c}{d}}'\ny = f'''{a}\n'''",
    "x = 1e-05 + 1e400 + 10j + 0.5 + 1_000 + 0xff + 1 .real",
    "x = b'\\x00\\\\' + u'é' + r'\\d' + '\\n' + \"'\" + '\"'",
    "ünïcode = 1\nx = ünïcode",
    "x = [a for b in c if d async for e in f]",
    "match a:\n    case [1, *_] | {'k': v, **r} if b:\n        pass",
    "x = 'f\"' + \"f'\" + ''",
    "lambda *a, b=-1, **c: (yield)",
    "x = a if b else not c\nx <<= 1; x != 2; (y := 3)",
]


@pytest.mark.parametrize("source", SOURCES)
def test_like_the_library(source: str) -> None:
    text = render(read(source).body, opens=True)
    assert rendered_tokens(text) == tokens(text)


LITERALS = st.one_of(st.text(), st.binary(), st.integers(), st.floats(allow_nan=False), st.complex_numbers())


@given(st.lists(LITERALS, max_size=4), st.booleans())
def test_like_the_library_on_any_literal(values: list[Any], opens: bool) -> None:
    body: list[ast.stmt] = [ast.Expr(ast.Constant(value)) for value in values]
    text = render(body, opens=opens)
    assert rendered_tokens(text) == tokens(text)


@given(st.lists(st.tuples(st.text(), st.sampled_from([-1, 97, 114, 115])), max_size=3))
def test_like_the_library_on_f_strings(parts: list[tuple[str, int]]) -> None:
    values: list[ast.expr] = []
    for text, conversion in parts:
        values += [ast.Constant(text), ast.FormattedValue(ast.Name("a", ast.Load()), conversion, None)]
    try:
        text = ast.unparse(ast.Expr(ast.JoinedStr(values)))
    except ValueError:  # some backslashes cannot be written before Python 3.12
        return
    assert rendered_tokens(text) == tokens(text)


def test_a_string_that_comes_first_is_rendered_like_a_docstring() -> None:
    body = read("x = 1\n'text'\n").body[1:]
    assert render(body, opens=True) == '"""text"""'
    assert render(body, opens=False) == "'text'"


def test_statements_deeper_than_the_interpreter_likes() -> None:
    text = render(read("x = a" + " + b" * 900 + "\n").body, opens=True)
    assert len(rendered_tokens(text)) == 3 + 2 * 900


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (1\n", "cannot be split"),
        ("x = 1\0\n", "NUL"),
        ("if a:\n    b()\n  c()\n", "cannot be split"),
    ],
)
def test_what_cannot_be_split(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        tokens(text)


def test_lines_that_would_take_quadratic_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WORK", 100)
    with pytest.raises(InputError, match="too long"):
        tokens("x = 1 + 2 + 3\n")
    assert tokens("a\nb\nc\nd\ne\nf\n") == list("abcdef")


def test_an_integer_that_python_does_not_write() -> None:
    with pytest.raises(InputError, match="thousands of digits"):
        render(read("x = 0x" + "f" * 10_000).body, opens=False)
