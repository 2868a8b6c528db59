"""The program that tells the definitions of a file by tree-sitter, with the parser of the footprint's tracks.

It runs in a process of its own for the reason that they do: a parser in C takes as much memory as a hostile file makes
it take. A request is a line of JSON on stdin, its answer a line on stdout:

    {"language": "go", "text": "..."}
    {"definitions": [[name, space, first line, last line], ...]}
    {"error": "...", "line": 1}
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterator
from typing import Any

from tree_sitter import Node

from parsimony.footprint.languages import treesitter
from parsimony.footprint.languages.grammars import GRAMMARS

Row = tuple[str, str, int, int]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TYPES = _names(
    "class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration"  # Java
    " struct_item enum_item union_item trait_item"  # Rust
    " class_specifier struct_specifier union_specifier enum_specifier"  # C and C++
    " type_spec type_alias"  # Go
)
_FUNCTIONS = _names(
    "function_declaration method_declaration constructor_declaration compact_constructor_declaration"
    " function_item function_signature_item function_definition"
)
_SPACES = _names("namespace_definition mod_item")
_NEEDS_BODY = _names("class_specifier struct_specifier union_specifier enum_specifier")
"""In C, `struct x` alone only mentions a type."""
_DECLARATORS = _names(
    "function_declarator pointer_declarator reference_declarator parenthesized_declarator array_declarator"
    " attributed_declarator"
)


def main() -> None:
    """Answer requests until stdin ends."""
    resource.setrlimit(resource.RLIMIT_AS, (treesitter.MEMORY_BYTES, treesitter.MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        request = json.loads(line)
        sys.stdout.write(json.dumps(answer(request["language"], request["text"]), separators=(",", ":")) + "\n")
        sys.stdout.flush()


def answer(language: str, text: str) -> dict[str, Any]:
    """The definitions of a file, or why there are none, as the module describes."""
    data = text.encode()
    if b"\0" in data:  # grammars take it for the end of the file
        return {"error": "it holds a NUL byte", "line": data.count(b"\n", 0, data.find(b"\0")) + 1}
    try:
        root = treesitter._parse(treesitter._language(GRAMMARS[language].module), data).root_node
    except treesitter._Refused as refused:
        return {"error": str(refused), "line": refused.line}
    if root.has_error:
        return {"error": "syntax error", "line": treesitter._first_error(root).start_point[0] + 1}
    return {"definitions": list(_definitions(root, data))}


def _definitions(root: Node, data: bytes) -> Iterator[Row]:
    """Without recursion: trees are as deep as a file makes them."""
    pending: list[tuple[Node, str, str, int]] = [(root, "", "", 0)]
    while pending:
        node, around, space, start = pending.pop()
        kind = node.type
        first = start or node.start_point[0] + 1
        if kind in _SPACES:
            space = _joined(space, _words(node.child_by_field_name("name"), data))
        elif kind == "impl_item":
            around = _joined(around, _type_name(node.child_by_field_name("type"), data))
        elif kind in _FUNCTIONS:
            name = _function_name(node, data)
            if name:
                yield _joined(around, name), space, first, _last_line(node)
                continue
        elif kind in _TYPES and (kind not in _NEEDS_BODY or node.child_by_field_name("body") is not None):
            name = _words(node.child_by_field_name("name"), data)
            if name:
                around = _joined(around, name)
                yield around, space, first, _last_line(node)
        pending += reversed([(child, around, space, line) for child, line in _children(node)])


def _children(node: Node) -> Iterator[tuple[Node, int]]:
    """Named children, each with the line where what belongs to it starts: attributes, the header of a template."""
    start = node.start_point[0] + 1 if node.type == "template_declaration" else 0
    above = 0
    for child in node.named_children:
        if child.type == "attribute_item":
            above = above or child.start_point[0] + 1
            continue
        yield child, above or start
        above = 0


def _last_line(node: Node) -> int:
    row, column = node.end_point
    return row + 1 if column or row == node.start_point[0] else row


def _function_name(node: Node, data: bytes) -> str:
    reader: Callable[[Node, bytes], str] | None = {
        "method_declaration": _method_name,
        "function_definition": _declared_name,
    }.get(node.type)
    return reader(node, data) if reader else _words(node.child_by_field_name("name"), data)


def _method_name(node: Node, data: bytes) -> str:
    """Go's methods stand outside of their type, which the receiver names; Java's stand inside."""
    name = _words(node.child_by_field_name("name"), data)
    receiver = node.child_by_field_name("receiver")
    if receiver is None:
        return name
    parameter = next(iter(receiver.named_children), None)
    return _joined(_type_name(parameter and parameter.child_by_field_name("type"), data), name)


def _type_name(node: Node | None, data: bytes) -> str:
    """The name of a type without pointers, references and the arguments of generics."""
    while node is not None and node.type in {"pointer_type", "generic_type", "reference_type", "parenthesized_type"}:
        inner = node.child_by_field_name("type")
        node = inner or next((child for child in node.named_children if child.type != "lifetime"), None)
    return _words(node, data)


def _declared_name(node: Node, data: bytes) -> str:
    """The name of a function of C or C++: inside of its declarator, below pointers and parentheses."""
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type in _DECLARATORS:
        inner = inner.child_by_field_name("declarator") or next(iter(inner.named_children), None)
    return _words(inner, data)


def _words(node: Node | None, data: bytes) -> str:
    """The text of a name, qualified with dots, without blanks and the arguments of templates."""
    if node is None:
        return ""
    if node.type in {"template_function", "template_type"}:
        return _words(node.child_by_field_name("name"), data)
    if node.type in {"qualified_identifier", "scoped_type_identifier", "scoped_identifier"}:
        outer = node.child_by_field_name("scope") or node.child_by_field_name("path")
        return _joined(_words(outer, data), _words(node.child_by_field_name("name"), data))
    text = data[node.start_byte : node.end_byte].decode("utf-8", "replace")
    return ".".join("".join(text.split()).split("::"))


def _joined(outer: str, inner: str) -> str:
    return f"{outer}.{inner}" if outer and inner else outer or inner


if __name__ == "__main__":
    main()
