"""What tree-sitter's grammars call things: which nodes are units, blocks, literals and branches of each language.

Every named node is a unit unless it is listed as a wrapper, the same for all languages. Wrappers are nodes that only
group: a whole file, an expression that stands as a statement, parentheses, and lists of arguments and parameters.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language.

    Attributes:
        module: of the grammar's wheel.
        track: the name of the rules.
        wrappers: nodes that are no units.
        blocks: nodes after whose children one more unit stands, `EndBlock`.
        literals: nodes that are one unit with their whole text, whatever is inside.
        comments: nodes that do not count at all.
        branches: nodes that add one to the cyclomatic proxy, unless they begin with one of `fallbacks`.
        logical: nodes whose operators `&&` and `||` (in C++ also `and` and `or`) each add one.
        silent: words that are no tokens.
    """

    module: str
    track: str
    wrappers: frozenset[str]
    blocks: frozenset[str]
    literals: frozenset[str]
    comments: frozenset[str]
    branches: frozenset[str]
    logical: frozenset[str] = frozenset({"binary_expression"})
    silent: frozenset[bytes] = frozenset()


FALLBACKS = frozenset({b"default", b"_"})
"""How a branch begins that is taken whenever no other is."""

_OURS = "named-nodes-v1"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


GO = Grammar(
    module="tree_sitter_go",
    track="tree-sitter-units-v1",
    wrappers=_words(
        "source_file expression_statement statement_list parenthesized_expression parenthesized_type"
        " parameter_list argument_list"
    ),
    blocks=_words("block"),
    literals=_words("interpreted_string_literal raw_string_literal rune_literal"),
    comments=_words("comment"),
    branches=_words(
        "function_declaration method_declaration if_statement for_statement"
        " expression_case type_case communication_case"
    ),
    silent=frozenset({b"if", b"else", b"for", b"switch", b"case"}),
)
"""The published rules: function literals are no branches, and five keywords are no tokens."""

JAVA = Grammar(
    module="tree_sitter_java",
    track=_OURS,
    wrappers=_words("program expression_statement parenthesized_expression argument_list formal_parameters"),
    blocks=_words(
        "block constructor_body class_body interface_body enum_body annotation_type_body switch_block module_body"
    ),
    literals=_words("string_literal character_literal"),
    comments=_words("line_comment block_comment"),
    branches=_words(
        "method_declaration constructor_declaration compact_constructor_declaration lambda_expression"
        " if_statement ternary_expression for_statement enhanced_for_statement while_statement do_statement"
        " switch_label catch_clause"
    ),
)

RUST = Grammar(
    module="tree_sitter_rust",
    track=_OURS,
    wrappers=_words("source_file expression_statement parenthesized_expression arguments parameters"),
    blocks=_words("block declaration_list match_block"),
    literals=_words("string_literal raw_string_literal char_literal"),
    comments=_words("line_comment block_comment"),
    branches=_words(
        "function_item closure_expression if_expression while_expression for_expression loop_expression match_arm"
    ),
    logical=_words("binary_expression let_chain"),
)

_C_BRANCHES = (
    "function_definition if_statement conditional_expression for_statement while_statement do_statement case_statement"
)

C = Grammar(
    module="tree_sitter_c",
    track=_OURS,
    wrappers=_words("translation_unit expression_statement parenthesized_expression argument_list parameter_list"),
    blocks=_words("compound_statement declaration_list"),
    literals=_words("string_literal char_literal"),
    comments=_words("comment"),
    branches=_words(_C_BRANCHES),
)

CPP = Grammar(
    module="tree_sitter_cpp",
    track=_OURS,
    wrappers=C.wrappers,
    blocks=C.blocks | _words("field_declaration_list"),
    literals=C.literals | _words("raw_string_literal"),
    comments=C.comments,
    branches=C.branches | _words("for_range_loop lambda_expression catch_clause"),
)

GRAMMARS = {"go": GO, "java": JAVA, "rust": RUST, "c": C, "cpp": CPP}
"""By the name of the language."""
