"""Tokens of Python: the diagnostic beside coding units.

Where both sides parse, they are those of `ast.unparse`, so that formatting, comments and docstrings cost nothing. Else
they are those of the text itself.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import token
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from parsimony.errors import InputError

_DROPPED = frozenset({token.COMMENT, token.NL, token.NEWLINE, token.ENDMARKER, token.ENCODING})
_SYMBOLS = {
    number: f"\0{name}"
    for name in ("INDENT", "DEDENT", "FSTRING_START", "FSTRING_END")
    if (number := getattr(token, name, None)) is not None
}
"""Tokens whose text does not matter. No token of a text starts with a NUL."""

_MOST_WORK = 40_000_000_000
"""Most of the sum of squares of the lengths of lines: the tokenizer of Python 3.12 takes quadratic time for a line."""

_DEPTH = 100_000
"""Frames for rendering: a tree as deep as the parser allows takes some of them for each level."""


_DEEP = Lock()


def render(statements: Sequence[ast.stmt], *, opens: bool) -> str:
    """The canonical text of statements.

    Args:
        opens: they are the first of a module, class or function, so that a string at their start is rendered like a
            docstring.

    Raises:
        InputError: nested too deeply, or with an integer that Python does not write.
    """
    if not statements:
        return ""
    tree = ast.Module(list(statements), []) if opens else list(statements)
    try:
        return ast.unparse(tree)  # type: ignore[arg-type]  # a list is what the body of every block is to it
    except RecursionError:
        pass
    except ValueError:
        raise InputError("holds an integer of thousands of digits", mend="leave the file out") from None
    try:
        with _deep():
            return ast.unparse(tree)  # type: ignore[arg-type]
    except RecursionError:
        raise InputError("is nested too deeply to be rendered", mend="leave the file out") from None


@contextmanager
def _deep() -> Iterator[None]:
    """More frames for functions of Python. They take none of the stack of C."""
    with _DEEP:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _DEPTH))
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


def tokens(text: str) -> list[str]:
    """The tokens of a text without comments and line ends.

    Raises:
        InputError: Python cannot make tokens of it; `row` is the line.
    """
    if "\0" in text:
        raise InputError("holds a NUL", mend="no Python source may", row=text.count("\n", 0, text.index("\0")) + 1)
    _refuse_long_lines(text)
    symbols, dropped = _SYMBOLS, _DROPPED
    try:
        return [
            symbols.get(kind, string)
            for kind, string, _, _, _ in tokenize.generate_tokens(io.StringIO(text).readline)
            if kind not in dropped and not (kind == token.ERRORTOKEN and string.isspace())
        ]
    except (SyntaxError, tokenize.TokenError, ValueError, RecursionError) as error:
        raise _untokenizable(error) from None


def _refuse_long_lines(text: str) -> None:
    if len(text) ** 2 > _MOST_WORK and sum(len(line) ** 2 for line in text.split("\n")) > _MOST_WORK:
        raise InputError("has lines that are too long to be split into tokens", mend="leave the file out")


_FSTRING_START, _FSTRING_END = getattr(token, "FSTRING_START", None), getattr(token, "FSTRING_END", None)
"""Since Python 3.12 an f-string is several tokens; before, one."""

_STRING = (
    r'(?:"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*')"
)
_RENDERED = re.compile(
    "|".join(
        (
            r"\n+ *",
            r"[A-Za-z_]\w*+(?![\"'])",
            ("[bu]?" if _FSTRING_START else "[bfu]?") + _STRING,
            r"\d+(?:\.\d*)?(?:e[+-]?\d+)?j?(?!\w)",
            *map(re.escape, sorted(token.EXACT_TOKEN_TYPES, key=len, reverse=True)),
            r"(f[\"']|[^ ])",
        )
    ),
    re.ASCII | re.DOTALL,
)
"""What `ast.unparse` writes; the group is what the tokenizer of the library must look at."""


def rendered_tokens(text: str) -> list[str]:
    """What `tokens` gives for a text that `render` made, in a tenth of the time.

    Rendered text has one statement a line, four spaces for each level and neither comments nor continued lines.

    Raises:
        InputError: a line that has an f-string is too long.
    """
    out: list[str] = []
    level = at = 0
    checked = False
    while True:
        for match in _RENDERED.finditer(text, at):
            item = match[0]
            if match.lastindex is not None:
                if len(item) == 1:
                    return tokens(text)
                if not checked:
                    _refuse_long_lines(text)
                    checked = True
                at = _fstring(text, match.start(), out)
                break
            if item[0] != "\n":
                out.append(item)
                continue
            deeper = (len(item) - item.count("\n")) // 4
            if deeper != level:
                out += [_SYMBOLS[token.INDENT if deeper > level else token.DEDENT]] * abs(deeper - level)
                level = deeper
        else:
            out += [_SYMBOLS[token.DEDENT]] * level
            return out


def _fstring(text: str, start: int, out: list[str]) -> int:
    """The tokens of the f-string that starts at `start`; returns where it ends."""
    ends: list[int] = []

    def line() -> str:
        begin = ends[-1] if ends else start
        ends.append(text.find("\n", begin) + 1 or len(text))
        return text[begin : ends[-1]]

    depth = 0
    for kind, string, _, (row, column), _ in tokenize.generate_tokens(line):
        out.append(_SYMBOLS.get(kind, string))
        depth += (kind == _FSTRING_START) - (kind == _FSTRING_END)
        if depth == 0:
            return (ends[row - 2] if row > 1 else start) + column
    raise AssertionError("an f-string that ast.unparse wrote has no end")


def _untokenizable(error: Exception) -> InputError:
    row = None
    if isinstance(error, SyntaxError):
        problem, row = error.msg, error.lineno
    else:
        problem = str(error.args[0]) if error.args else type(error).__name__
        if len(error.args) > 1 and isinstance(error.args[1], tuple):
            row = error.args[1][0]
    return InputError(f"cannot be split into tokens: {problem}", mend="mend the syntax", row=row)
