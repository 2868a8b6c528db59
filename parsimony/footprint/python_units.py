"""Coding units of Python, track `units-v1`: one walk in source order that gives labels, nodes and branches.

A unit is one syntactic element. The walk is preorder with children in the order of the fields of `ast`; each non-empty
block of statements ends with one more unit, `EndBlock`, so that moving code in or out of a block counts. Modules,
expression statements, parameter lists, `with` items, the braces of f-strings, load/store marks and operators are no
units of their own; operators are part of what their expression is.

The walk has a stack of its own, so that no nesting that the parser took can exhaust the interpreter's.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from parsimony.footprint.labels import Labels


class Mark:
    """What the walk may find on its stack besides nodes: a unit of its own, with this label."""

    __slots__ = ("label",)

    def __init__(self, label: object) -> None:
        self.label = label


class EndBlock:
    """The label of the unit that ends a block."""


END_BLOCK = Mark(EndBlock)
BLOCKS = frozenset({"body", "orelse", "finalbody"})


@dataclass(frozen=True, slots=True)
class Units:
    """The units of some statements.

    Attributes:
        labels: numbers of the labels, in source order; `Labels.blind` gives them without identifiers and literals.
        nodes: how many nodes the trees of the statements have, as `ast.walk` counts them.
        branches: what the statements add to a cyclomatic number: functions, branches, loops, handlers, further operands
            of `and`/`or`, loops and filters of comprehensions, and cases that do not match everything.
    """

    labels: list[int]
    nodes: int
    branches: int


class Walk:
    """State of one walk, for the handlers of node types.

    Attributes:
        labels: gives numbers for labels.
        out: numbers of the units found so far.
        stack: nodes and marks still to visit; the next one is the last.
        nodes, branches: what does not follow from the kinds of the units (`_NODES`, `_BRANCHES`).
    """

    __slots__ = ("branches", "labels", "nodes", "out", "stack")

    def __init__(self, labels: Labels, statements: Sequence[ast.stmt]) -> None:
        self.labels = labels
        self.out: list[int] = []
        self.stack: list[Any] = list(reversed(statements))
        self.nodes = 0
        self.branches = 0

    def unit(self, label: object) -> None:
        """One more unit."""
        self.out.append(self.labels[label])

    def visit(self, children: Sequence[Any]) -> None:
        """Go on with `children`, in their order."""
        self.stack.extend(reversed(children))


Handler = Callable[[Any, Walk], None]


class Handlers(dict[type, Handler]):
    """What to do with each type of node. Types without a rule of their own get the general one when first met."""

    def __missing__(self, kind: type[ast.AST]) -> Handler:
        handler = self[kind] = general(kind)
        return handler


def walk(statements: Sequence[ast.stmt], labels: Labels, handlers: Handlers) -> Units:
    """The units of `statements`, whose docstrings are taken off before."""
    state = Walk(labels, statements)
    stack, emit = state.stack, state.out.append
    pop, push = stack.pop, stack.append
    nodes = 0
    while stack:
        node = pop()
        kind = node.__class__
        if kind is ast.Name:
            emit(labels[node.id])
        elif kind is ast.Constant:
            emit(labels[constant_label(node.value)])
        elif kind is ast.Attribute:
            emit(labels[(kind, node.attr)])
            push(node.value)
        elif kind is ast.Call:
            emit(labels[kind])
            if node.keywords:
                stack.extend(node.keywords[::-1])
            stack.extend(node.args[::-1])
            push(node.func)
        elif kind is ast.Expr:
            nodes += 1
            push(node.value)
        elif kind is Mark:
            emit(labels[node.label])
        else:
            handlers[kind](node, state)
    return _count(state, labels, nodes)


def _count(state: Walk, labels: Labels, nodes: int) -> Units:
    nodes += state.nodes
    branches = state.branches
    for label, count in labels.count_kinds(state.out).items():
        kind = label[0] if isinstance(label, tuple) else label
        nodes += count * (_NODES[kind] if kind in _NODES else isinstance(kind, type) and issubclass(kind, ast.AST))
        branches += count * (kind in _BRANCHES)
    return Units(state.out, nodes, branches)


_NODES: dict[object, int] = {
    **dict.fromkeys((Labels.NAME, ast.Attribute, ast.Subscript, ast.Starred, ast.List, ast.Tuple), 2),  # a context
    **dict.fromkeys((ast.BinOp, ast.UnaryOp, ast.AugAssign), 2),  # an operator
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda), 2),  # a list of parameters
    **dict.fromkeys((ast.BoolOp, ast.Global, ast.Nonlocal), 0),  # counted by their handlers
}
"""Nodes for one unit of a kind, where that is not one for a type of node and none for anything else."""

_BRANCHES = frozenset(
    {
        ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While,
        ast.ExceptHandler, ast.BoolOp, ast.comprehension,
    }
)  # fmt: skip
"""Kinds of which each unit is a branch."""


def constant_label(value: object) -> tuple[object, ...]:
    """The label of a literal. 1, 1.0 and True differ; 255 and 0xff do not."""
    kind = value.__class__
    if kind is str or kind is bytes:
        return ast.Constant, kind, value
    if kind is int:
        return ast.Constant, f"{value:x}"  # decimals of a huge number take quadratic time, and Python refuses them
    return ast.Constant, kind, repr(value)


def general(kind: type[ast.AST]) -> Handler:
    """The rule for most types: a unit with every text among its fields, then the children in order of the fields."""
    fields = tuple(name for name in kind._fields if name not in ("ctx", "type_comment"))

    def handle(node: Any, state: Walk) -> None:
        texts: list[str] = []
        children: list[Any] = []
        for name in fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                texts.extend(item for item in value if isinstance(item, str))
                children.extend(item for item in value if isinstance(item, ast.AST))
                if name in BLOCKS and value:
                    children.append(END_BLOCK)
            elif isinstance(value, str):
                texts.append(value)
            elif isinstance(value, ast.AST):
                children.append(value)
        state.unit((kind, *texts) if texts else kind)
        state.visit(children)

    return handle


def only_children(kind: type[ast.AST], *, nodes: int = 1) -> Handler:
    """The rule for types that are no units; `nodes` is 0 where the parent's unit stands for them."""
    fields = kind._fields

    def handle(node: Any, state: Walk) -> None:
        state.nodes += nodes
        children: list[Any] = []
        for name in fields:
            value = getattr(node, name, None)
            children.extend(value if isinstance(value, list) else (value,))
        state.visit([child for child in children if isinstance(child, ast.AST)])

    return handle


def _compare(node: ast.Compare, state: Walk) -> None:
    state.nodes += 1
    for operator in node.ops:
        state.unit(((ast.Compare, operator.__class__),))
    state.visit((node.left, *node.comparators))


def _bool_op(node: ast.BoolOp, state: Walk) -> None:
    state.nodes += 2
    number = state.labels[((ast.BoolOp, node.op.__class__),)]
    state.out.extend([number] * (len(node.values) - 1))
    state.visit(node.values)


def _bin_op(node: ast.BinOp, state: Walk) -> None:
    state.unit(((ast.BinOp, node.op.__class__),))
    state.stack += (node.right, node.left)


def _unary_op(node: ast.UnaryOp, state: Walk) -> None:
    state.unit(((ast.UnaryOp, node.op.__class__),))
    state.stack.append(node.operand)


def _aug_assign(node: ast.AugAssign, state: Walk) -> None:
    state.unit(((ast.AugAssign, node.op.__class__),))
    state.stack += (node.value, node.target)


def _names(node: ast.Global | ast.Nonlocal, state: Walk) -> None:
    state.nodes += 1
    for name in node.names:
        state.unit((node.__class__, name))


def _comprehension(node: ast.comprehension, state: Walk) -> None:
    state.unit(ast.comprehension)
    state.branches += len(node.ifs)
    state.visit((node.target, node.iter, *node.ifs))


def _match_case(node: ast.match_case, state: Walk) -> None:
    pattern = node.pattern
    takes_all = node.guard is None and isinstance(pattern, ast.MatchAs) and pattern.pattern is None
    state.branches += not takes_all
    _GENERAL_CASE(node, state)


_GENERAL_CASE = general(ast.match_case)


def _assign(node: ast.Assign, state: Walk) -> None:
    state.unit(ast.Assign)
    state.stack.append(node.value)
    state.visit(node.targets)


def _keyword(node: ast.keyword, state: Walk) -> None:
    state.unit((ast.keyword, node.arg) if node.arg is not None else ast.keyword)
    state.stack.append(node.value)


def _arg(node: ast.arg, state: Walk) -> None:
    state.unit((ast.arg, node.arg))
    if node.annotation is not None:
        state.stack.append(node.annotation)


def _subscript(node: ast.Subscript, state: Walk) -> None:
    state.unit(ast.Subscript)
    state.stack += (node.slice, node.value)


def _elements(node: ast.Tuple | ast.List, state: Walk) -> None:
    state.unit(node.__class__)
    state.visit(node.elts)


def _joined_str(node: ast.JoinedStr, state: Walk) -> None:
    """An f-string, without the empty texts that Python 3.12.0 and 3.12.1 put around values in a format."""
    state.unit(ast.JoinedStr)
    state.visit([part for part in node.values if not (isinstance(part, ast.Constant) and part.value == "")])


def handlers_v1() -> Handlers:
    """The rules of `units-v1`, as a table of its own."""
    return Handlers(
        {
            ast.Compare: _compare,
            ast.BoolOp: _bool_op,
            ast.BinOp: _bin_op,
            ast.UnaryOp: _unary_op,
            ast.AugAssign: _aug_assign,
            ast.Global: _names,
            ast.Nonlocal: _names,
            ast.comprehension: _comprehension,
            ast.match_case: _match_case,
            ast.arguments: only_children(ast.arguments, nodes=0),
            ast.withitem: only_children(ast.withitem),
            ast.FormattedValue: only_children(ast.FormattedValue),
            ast.JoinedStr: _joined_str,
            # The general rule gives the same for these, in more time.
            ast.Assign: _assign,
            ast.keyword: _keyword,
            ast.arg: _arg,
            ast.Subscript: _subscript,
            ast.Tuple: _elements,
            ast.List: _elements,
        }
    )
