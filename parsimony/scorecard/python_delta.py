"""One version of a Python file read by what differs from another: many candidates change a few lines of one base.

Only the statements around the changed lines are parsed and compiled, in the module or in the class that they stand in;
the rest is known from the base. What is read so is what reading the whole file gives (a property test compares them);
where that is not certain beforehand, the whole file is read.
"""

from __future__ import annotations
import __future__

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import accumulate, takewhile
from typing import NamedTuple, TypeGuard

from parsimony.scorecard.outline import Definition, Outline
from parsimony.scorecard.python_outline import REFUSED, compiles, definitions, quiet, span

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Window(NamedTuple):
    """Lines of the base, counted from 1, that others take the place of. `last` is `first` − 1 where lines are only put
    in; `growth` is how many lines there are more."""

    first: int
    last: int
    growth: int


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
class Region:
    """Statements of one block that are read anew: their lines in the base, and the change within."""

    block: Block
    first: int
    last: int
    window: Window

    @property
    def growth(self) -> int:
        """How many lines there are more than in the base."""
        return self.window.growth


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
    return StringIO(text, newline="\n").readlines()


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


def read_after(base: PythonBase, text: str, windows: Sequence[Window] = ()) -> tuple[Outline, bool] | None:
    """The outline of another version of `base` and whether it compiles; None where the whole file must be read.

    Args:
        windows: what differs, in the order of the lines; without it, all from the first line that differs to the last.
    """
    if not _simple(text):
        return None
    lines = _split(text)
    regions = _regions(base, windows if _agree(base.lines, lines, windows) else _window(base.lines, lines))
    if regions is None:
        return None
    inside: list[Definition] = []
    compiled, shift = True, 0
    with quiet():
        for region in regions:
            start = region.first + shift
            shift += region.growth
            module = _parsed(region.block, lines[start - 1 : region.last + shift])
            if module is None:
                return None
            compiled = compiled and compiles(module, base.flags)
            inside += _inside(module, region.block, start)
    return Outline(tuple(_moved(base.outline, regions, inside))), compiled


def _agree(old: Sequence[str], new: Sequence[str], windows: Sequence[Window]) -> bool:
    """Whether both versions are the same but for the windows."""
    at, shift = 0, 0
    for window in windows:
        if old[at : window.first - 1] != new[at + shift : window.first - 1 + shift]:
            return False
        at, shift = window.last, shift + window.growth
    return bool(windows) and old[at:] == new[at + shift :]


def _window(old: Sequence[str], new: Sequence[str]) -> list[Window]:
    """All that differs as one window."""
    same = _common(old, new)
    rest = _common(old[same:][::-1], new[same:][::-1])
    return [Window(same + 1, len(old) - rest, len(new) - len(old))]


def _regions(base: PythonBase, windows: Sequence[Window]) -> list[Region] | None:
    """The regions around windows, none over another; None where only the whole file can tell."""
    found: list[Region] = []
    for window in windows:
        region = _region(base.block, window, len(base.lines))
        while found and region is not None and found[-1].last >= region.first:
            other = found.pop()
            both = Window(other.window.first, region.window.last, other.growth + region.growth)
            region = _region(base.block, both, len(base.lines))
        if region is None or region.first <= base.opening:
            return None
        if region.first > 1 and base.lines[region.first - 2].rstrip().endswith("\\"):
            return None
        found.append(region)
    return found


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items are the same from the start."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            return count
        count += 1
    return count


def _region(block: Block, window: Window, end: int) -> Region | None:
    """The innermost block around the changed lines, and the lines of its statements that they may concern.

    Args:
        end: the last line of the file.
    """
    spans, first, last = block.spans, window.first, window.last
    touched = [index for index, (start, stop) in enumerate(spans) if start <= last and first <= stop]
    if len(touched) == 1:
        inner = block.classes[touched[0]]
        if inner is not None and inner.spans[0][0] <= first and last < inner.spans[-1][0]:
            return _region(inner, window, end)
    before = max((start for start, stop in spans if stop < first), default=spans[0][0] if block.around else 1)
    after = min((stop for start, stop in spans if start > last), default=None if block.around else end)
    # A change at the border of a statement may belong to its neighbour: it goes on, or wants what follows.
    if touched and spans[touched[0]][0] < first:
        before = spans[touched[0]][0]
    if touched and last < spans[touched[-1]][1]:
        after = spans[touched[-1]][1]
    return None if after is None else Region(block, before, after, window)


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


def _inside(module: ast.Module, block: Block, start: int) -> Iterator[Definition]:
    """The definitions of a parsed region that starts at the line `start`."""
    head = module.body[0] if block.around else None
    if isinstance(head, ast.ClassDef):
        return definitions(head.body, block.around, None, start - 2)
    return definitions(module.body, "", None, start - 1)


def _moved(outline: Outline, regions: Sequence[Region], inside: Sequence[Definition]) -> Iterator[Definition]:
    """The definitions of the base outside of the regions, at their new lines, and those of the new regions."""
    ends = [region.last for region in regions]
    shifts = list(accumulate((region.growth for region in regions), initial=0))
    start = regions[0].first
    for one in outline.definitions:
        if one.last < start:
            yield one
            continue
        index = bisect_left(ends, one.first)
        if index < len(regions) and regions[index].first <= one.first and one.last <= regions[index].last:
            continue
        # A class around regions may end with the last of them: the lines of both move by what grew until there.
        below = bisect_right(ends, one.last)
        up, down = shifts[index], shifts[below]
        yield Definition(one.name, one.space, one.first + up, one.last + down) if up or down else one
    yield from inside
