"""Definitions of Python by the parser of the running interpreter, and whether a file compiles."""

from __future__ import annotations

import ast
import gc
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from parsimony.errors import InputError
from parsimony.footprint.python_source import decode, first_line, without_mark
from parsimony.scorecard.outline import Definition, Outline

_REFUSED = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LINE_END = re.compile(r"\r\n|\r|\n")
_PARSING = Lock()
"""Filters of warnings and the collector are those of the process: one thread at a time changes them."""


def read(data: bytes) -> tuple[Outline, bool]:
    """The outline of a file, and whether the interpreter also compiles it (`return` outside of a function and the like
    parse but do not compile). Nothing of it is run.

    Raises:
        InputError: it does not parse, is no UTF-8, or is too large.
    """
    text = without_mark(decode(data, "after"))
    with _quiet():
        try:
            module = ast.parse(text)
        except _REFUSED as error:
            line = getattr(error, "lineno", None)
            raise InputError(f"cannot be parsed: {error}", mend="the file is no Python", row=line) from None
        outline = Outline(tuple(_definitions(module, _line_numbers(text))))
        return outline, _compiles(module)


def _compiles(module: ast.Module) -> bool:
    try:
        compile(module, "<patched>", "exec", dont_inherit=True)
    except _REFUSED:
        return False
    return True


@contextmanager
def _quiet() -> Iterator[None]:
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


def _definitions(module: ast.Module, numbers: list[int] | None) -> Iterator[Definition]:
    """Functions and classes of the module and of classes, also below `if`, `try`, `with` and the like."""
    pending: list[tuple[ast.AST, str]] = [(statement, "") for statement in module.body]
    while pending:
        node, around = pending.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            name = f"{around}{node.name}"
            first, last = first_line(node), node.end_lineno or node.lineno
            yield Definition(name, "", numbers[first] if numbers else first, numbers[last] if numbers else last)
            if isinstance(node, ast.ClassDef):
                pending += ((child, f"{name}.") for child in node.body)
        else:
            pending += ((child, around) for block in _BLOCKS for child in getattr(node, block, ()))


_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
