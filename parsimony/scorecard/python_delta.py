"""One version of a Python file read by what differs from another: many candidates change a few lines of one base.

Only the statements around the changed lines are parsed and compiled, in the module or in the class that they stand in;
the rest is known from the base. What is read so is what reading the whole file gives (a property test compares them);
where that is not certain beforehand, the whole file is read.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import TypeGuard

from parsimony.scorecard.outline import Definition, Outline
from parsimony.scorecard.python_outline import REFUSED, compiles, definitions, quiet, span

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True, slots=True)
class Block:
    """The statements of the module or of a class, by their lines (first and last), and the classes among them.

    Statements that share a line are one.

    Attributes:
        around: qualified name of the class with a dot, "" for the module.
        indent: what its lines start with.
    """

    around: str
    indent: str
    spans: tuple[tuple[int, int], ...]
    classes: tuple[Block | None, ...]


@dataclass(frozen=True, slots=True)
class PythonBase:
    """A file that others are compared with: it parses and compiles.

    Attributes:
        lines: as patches count them, with their ends.
        flags: of the compiler, by the file's imports from `__future__`; opening: the last line of these, 0 without any.
            Nothing but comments and a docstring may stand before them.
    """

    lines: list[str]
    outline: Outline
    block: Block
    flags: int
    opening: int


def read_base(text: str, module: ast.Module, outline: Outline) -> PythonBase | None:
    """The base of a file that was parsed and compiles; None where its lines or scopes hang together in ways that are
    not handled here."""
    imports = [node for node in module.body if _is_future(node)]
    flags = sum({getattr(__future__, alias.name).compiler_flag for node in imports for alias in node.names})
    if not _simple(text) or _binds_outside(module) or flags & __future__.barry_as_FLUFL.compiler_flag:
        return None
    lines = _split(text)
    return PythonBase(lines, outline, _block(module.body, "", lines), flags, span(imports[-1])[1] if imports else 0)


def _simple(text: str) -> bool:
    """Whether lines of the parser are those of patches, and indented as it seems."""
    return "\r" not in text.replace("\r\n", "") and "\0" not in text and "\f" not in text


def _split(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [line + "\n" for line in lines] + ([last] if last else [])


def _binds_outside(tree: ast.AST) -> bool:
    """Whether `global` or `nonlocal` stands outside of functions, which ties statements of a block together."""
    pending = list(ast.iter_child_nodes(tree))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            return True
        if not isinstance(node, _FUNCTIONS) and isinstance(node, (ast.stmt, ast.excepthandler, ast.match_case)):
            pending += ast.iter_child_nodes(node)
    return False


def _is_future(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _block(body: Sequence[ast.stmt], around: str, lines: Sequence[str]) -> Block:
    spans: list[tuple[int, int]] = []
    classes: list[Block | None] = []
    for node in body:
        first, last = span(node)
        if spans and first <= spans[-1][1]:
            spans[-1], classes[-1] = (spans[-1][0], last), None
            continue
        spans.append((first, last))
        descend = isinstance(node, ast.ClassDef) and node.body[0].lineno > node.lineno
        classes.append(_block(node.body, f"{around}{node.name}.", lines) if descend else None)  # type: ignore[attr-defined]
    return Block(around, _indent(lines[spans[0][0] - 1]) if spans else "", tuple(spans), tuple(classes))


def _indent(line: str) -> str:
    return "".join(takewhile(lambda sign: sign in " \t", line))


def read_after(base: PythonBase, text: str) -> tuple[Outline, bool] | None:
    """The outline of another version of `base` and whether it compiles; None where the whole file must be read."""
    if not _simple(text):
        return None
    lines = _split(text)
    same = _common(base.lines, lines)
    rest = _common(base.lines[same:][::-1], lines[same:][::-1])
    found = _region(base.block, same + 1, len(base.lines) - rest, len(base.lines))
    if found is None:
        return None
    block, first, last = found
    if first <= base.opening or (first > 1 and lines[first - 2].rstrip().endswith("\\")):
        return None
    shift = len(lines) - len(base.lines)
    with quiet():
        region = _parsed(block, lines[first - 1 : last + shift])
        if region is None:
            return None
        compiled = compiles(region, base.flags)
    body = region.body[0].body if block.around and isinstance(region.body[0], ast.ClassDef) else region.body
    inside = list(definitions(body, block.around, None, first - (2 if block.around else 1)))
    return Outline(tuple(_moved(base.outline, first, last, shift, inside))), compiled


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items are the same from the start."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            return count
        count += 1
    return count


def _region(block: Block, first: int, last: int, end: int) -> tuple[Block, int, int] | None:
    """The innermost block around the changed lines, and the lines of its statements that they may concern.

    Args:
        first, last: changed lines of the base; `last` is `first` − 1 where lines are only put in.
        end: the last line of the file.
    """
    spans = block.spans
    touched = [index for index, (start, stop) in enumerate(spans) if start <= last and first <= stop]
    if len(touched) == 1:
        inner = block.classes[touched[0]]
        if inner is not None and inner.spans[0][0] <= first and last < inner.spans[-1][0]:
            found = _region(inner, first, last, end)
            if found is not None:
                return found
    before = max((start for start, stop in spans if stop < first), default=spans[0][0] if block.around else 1)
    after = min((stop for start, stop in spans if start > last), default=None if block.around else end)
    # A change at the border of a statement may belong to its neighbour: it goes on, or wants what follows.
    if touched and spans[touched[0]][0] < first:
        before = spans[touched[0]][0]
    if touched and last < spans[touched[-1]][1]:
        after = spans[touched[-1]][1]
    return None if after is None else (block, before, after)


def _parsed(block: Block, region: Sequence[str]) -> ast.Module | None:
    """The statements of a region, within a class where they stand in one; None where only the whole file can tell."""
    code = next((line for line in region if line.strip() and not line.lstrip().startswith("#")), "")
    if _indent(code) != block.indent:
        return None
    try:
        module = ast.parse(("class _:\n" if block.around else "") + "".join(region))
    except REFUSED:
        return None
    if block.around and len(module.body) != 1:
        return None
    return None if any(map(_is_future, module.body)) or _binds_outside(module) else module


def _moved(outline: Outline, first: int, last: int, shift: int, inside: Sequence[Definition]) -> Iterator[Definition]:
    """The definitions of the base around a region, those below it moved, and those of the new region."""
    for one in outline.definitions:
        if one.last < first:
            yield one
        elif one.first > last:
            yield Definition(one.name, one.space, one.first + shift, one.last + shift)
        elif one.first < first:  # a class around the region: what ends it stands below, or is its end
            yield Definition(one.name, one.space, one.first, one.last + shift)
    yield from inside
