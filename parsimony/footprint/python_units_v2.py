"""Coding units of Python, track `units-v2`: `units-v1`, and the edits that cost nothing there.

Where order can tell, nothing is added: a slice stands between its bounds, and a default after its parameter. Else a
label says more (the dots of an import, the stars of a parameter, `finally`, the value of a constant pattern, `async` of
a comprehension, the brackets around an annotated name), or there is one unit more: `/` and `*` between parameters, `=`
before a default, the second colon of a slice, the conversion of a value in an f-string.
"""

from __future__ import annotations

import ast
from typing import Any

from parsimony.footprint.python_units import END_BLOCK, EndBlock, Handlers, Mark, Walk, handlers_v1


class PositionalOnly:
    """The label of `/` between parameters."""


class KeywordOnly:
    """The label of a `*` of its own between parameters."""


class Default:
    """The label of `=` between a parameter and its default."""


class StepColon:
    """The label of the second colon of a slice."""


class Conversion:
    """The label of `!r`, `!s` or `!a` in an f-string."""


_SLASH = Mark(PositionalOnly)
_STAR = Mark(KeywordOnly)
_EQUALS = Mark(Default)
_SLICE = Mark(ast.Slice)
_STEP = Mark(StepColon)
_END_FINALLY = Mark(((EndBlock, "finally"),))
_CONVERSIONS = {ord(letter): Mark((Conversion, letter)) for letter in "rsa"}


def _arguments(node: ast.arguments, state: Walk) -> None:
    """Parameters in the order of the source, each with its annotation and then its default."""
    positional = [*node.posonlyargs, *node.args]
    without = len(positional) - len(node.defaults)
    items: list[Any] = []
    for index, parameter in enumerate(positional):
        items.append(parameter)
        if index >= without:
            items += (_EQUALS, node.defaults[index - without])
        if index + 1 == len(node.posonlyargs):
            items.append(_SLASH)
    if node.vararg is not None:
        items += _starred("*", node.vararg)
    elif node.kwonlyargs:
        items.append(_STAR)
    for parameter, default in zip(node.kwonlyargs, node.kw_defaults, strict=True):
        items += (parameter,) if default is None else (parameter, _EQUALS, default)
    if node.kwarg is not None:
        items += _starred("**", node.kwarg)
    state.visit(items)


def _starred(stars: str, parameter: ast.arg) -> list[Any]:
    mark = Mark(((ast.arg, stars), parameter.arg))
    return [mark] if parameter.annotation is None else [mark, parameter.annotation]


def _slice(node: ast.Slice, state: Walk) -> None:
    items: list[Any] = [node.lower] if node.lower is not None else []
    items.append(_SLICE)
    if node.upper is not None:
        items.append(node.upper)
    if node.step is not None:
        items += (_STEP, node.step)
    state.visit(items)


def _import_from(node: ast.ImportFrom, state: Walk) -> None:
    state.unit((ast.ImportFrom, "." * node.level + (node.module or "")))
    state.visit(node.names)


def _formatted_value(node: ast.FormattedValue, state: Walk) -> None:
    state.nodes += 1
    items: list[Any] = [node.value]
    if node.conversion in _CONVERSIONS:
        items.append(_CONVERSIONS[node.conversion])
    if node.format_spec is not None:
        items.append(node.format_spec)
    state.visit(items)


def _try(node: ast.Try | ast.TryStar, state: Walk) -> None:
    state.unit(node.__class__)
    items: list[Any] = [*node.body, END_BLOCK, *node.handlers]
    if node.orelse:
        items += (*node.orelse, END_BLOCK)
    if node.finalbody:
        items += (*node.finalbody, _END_FINALLY)
    state.visit(items)


def _singleton(node: ast.MatchSingleton, state: Walk) -> None:
    state.unit((ast.MatchSingleton, repr(node.value)))


def _comprehension(node: ast.comprehension, state: Walk) -> None:
    state.unit(((ast.comprehension, "async"),) if node.is_async else ast.comprehension)
    state.branches += len(node.ifs)
    state.visit((node.target, node.iter, *node.ifs))


def _ann_assign(node: ast.AnnAssign, state: Walk) -> None:
    bracketed = isinstance(node.target, ast.Name) and not node.simple
    state.unit(((ast.AnnAssign, "brackets"),) if bracketed else ast.AnnAssign)
    state.visit([item for item in (node.target, node.annotation, node.value) if item is not None])


def handlers_v2() -> Handlers:
    """The rules of `units-v2`, as a table of its own."""
    handlers = handlers_v1()
    handlers.update(
        {
            ast.arguments: _arguments,
            ast.Slice: _slice,
            ast.ImportFrom: _import_from,
            ast.FormattedValue: _formatted_value,
            ast.Try: _try,
            ast.TryStar: _try,
            ast.MatchSingleton: _singleton,
            ast.comprehension: _comprehension,
            ast.AnnAssign: _ann_assign,
        }
    )
    return handlers
