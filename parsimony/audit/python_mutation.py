"""Mutation operators on Python source (`parsimony.audit.mutation`), by its syntax tree."""

from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Collection, Iterator
from typing import Final

from parsimony.audit.mutation import Mutation, check_size, short
from parsimony.errors import InputError

_COMPARISONS: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.GtE, ast.LtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.LtE, ast.GtE),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_DROPPED: Final = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise, ast.Delete, ast.Break, ast.Continue)


def mutations(source: bytes, lines: Collection[int]) -> list[Mutation]:
    """Every mutation of a node that stands whole on `lines` (from 1), in the order of the source.

    Mutants that do not compile, that read back as the same program, or that are the same as another one are left out.

    Raises:
        InputError: the source is no Python that this interpreter reads, or too large.
    """
    check_size(source)
    tree = _parsed(source)
    if tree is None:
        raise InputError("is no Python that this interpreter reads", mend="audit it with a version that does")
    starts = _line_starts(source)
    seen = {ast.dump(tree)}
    found = []
    for operator, node, new in _changes(tree, frozenset(lines)):
        span = _span(node, starts)
        text = new if isinstance(new, str) else f"({ast.unparse(new)})"
        mutated = source[: span[0]] + text.encode() + source[span[1] :]
        again = _parsed(mutated)
        if again is None or (dump := ast.dump(again)) in seen:
            continue
        seen.add(dump)
        was = source[span[0] : span[1]].decode("utf-8", "replace")
        found.append(Mutation(operator, node.lineno, short(was), short(text), mutated))
    return sorted(found, key=lambda one: one.line)


Located = ast.expr | ast.stmt
Change = tuple[str, Located, ast.expr | str]


def _changes(tree: ast.Module, lines: frozenset[int]) -> Iterator[Change]:
    """What could be changed: operator, the node that is replaced, and what stands there instead."""
    silent = _in_formatted(tree) | _documentation(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.expr | ast.stmt) or node in silent:
            continue
        if isinstance(node, ast.If | ast.While | ast.IfExp) and node.test.lineno in lines and _needs_not(node.test):
            yield "negate-condition", node.test, ast.UnaryOp(ast.Not(), node.test)
        if not lines.issuperset(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
            continue
        yield from _of_expression(node) if isinstance(node, ast.expr) else _of_statement(node)


def _needs_not(test: ast.expr) -> bool:
    """Whether no other operator negates a condition already."""
    return not isinstance(test, ast.Compare | ast.UnaryOp) or (isinstance(test, ast.Compare) and len(test.ops) > 1)


def _of_expression(node: ast.expr) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=[only]):
            for other in _COMPARISONS[type(only)]:
                name = "boundary" if {type(only), other} in ({ast.Lt, ast.LtE}, {ast.Gt, ast.GtE}) else "comparison"
                yield name, node, _with(node, ops=[other()])
        case ast.BoolOp():
            yield "connective", node, _with(node, op=ast.And() if isinstance(node.op, ast.Or) else ast.Or())
            for number in range(len(node.values)):
                rest = [value for index, value in enumerate(node.values) if index != number]
                yield "drop-operand", node, rest[0] if len(rest) == 1 else _with(node, values=rest)
        case ast.UnaryOp(op=ast.Not()):
            yield "drop-not", node, node.operand
        case ast.BinOp() if type(node.op) in _ARITHMETIC:
            yield "arithmetic", node, _with(node, op=_ARITHMETIC[type(node.op)]())
        case ast.Constant(value=bool() as value):
            yield "constant", node, ast.Constant(not value)
        case ast.Constant(value=int() | float() as number):
            yield "constant", node, ast.Constant(number + 1)
        case ast.Constant(value=str() as words):
            yield "constant", node, ast.Constant(words[:-1] if words else "mutant")
        case ast.Constant(value=bytes() as data):
            yield "constant", node, ast.Constant(data[:-1] if data else b"mutant")
        case ast.Call(args=[first, *_]) if not isinstance(first, ast.Starred):
            yield "drop-call", node, first
        case _:
            return


def _of_statement(node: ast.stmt) -> Iterator[Change]:
    match node:
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield "return-none", value, ast.Constant(None)
        case _ if isinstance(node, _DROPPED):
            yield "drop-statement", node, "pass"
        case _:
            return


def _with(node: ast.expr, **fields: object) -> ast.expr:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _in_formatted(tree: ast.Module) -> set[ast.AST]:
    """Everything inside of f-strings: before Python 3.12 its places are not those of the source."""
    return {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}


def _documentation(tree: ast.Module) -> set[ast.AST]:
    """Texts that stand alone, docstrings among them, and annotations: no test can tell them apart."""
    found: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found |= {node, node.value}
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            if isinstance(part, ast.AST):
                found.update(ast.walk(part))
    return found


def _parsed(source: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():  # what the compiler thinks of a project's escapes is not our business
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            compile(tree, "<mutant>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree


def _line_starts(source: bytes) -> list[int]:
    """Offset of each line, by what Python calls a line."""
    starts, offset = [0], 0
    for line in source.splitlines(keepends=True):
        offset += len(line)
        starts.append(offset)
    return starts


def _span(node: Located, starts: list[int]) -> tuple[int, int]:
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset or 0
    return starts[node.lineno - 1] + node.col_offset, starts[end_line - 1] + end_column
