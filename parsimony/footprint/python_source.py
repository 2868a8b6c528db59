"""One side of a Python file: text, syntax tree without docstrings, and where its statements lie."""

from __future__ import annotations

import ast
import gc
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from threading import Lock

from parsimony.errors import InputError
from parsimony.footprint.labels import Labels
from parsimony.footprint.python_units import Units

MAX_SOURCE_BYTES = 4 << 20
"""Most bytes of one file: a tree takes up to 500 times as much memory as its text."""

MAX_ELEMENTS = 1_500_000
"""Most words, punctuation marks and line ends of one file. Each may become a node, and all steps together take about
two kilobytes and thirty microseconds for one. Ordinary code reaches the limit of bytes first."""

_MOST_FIELD_WORK = 5_000_000_000
"""Most of the sum, over f-strings, of length times fields: what the parser of Python 3.11 takes for them is
proportional to that. One rule for all versions, so that they agree on what is measured."""

_MOST_LABELS = 1_000_000
"""How many labels a memo gathers before it starts anew."""

_PARSING = Lock()
"""Filters of warnings and the collector are those of the process: one thread at a time changes them."""

_NOT_PARSED = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
_BOM = "\ufeff"


@dataclass(slots=True)
class Memo:
    """Units and tokens of statements of one base, by the identity of their trees, for all that is compared with it.

    Attributes:
        lock: held while anything of the memo is used.
        labels, words: numbers of labels and of tokens.
        units: of a statement.
        tokens: (statement, whether it is rendered as the first of its block) -> numbers of its tokens.
    """

    lock: Lock = field(default_factory=Lock)
    labels: Labels = field(default_factory=Labels)
    words: Labels = field(default_factory=Labels)
    units: dict[int, Units] = field(default_factory=dict)
    tokens: dict[tuple[int, bool], list[int]] = field(default_factory=dict)

    def bound(self) -> None:
        """Forget everything once there is too much of it."""
        if len(self.labels) + len(self.words) > _MOST_LABELS:
            self.labels, self.words = Labels(), Labels()
            self.units.clear()
            self.tokens.clear()


@dataclass(frozen=True)
class PythonSource:
    """The text of a file and what the running interpreter's parser makes of it.

    Attributes:
        text: with "\\n" for every line end, as the parser reads it.
        statements: those of the module, docstrings taken off inside of them; None where the text does not parse.
        docstring: whether the first of the statements is the docstring of the module.
        memo: what was made of its statements so far.
    """

    text: str
    statements: Sequence[ast.stmt] | None
    docstring: bool = False
    memo: Memo = field(default_factory=Memo, repr=False, compare=False)

    @property
    def body(self) -> Sequence[ast.stmt]:
        """The statements without the docstring of the module; none where the text does not parse."""
        statements = self.statements or ()
        return statements[1:] if self.docstring else statements

    @cached_property
    def line_offsets(self) -> list[int]:
        """Where each line starts, and at the end where the text ends, each as a count of characters."""
        return line_offsets(self.text)

    @cached_property
    def first_lines(self) -> list[int]:
        """The first line of each statement, decorators included, counted from 1."""
        return [first_line(statement) for statement in self.statements or ()]


def line_offsets(text: str) -> list[int]:
    """Where each line of a text starts, and at the end where the text ends, each as a count of characters."""
    offsets = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    offsets[-1] -= 1
    return offsets


def decode(data: bytes, side: str) -> str:
    """The text of a file as it is stored, a byte order mark included.

    Raises:
        InputError: larger than `MAX_SOURCE_BYTES`, or not UTF-8 (whatever its coding line says).
    """
    if len(data) > MAX_SOURCE_BYTES:
        raise InputError(
            f"has {len(data)} bytes {side}, over the limit of {MAX_SOURCE_BYTES}", mend="leave the file out", field=side
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not UTF-8 {side}: byte 0x{data[error.start]:02x} at offset {error.start}",
            mend="only UTF-8 sources are measured",
            field=side,
        ) from None


def without_mark(text: str) -> str:
    """`text` without one byte order mark at its start."""
    return text.removeprefix(_BOM)


def unify_line_ends(text: str) -> str:
    """`text` with the line ends that the parser sees: each CR LF and each lone CR is one LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read(text: str) -> PythonSource:
    """Parse the text of a whole file."""
    text = unify_line_ends(text)
    statements = parse(text)
    if statements is None:
        return PythonSource(text, None)
    return PythonSource(text, statements, bool(statements) and is_text(statements[0]))


def parse(text: str) -> list[ast.stmt] | None:
    """The statements of `text` without the docstrings inside of them; None where the parser refuses it.

    Raises:
        InputError: it would take too long to parse, or too much memory.
    """
    _refuse_costly(text)
    with _quiet():
        try:
            module = ast.parse(text)
        except _NOT_PARSED:
            return None
        _remove_docstrings(module.body)
    return module.body


_ELEMENT = re.compile(r"\w+|\n|[^\w\s]")
_FSTRING = re.compile(
    r"""(?:[fF][rR]?|[rR][fF])(?:"{3}(?:[^"\\]|\\.|"(?!""))*+|'{3}(?:[^'\\]|\\.|'(?!''))*+"""
    r"""|"(?!"")(?:[^"\\\n]|\\.)*+|'(?!'')(?:[^'\\\n]|\\.)*+)""",
    re.DOTALL,
)


def _refuse_costly(text: str) -> None:
    """Refuse the few texts that a parser takes minutes or gigabytes for. Short ones cannot be among them."""
    if len(text) > MAX_ELEMENTS and sum(1 for _ in _ELEMENT.finditer(text)) > MAX_ELEMENTS:
        raise InputError(f"has over {MAX_ELEMENTS} words and marks", mend="leave the file out")
    if text.count("{") * len(text) <= _MOST_FIELD_WORK:
        return
    work = sum(len(found[0]) * found[0].count("{") for found in _FSTRING.finditer(text))
    if work > _MOST_FIELD_WORK:
        raise InputError("has f-strings of too many fields", mend="leave the file out")


@contextmanager
def _quiet() -> Iterator[None]:
    """No warnings of the parser (a filter could make errors of them), and no search for cycles: trees have none."""
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collects = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()


def _remove_docstrings(statements: Sequence[ast.stmt]) -> None:
    """Take off the docstring of each class and function; a second text, which becomes the first, stays."""
    pending: list[ast.AST] = list(statements)
    while pending:
        node = pending.pop()
        blocks = _BLOCKS_OF.get(node.__class__)
        if blocks is None:
            continue
        if blocks is _DEFINITION and is_text(node.body[0]):  # type: ignore[attr-defined]
            del node.body[0]  # type: ignore[attr-defined]
        for name in blocks:
            pending += getattr(node, name)


_DEFINITION = ("body",)
_BLOCK = ("body", "orelse")
_BLOCKS_OF: dict[type, tuple[str, ...]] = {
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), _DEFINITION),
    **dict.fromkeys((ast.If, ast.For, ast.AsyncFor, ast.While), _BLOCK),
    **dict.fromkeys((ast.With, ast.AsyncWith, ast.ExceptHandler, ast.match_case), _BLOCK[:1]),
    **dict.fromkeys((ast.Try, ast.TryStar), ("handlers", *_BLOCK, "finalbody")),
    ast.Match: ("cases",),
}


def is_text(statement: ast.stmt) -> bool:
    """Whether a statement is nothing but a string: a docstring, if it is the first of its block."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def first_line(statement: ast.stmt) -> int:
    """The first line of a statement, decorators included, counted from 1."""
    decorators = getattr(statement, "decorator_list", None)
    return min(decorators[0].lineno, statement.lineno) if decorators else statement.lineno
