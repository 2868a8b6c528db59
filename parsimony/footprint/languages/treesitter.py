"""The program that parses by tree-sitter: units, tokens and branches from the concrete syntax tree of a whole file.

A unit is a named node; what the grammar does not name (operators, keywords, modifiers) is part of the label of the node
around it. Children have no field names in labels, so that parts of a node that may be absent can trade places for free
(the bounds of a slice in Go).

It runs in a process of its own (`trees` starts it), because a parser in C takes as much memory as a hostile file makes
it take, and ends its process where it gets none. A request is a line of JSON on stdin, its answer a line on stdout:

    {"language": "go", "sides": [text before, text after], "tokens": true}
    {"kinds": [...], "sides": [{"units": [...], "tokens": [...], "nodes": n, "branches": n}, ...]}
    {"error": "...", "side": 0, "line": 1}

Units and tokens are numbers that both sides share; kinds[unit] is the unit without identifiers and literals.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from typing import Any

from tree_sitter import Language, Node, Parser, Point, Tree

from parsimony.footprint.labels import Labels
from parsimony.footprint.languages.grammars import FALLBACKS, GRAMMARS, Grammar

PARSE_SECONDS = 10.0
"""Processor time that the parser may take for one side of a file."""

MEMORY_BYTES = 2 << 30
"""Most address space of the process."""

_CHUNK = 1 << 12
_PUNCTUATION = frozenset({b"(", b")", b"[", b"]", b"{", b"}", b",", b";", b".", b"\n", b"\r\n"})
_LOGICAL = frozenset({"&&", "||", "and", "or"})
_END_BLOCK = ("EndBlock",)


class _Refused(Exception):
    """A side cannot be measured. `line` counts from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def main() -> None:
    """Answer requests until stdin ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for line in sys.stdin.buffer:
        request = json.loads(line)
        found = answer(request["language"], request["sides"], tokens=request["tokens"])
        sys.stdout.write(json.dumps(found, separators=(",", ":")) + "\n")
        sys.stdout.flush()


def answer(language: str, sides: list[str], *, tokens: bool) -> dict[str, Any]:
    """The sequences of both sides, or why one has none, as the module describes."""
    labels, words = Labels(), Labels()
    found = []
    for side, text in enumerate(sides):
        try:
            found.append(_read(GRAMMARS[language], text.encode(), labels, words if tokens else None))
        except _Refused as refused:
            return {"error": str(refused), "side": side, "line": refused.line}
    return {"kinds": labels.blind(range(len(labels))), "sides": found}


@lru_cache
def _language(module: str) -> Language:
    return Language(import_module(module).language())


def _read(grammar: Grammar, data: bytes, labels: Labels, words: Labels | None) -> dict[str, Any]:
    nul = data.find(b"\0")
    if nul >= 0:  # grammars take it for the end of the file
        raise _Refused("it holds a NUL byte", _line(data, nul))
    root = _parse(_language(grammar.module), data).root_node
    if root.has_error:
        wrong = _first_error(root)
        missing = f", {wrong.type} is missing" if wrong.is_missing else ""
        raise _Refused("syntax error" + missing, _line(data, wrong.start_byte))
    return _walk(root, data, grammar, labels, words)


def _parse(language: Language, data: bytes) -> Tree:
    """The tree. The parser is fed in chunks, and told that the file ends once its time is up."""
    deadline = time.process_time() + PARSE_SECONDS
    late = False

    def chunk(offset: int, _: Point) -> bytes:
        nonlocal late
        late = late or time.process_time() > deadline
        return b"" if late else data[offset : offset + _CHUNK]

    tree = Parser(language).parse(chunk)
    if late:
        raise _Refused(f"it takes more than {PARSE_SECONDS:g} seconds")
    return tree


def _line(data: bytes, offset: int) -> int:
    return data.count(b"\n", 0, offset) + 1


def _first_error(root: Node) -> Node:
    """The first node that is wrong; one around it where the parser does not mark the node itself."""
    node = root
    while not (node.is_error or node.is_missing):
        inner = next((child for child in node.children if child.has_error), None)
        if inner is None:
            return node
        node = inner
    return node


def _walk(root: Node, data: bytes, grammar: Grammar, labels: Labels, words: Labels | None) -> dict[str, Any]:
    """Units and tokens in source order, the number of named nodes, and that of branches.

    A token is what is written, without punctuation and comments; equal words are different tokens where they mean
    another thing. Without recursion: a chain of operators is a tree as deep as it is long.
    """
    units: list[int] = []
    tokens: list[int] | None = None if words is None else []
    nodes = branches = 0
    end = labels[_END_BLOCK]
    stack: list[Node | None] = [root]
    while stack:
        node = stack.pop()
        if node is None:
            units.append(end)
            continue
        kind = node.type
        if kind in grammar.comments:
            continue
        children = node.children
        whole = not children or kind in grammar.literals
        if whole and words is not None and tokens is not None:
            text = _text(node, data)
            if text not in _PUNCTUATION and text not in grammar.silent:
                tokens.append(words[(kind, text)])
        if not node.is_named:
            continue
        nodes += 1
        branches += _branches(kind, children, data, grammar)
        if kind in grammar.blocks:
            stack.append(None)
        if whole:
            nodes += sum(child.is_named for child in children)
            label: tuple[object, ...] = ((kind,), _text(node, data))
        else:
            label = ((kind, *_words(children, data)),)
            stack.extend(reversed(children))
        if kind not in grammar.wrappers:
            units.append(labels[label])
    return {"units": units, "tokens": tokens, "nodes": nodes, "branches": branches}


def _words(children: list[Node], data: bytes) -> Iterator[bytes]:
    """What the grammar does not name: operators, keywords and modifiers, as they are written."""
    for child in children:
        if not child.is_named:
            word = _text(child, data)
            if word not in _PUNCTUATION:
                yield word


def _branches(kind: str, children: list[Node], data: bytes, grammar: Grammar) -> int:
    """What a node adds to the cyclomatic proxy."""
    if kind in grammar.branches:
        return int(_text(children[0], data) not in FALLBACKS)
    if kind in grammar.logical:
        return sum(child.type in _LOGICAL for child in children)
    return 0


def _text(node: Node, data: bytes) -> bytes:
    return data[node.start_byte : node.end_byte]


if __name__ == "__main__":
    main()
