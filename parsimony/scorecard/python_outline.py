"""Definitions of Python by the parser of the running interpreter, and whether a file compiles."""

from __future__ import annotations

import ast
import gc
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock

from parsimony.errors import InputError
from parsimony.footprint.python_source import decode, first_line, without_mark
from parsimony.scorecard.outline import Definition, Outline

REFUSED = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
"""What the parser and the compiler raise for text that they do not take."""

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
_LINE_END = re.compile(r"\r\n|\r|\n")
_PARSING = Lock()
"""Filters of warnings and the collector are those of the process: one thread at a time changes them."""


def text_of(data: bytes) -> str:
    """The text of a file without a byte order mark.

    Raises:
        InputError: it is no UTF-8, or too large.
    """
    return without_mark(decode(data, "after"))


def parse(text: str) -> tuple[ast.Module, Outline, bool]:
    """The tree and the outline of a file, and whether it compiles. Nothing of it is run.

    Raises:
        InputError: it does not parse.
    """
    with quiet():
        try:
            module = ast.parse(text)
        except REFUSED as error:
            line = getattr(error, "lineno", None)
            raise InputError(f"cannot be parsed: {error}", mend="the file is no Python", row=line) from None
        return module, Outline(tuple(definitions(module.body, "", _line_numbers(text)))), compiles(module)


def compiles(module: ast.Module, flags: int = 0) -> bool:
    """Whether the interpreter compiles what it parsed: `return` outside of a function and the like do not. To be called
    within `quiet`."""
    try:
        compile(module, "<patched>", "exec", flags=flags, dont_inherit=True)
    except REFUSED:
        return False
    return True


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings of the compiler (a filter could make errors of them), and no search for cycles: trees have none."""
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()


def _line_numbers(text: str) -> list[int] | None:
    """For each line of the parser, from 1, its number in patches: only a line feed ends their lines. None where both
    count alike."""
    if "\r" not in text.replace("\r\n", ""):
        return None
    numbers, line = [0, 1], 1
    for end in _LINE_END.findall(text):
        line += end != "\r"
        numbers.append(line)
    return numbers


def definitions(
    body: Iterable[ast.stmt], around: str, numbers: Sequence[int] | None, offset: int = 0
) -> Iterator[Definition]:
    """Functions and classes of a block and of its classes, also below `if`, `try`, `with` and the like.

    Args:
        around: goes before their names.
        numbers: of `_line_numbers`; offset: added to every line.
    """
    pending: list[tuple[ast.AST, str]] = [(statement, around) for statement in body]
    while pending:
        node, prefix = pending.pop()
        if isinstance(node, _DEFINITIONS):
            name = f"{prefix}{node.name}"
            first, last = span(node)
            if numbers is not None:
                first, last = numbers[first], numbers[last]
            yield Definition(name, "", first + offset, last + offset)
            if isinstance(node, ast.ClassDef):
                pending += ((child, f"{name}.") for child in node.body)
        else:
            pending += ((child, prefix) for block in _BLOCKS for child in getattr(node, block, ()))


def span(node: ast.stmt) -> tuple[int, int]:
    """The first and the last line of a statement, decorators included."""
    return first_line(node), node.end_lineno or node.lineno
