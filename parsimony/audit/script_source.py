"""JavaScript and TypeScript as tree-sitter reads them: the tree of a source, its tokens, and the places where it holds
code. The grammars are wheels of the extra `languages`."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib import import_module
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from parsimony.audit.mutation import check_size
from parsimony.errors import InputError

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_JAVASCRIPT: Final = ("tree_sitter_javascript", "language")
_TYPESCRIPT: Final = ("tree_sitter_typescript", "language_typescript")
_GRAMMARS: Final = {
    **dict.fromkeys((".js", ".cjs", ".mjs", ".jsx"), _JAVASCRIPT),
    **dict.fromkeys((".ts", ".cts", ".mts"), _TYPESCRIPT),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
}


def names(text: str) -> frozenset[str]:
    """Kinds of nodes, divided by blanks."""
    return frozenset(text.split())


SUFFIXES: Final = frozenset(_GRAMMARS)
"""Of the files that are read."""

TYPES: Final = names(
    "type_annotation type_arguments type_parameters interface_declaration type_alias_declaration literal_type"
    " ambient_declaration implements_clause extends_type_clause function_signature method_signature index_signature"
    " abstract_method_signature asserts_annotation type_predicate_annotation opting_type_annotation"
    " omitting_type_annotation"
)
"""Nodes that only the type checker reads."""

TYPED: Final = frozenset({"as_expression", "satisfies_expression"})
"""An expression first, then a type."""

_FUNCTIONS: Final = names(
    "function_declaration generator_function_declaration function_expression generator_function arrow_function"
    " method_definition"
)
_NO_CODE: Final = names(
    "{ } ( ) [ ] , ; : . ?. => ` else try finally do default catch static comment"
    " html_comment hash_bang_line statement_identifier"
)


@dataclass(frozen=True, slots=True)
class Script:
    """A source that was read without an error.

    Attributes:
        data: as it is written.
        root: of its tree.
    """

    data: bytes
    root: Node

    def text(self, node: Node) -> str:
        """A node as it is written."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def is_script(path: str) -> bool:
    """Whether a file is JavaScript or TypeScript that can be executed, by its name."""
    pure = PurePosixPath(path)
    return pure.suffix in SUFFIXES and not pure.stem.endswith(".d")


def read_script(suffix: str, data: bytes) -> Script:
    """The tree of a source.

    Raises:
        InputError: it is too large, is no source, or its grammar is not installed.
    """
    check_size(data)
    read = reader(suffix)
    if b"\0" in data:  # the grammars take it for the end of the file
        raise InputError("holds a NUL byte", mend="only text can be read")
    script = read(data)
    if script is None:
        raise InputError(f"is no source that {_GRAMMARS[suffix][0]} reads", mend="audit it with a version that does")
    return script


def reader(suffix: str) -> Callable[[bytes], Script | None]:
    """What reads sources of one kind; it gives None where there is an error in one.

    Raises:
        InputError: the grammar is not installed.
    """
    parser = _parser(*_GRAMMARS[suffix])

    def read(data: bytes) -> Script | None:
        root = parser.parse(data).root_node
        return None if root.has_error else Script(data, root)

    return read


@lru_cache
def _parser(module: str, function: str) -> Parser:
    try:
        sitter, grammar = import_module("tree_sitter"), import_module(module)
    except ImportError:
        package = module.replace("_", "-")
        raise InputError(
            f"cannot be read, because {package} is not installed", mend="install parsimony-grading[languages]"
        ) from None
    parser: Parser = sitter.Parser(sitter.Language(getattr(grammar, function)()))
    return parser


# ---- tokens


def leaves(root: Node, start: int, end: int) -> Iterator[Node]:
    """What has no parts and begins in a range of bytes, in the order of the source. Without recursion: trees are as
    deep as a file makes them."""
    pending = [root]
    while pending:
        node = pending.pop()
        if node.end_byte < start or node.start_byte >= end:
            continue
        if node.child_count:
            pending += reversed(node.children)
        elif node.start_byte >= start and node.type != "comment":
            yield node


class Tokens:
    """The tokens of a source, to tell which other sources are the same but for blanks and comments."""

    def __init__(self, script: Script) -> None:
        every = list(leaves(script.root, 0, len(script.data)))
        self._starts = [node.start_byte for node in every]
        self._texts = [script.data[node.start_byte : node.end_byte] for node in every]

    def digest(self) -> bytes:
        """Of the source itself."""
        return sha256(b"\0".join(self._texts)).digest()

    def digest_with(self, start: int, end: int, changed: Script, length: int) -> bytes:
        """Of a source that has `length` other bytes between two tokens of this one. Only those are looked at anew."""
        first, last = bisect.bisect_left(self._starts, start), bisect.bisect_left(self._starts, end)
        inside = [changed.data[n.start_byte : n.end_byte] for n in leaves(changed.root, start, start + length)]
        return sha256(b"\0".join([*self._texts[:first], *inside, *self._texts[last:]])).digest()


# ---- places that hold code


def code_places(script: Script, lines: Collection[int]) -> dict[int, list[int]]:
    """For those of the lines that hold code, where: offsets as V8 counts them, in UTF-16 units and without a mark of
    the byte order.

    A line holds code when something is computed on it. Braces, `else` and the like, the names of functions and of
    their parameters, and types compute nothing.
    """
    found: dict[int, list[int]] = {}
    rows = {line - 1 for line in lines}
    text_starts: dict[int, tuple[int, int]] = {}
    for leaf in _code(script.root):
        row, column = leaf.start_point
        if row not in rows:
            continue
        if row not in text_starts:
            line_start = leaf.start_byte - column
            text_starts[row] = line_start, utf16_length(script.data[:line_start])
        line_start, units = text_starts[row]
        found.setdefault(row + 1, []).append(units + utf16_length(script.data[line_start : leaf.start_byte]))
    mark = script.data.startswith(b"\xef\xbb\xbf")
    return {line: [place - mark for place in places] for line, places in sorted(found.items())}


def utf16_length(data: bytes) -> int:
    """How many UTF-16 units a text in UTF-8 has."""
    return len(data.decode("utf-8", "replace").encode("utf-16-le")) // 2


def _code(root: Node) -> Iterator[Node]:
    pending: list[tuple[Node, bool]] = [(root, True)]  # a node, and whether a name in it is computed
    while pending:
        node, computed = pending.pop()
        if node.type in TYPES:
            continue
        if not node.child_count:
            if computed and node.type not in _NO_CODE and node.start_byte < node.end_byte:
                yield node
            continue
        children = node.named_children[:1] if node.type in TYPED else node.children
        pending += reversed([(child, _is_computed(node, child, computed)) for child in children])


def _is_computed(node: Node, child: Node, around: bool) -> bool:
    """Whether a part of a node is computed: the head of a function is not, its body and default values are."""
    if node.type in _FUNCTIONS:
        return child == node.child_by_field_name("body")
    if node.type == "catch_clause":
        return child != node.child_by_field_name("parameter")
    if node.type in {"assignment_pattern", "object_assignment_pattern", "required_parameter", "optional_parameter"}:
        value = node.child_by_field_name("right") or node.child_by_field_name("value")
        return child == value or (around and node.type.endswith("assignment_pattern"))
    return around
