"""Mutation operators on JavaScript and TypeScript (`parsimony.audit.mutation`), by ranges of bytes in the tree that
tree-sitter reads.

An expression that is put elsewhere gets parentheses where it could bind in another way. What cannot stand at the
beginning of a statement is left out there: a line that begins with a parenthesis goes on with the one before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from parsimony.audit.mutation import Mutation, short
from parsimony.audit.script_source import TYPED, TYPES, Script, Tokens, names, read_script, reader

if TYPE_CHECKING:
    from tree_sitter import Node

_COMPARISONS: Final = {
    "==": ("!=",), "!=": ("==",), "===": ("!==",), "!==": ("===",),
    "<": (">=", "<="), "<=": (">", "<"), ">": ("<=", ">="), ">=": ("<", ">"),
}  # fmt: skip
_BOUNDARIES: Final = frozenset({("<", "<="), ("<=", "<"), (">", ">="), (">=", ">")})
_RELATIONS: Final = frozenset({"in", "instanceof"})
_CONNECTIVES: Final = {"&&": "||", "||": "&&", "??": "&&"}
_ARITHMETIC: Final = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "**": "*", "&": "|", "|": "&", "<<": ">>", ">>": "<<",
    ">>>": "<<",
}  # fmt: skip
_LEVELS: Final = {"*": 1, "/": 1, "%": 1, "+": 2, "-": 2, "<<": 3, ">>": 3, ">>>": 3}
"""Operators that bind as each other."""
_CONDITIONS: Final = names("if_statement while_statement do_statement for_statement ternary_expression")
_DROPPED: Final = names("expression_statement throw_statement break_statement continue_statement")
_SILENT: Final = TYPES | {"import_statement", "comment"}
_TIGHT: Final = names(
    "identifier this string template_string true false null undefined array object call_expression member_expression"
    " subscript_expression parenthesized_expression"
)
"""Expressions that nothing beside them takes apart."""
_OPERATORS: Final = frozenset({"binary_expression", *TYPED})
_LARGEST: Final = 1e300
_OPENERS: Final = ("(", "[", "{", "/", "+", "-", "`", "function", "class", "async", "let")


@dataclass(frozen=True, slots=True)
class _Change:
    """Bytes from `start` to `end` become `text`. `at` is the node that the change is about."""

    operator: str
    at: Node
    start: int
    end: int
    text: str


def mutator(suffix: str) -> Callable[[bytes, Collection[int]], list[Mutation]]:
    """The operators for files of one suffix (`parsimony.audit.mutation.Mutator`)."""

    def mutations(source: bytes, lines: Collection[int], /) -> list[Mutation]:
        script, read = read_script(suffix, source), reader(suffix)
        tokens = Tokens(script)
        seen = {tokens.digest()}
        found = []
        for change in _Finder(script, frozenset(lines)).changes():
            text = _apart(source, change)
            mutated = source[: change.start] + text + source[change.end :]
            again = read(mutated)
            if again is None:
                continue
            digest = tokens.digest_with(change.start, change.end, again, len(text))
            if digest in seen:
                continue
            seen.add(digest)
            was = source[change.start : change.end].decode("utf-8", "replace")
            now = change.text or "nothing"
            found.append(Mutation(change.operator, change.at.start_point[0] + 1, short(was), short(now), mutated))
        return sorted(found, key=lambda one: one.line)

    return mutations


def _apart(source: bytes, change: _Change) -> bytes:
    """The new text, with blanks where it would grow together with a word beside it."""
    text = change.text.encode()
    before, after = source[: change.start][-1:], source[change.end :][:1]
    return b" " * _joins(before, text[:1] or after) + text + b" " * (bool(text) and _joins(text[-1:], after))


def _joins(left: bytes, right: bytes) -> bool:
    return all(one.isalnum() or one in {b"_", b"$"} or one >= b"\x80" for one in (left, right))


class _Place(Enum):
    """What begins with a node."""

    STATEMENT = auto()
    ARROW_BODY = auto()
    NOTHING = auto()

    def allowed(self, text: str) -> str | None:
        """A text as it may stand there; None where it would not be read as an expression of its own."""
        if self is _Place.STATEMENT and text.startswith(_OPENERS):
            return None
        return f"({text})" if self is _Place.ARROW_BODY and text.startswith("{") else text

    def inside(self, node: Node, child: Node) -> _Place:
        """Of a part of a node at this place."""
        if node.type == "arrow_function" and child == node.child_by_field_name("body"):
            return _Place.ARROW_BODY
        if child.start_byte != node.start_byte:
            return _Place.NOTHING
        return _Place.STATEMENT if node.type == "expression_statement" else self


@dataclass(frozen=True, slots=True)
class _Spot:
    """A node with what is above it, which a tree would have to search for each time."""

    node: Node
    place: _Place
    around: str
    is_condition: bool


class _Finder:
    """What could be changed in a source."""

    def __init__(self, script: Script, lines: frozenset[int]) -> None:
        self._script = script
        self._lines = lines

    def changes(self) -> Iterator[_Change]:
        """All changes, in the order of the nodes. Without recursion: trees are as deep as a file makes them."""
        pending = [_Spot(self._script.root, _Place.NOTHING, "", False)]
        while pending:
            spot = pending.pop()
            node = spot.node
            if node.type in _SILENT:
                continue
            condition = node.child_by_field_name("condition")
            if node.type in _CONDITIONS:
                yield from self._condition(condition)
            if node.type == "binary_expression":
                yield from self._operands(spot)
            if self._inside(node):
                yield from self._of(spot)
            pending += [
                _Spot(child, spot.place.inside(node, child), node.type, child == condition)
                for child in reversed(_parts(node, self._script))
            ]

    def _inside(self, node: Node) -> bool:
        return self._lines.issuperset(range(node.start_point[0] + 1, node.end_point[0] + 2))

    def _of(self, spot: _Spot) -> Iterator[_Change]:
        node = spot.node
        match node.type:
            case "binary_expression":
                yield from self._operator(spot)
            case "unary_expression" if node.children[0].type == "!":
                yield from _replaced("drop-not", spot, self._tight(node.children[-1]))
            case "true" | "false":
                yield from _replaced("constant", spot, "false" if node.type == "true" else "true")
            case "number":
                yield from _replaced("constant", spot, _next_number(self._script.text(node)))
            case "string" | "template_string":
                yield from _replaced("constant", spot, self._shorter(node))
            case "call_expression" | "new_expression":
                yield from self._call(spot)
            case "return_statement" | "arrow_function":
                yield from self._returned(node)
            case kind if kind in _DROPPED and not _is_directive(node) and not spot.is_condition:
                yield _Change("drop-statement", node, node.start_byte, node.end_byte, ";")

    def _condition(self, test: Node | None) -> Iterator[_Change]:
        if test is not None and test.type in {"parenthesized_expression", "expression_statement"}:
            test = next((child for child in test.named_children if child.type != "comment"), None)
        if test is None or test.type == "empty_statement" or test.start_point[0] + 1 not in self._lines:
            return
        negated = test.type == "binary_expression" and _operator_of(test).type in {*_COMPARISONS, *_RELATIONS}
        if not negated and not (test.type == "unary_expression" and test.children[0].type == "!"):
            yield _Change("negate-condition", test, test.start_byte, test.end_byte, f"!({self._script.text(test)})")

    def _operator(self, spot: _Spot) -> Iterator[_Change]:
        operator = _operator_of(spot.node)
        old = operator.type
        for new in _COMPARISONS.get(old, ()):
            name = "boundary" if (old, new) in _BOUNDARIES else "comparison"
            yield from self._with_operator(name, spot, operator, new)
        if old in _RELATIONS:
            yield from _replaced("comparison", spot, f"!({self._script.text(spot.node)})")
        if old in _CONNECTIVES:
            yield from self._with_operator("connective", spot, operator, _CONNECTIVES[old])
        if old in _ARITHMETIC:
            yield from self._with_operator("arithmetic", spot, operator, _ARITHMETIC[old])

    def _with_operator(self, name: str, spot: _Spot, operator: Node, new: str) -> Iterator[_Change]:
        node = spot.node
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        data, old = self._script.data, operator.type
        before = data[left.end_byte : operator.start_byte].decode("utf-8", "replace")
        after = data[operator.end_byte : right.start_byte].decode("utf-8", "replace")
        if old in _COMPARISONS or _LEVELS.get(old, old) == _LEVELS.get(new, new):
            text = self._script.text(left) + before + new + after + self._script.text(right)
        else:
            text = self._tight(left) + before + new + after + self._tight(right)
            if spot.around in _OPERATORS:
                text = f"({text})"
        yield from _replaced(name, spot, text)

    def _operands(self, spot: _Spot) -> Iterator[_Change]:
        """Each operand of a chain of connectives is dropped once, where it stands on the lines itself."""
        node = spot.node
        operator, left, right = _operator_of(node), node.child_by_field_name("left"), node.child_by_field_name("right")
        if operator.type not in _CONNECTIVES or left is None or right is None:
            return
        if self._inside(right):
            yield _Change("drop-operand", right, left.end_byte, right.end_byte, "")
        is_chain = left.type == "binary_expression" and _operator_of(left).type == operator.type
        rest = self._script.text(right)
        if self._inside(left) and not is_chain and spot.place.allowed(rest) == rest:
            yield _Change("drop-operand", left, left.start_byte, right.start_byte, "")

    def _call(self, spot: _Spot) -> Iterator[_Change]:
        node = spot.node
        called = node.child_by_field_name("function") or node.child_by_field_name("constructor")
        arguments = node.child_by_field_name("arguments")
        if called is None or arguments is None or arguments.type != "arguments" or called.type in {"super", "import"}:
            return
        first = next((child for child in arguments.named_children if child.type != "comment"), None)
        if first is not None and first.type != "spread_element" and not _is_require(node, self._script):
            yield from _replaced("drop-call", spot, self._tight(first))

    def _returned(self, node: Node) -> Iterator[_Change]:
        if node.type == "arrow_function":
            value = node.child_by_field_name("body")
        else:
            value = next((child for child in node.named_children if child.type != "comment"), None)
        if value is not None and value.type not in {"statement_block", "undefined"}:
            yield _Change("return-none", value, value.start_byte, value.end_byte, "undefined")

    def _tight(self, node: Node) -> str:
        text = self._script.text(node)
        return text if node.type in _TIGHT and "?." not in text else f"({text})"

    def _shorter(self, node: Node) -> str | None:
        """A text without its last character; None for what the program takes apart itself."""
        parts = node.named_children
        if any(part.type not in {"string_fragment", "escape_sequence"} for part in parts):
            return None
        whole = self._script.text(node)
        if not parts:
            return f"{whole[:1]}mutant{whole[-1:]}" if len(whole) == 2 else None
        last = self._script.text(parts[-1])
        kept = "" if parts[-1].type == "escape_sequence" else last[:-1]
        return whole[: -1 - len(last)] + kept + whole[-1:]


def _replaced(operator: str, spot: _Spot, text: str | None) -> Iterator[_Change]:
    """One node by a text; nothing where there is no text, or where it would mean something else."""
    allowed = None if text is None else spot.place.allowed(text)
    if allowed is not None:
        yield _Change(operator, spot.node, spot.node.start_byte, spot.node.end_byte, allowed)


def _parts(node: Node, script: Script) -> list[Node]:
    """What of a node may be changed: not its types, nor what names a module or is taken as it is written."""
    if node.type in TYPED:
        return node.named_children[:1]
    if node.type == "export_statement":
        return [child for child in node.children if child != node.child_by_field_name("source")]
    if node.type == "jsx_attribute":
        return [child for child in node.children if child.type != "string"]
    if node.type == "call_expression" and _is_require(node, script):
        return []
    quoted = node.child_by_field_name("arguments")
    if quoted is not None and quoted.type == "template_string":
        return [child for child in node.children if child != quoted] + quoted.named_children
    return [] if _is_directive(node) else node.children


def _is_require(node: Node, script: Script) -> bool:
    called = node.child_by_field_name("function")
    return called is not None and (called.type == "import" or script.text(called) in {"require", "require.resolve"})


def _is_directive(node: Node) -> bool:
    """`"use strict"` and other texts that stand alone."""
    return node.type == "expression_statement" and [child.type for child in node.named_children] == ["string"]


def _operator_of(node: Node) -> Node:
    operator = node.child_by_field_name("operator")
    assert operator is not None, "every binary expression of the grammars has one"
    return operator


def _next_number(text: str) -> str | None:
    """The number after this one; None where there is none, or where the text is octal of old."""
    plain = text.replace("_", "").lower()
    if plain.endswith("n"):
        return f"{int(plain[:-1], 0) + 1}n"
    if plain[:2] in {"0x", "0o", "0b"}:
        value: float = int(plain, 0)
    elif plain.isdecimal():
        if plain[0] == "0" < plain[1:]:
            return None
        value = int(plain)
    else:
        value = float(plain)
    following = value + 1
    if value > _LARGEST or float(following) == float(value):
        return None
    return repr(following)
