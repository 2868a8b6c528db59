"""Mutation of JavaScript and TypeScript: what is changed, and that it stays a program and becomes another one."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsimony.audit import script_source
from parsimony.audit.mutation import MOST_BYTES, Mutation
from parsimony.audit.script_mutation import mutator
from parsimony.errors import InputError

tree_sitter = pytest.importorskip("tree_sitter", reason="the extra `languages` is not installed")
grammar = pytest.importorskip("tree_sitter_javascript", reason="the extra `languages` is not installed")

EXAMPLES = Path(__file__).parents[3] / "configs" / "examples" / "tasks"


def every(source: str, suffix: str = ".js") -> list[Mutation]:
    data = source.encode()
    return mutator(suffix)(data, range(1, data.count(b"\n") + 2))


def changed(source: str, operator: str, suffix: str = ".js") -> list[str]:
    """The mutated sources of one operator, where all lines count."""
    return [one.source.decode() for one in every(source, suffix) if one.operator == operator]


@pytest.mark.parametrize(
    ("operator", "source", "wanted"),
    [
        ("comparison", "x = a === b", ["x = a !== b"]),
        ("comparison", "x = a != b", ["x = a == b"]),
        ("comparison", "x = a < b", ["x = a >= b"]),
        ("comparison", "x = a in b", ["x = !(a in b)"]),
        ("comparison", "x = a instanceof B", ["x = !(a instanceof B)"]),
        ("boundary", "x = a < b", ["x = a <= b"]),
        ("boundary", "x = a >= b", ["x = a > b"]),
        ("connective", "x = a && b || c", ["x = (a || b) || c", "x = (a && b) && c"]),
        ("connective", "x = a ?? b", ["x = a && b"]),
        ("connective", "x = a ?? b + 1", ["x = a && (b + 1)"]),
        ("drop-operand", "x = a && b && c", ["x = b && c", "x = a && c", "x = a && b"]),
        ("drop-operand", "x = a || b && c", ["x = b && c", "x = a || c", "x = a || b", "x = a"]),
        ("drop-not", "x = !a", ["x = a"]),
        ("drop-not", "x = !(a + b)", ["x = (a + b)"]),
        ("drop-not", "function f() { return!a }", ["function f() { return a }"]),
        ("negate-condition", "if (f(a)) b()", ["if (!(f(a))) b()"]),
        ("negate-condition", "while (a) b()", ["while (!(a)) b()"]),
        ("negate-condition", "do b(); while (a)", ["do b(); while (!(a))"]),
        ("negate-condition", "for (;a;) b()", ["for (;!(a);) b()"]),
        ("negate-condition", "for (;;) b()", []),
        ("negate-condition", "x = a ? b : c", ["x = !(a) ? b : c"]),
        ("negate-condition", "if (a === b) c()", []),  # the comparison is turned around by its own operator
        ("negate-condition", "if (!a) c()", []),
        ("arithmetic", "x = a + b", ["x = a - b"]),
        ("arithmetic", "x = a % b", ["x = a * b"]),
        ("arithmetic", "x = -a ^ b", []),
        ("arithmetic", "x = a ** b ** c", ["x = a * (b ** c)", "x = a ** (b * c)"]),
        ("arithmetic", "x = a & b | c", ["x = (a & b) & c", "x = (a | b) | c"]),
        ("constant", "x = 41", ["x = 42"]),
        ("constant", "x = 1.5", ["x = 2.5"]),
        ("constant", "x = 0x1F + 1_0n", ["x = 32 + 1_0n", "x = 0x1F + 11n"]),
        ("constant", "x = 017 + 1e300", []),
        ("constant", "x = true", ["x = false"]),
        ("constant", "x = ''", ["x = 'mutant'"]),
        ("constant", 'x = "ab"', ['x = "a"']),
        ("constant", "x = 'a\\n'", ["x = 'a'"]),
        ("constant", "x = `ab`", ["x = `a`"]),
        ("constant", "x = `a${1}b`", ["x = `a${2}b`"]),
        ("constant", "x = /ab/", []),
        ("return-none", "function f() { return 1 }", ["function f() { return undefined }"]),
        ("return-none", "function f() { return undefined }", []),
        ("return-none", "function f() { return }", []),
        ("return-none", "x = a => b", ["x = a => undefined"]),
        ("return-none", "x = a => { b }", []),
        ("drop-statement", "a.b();", [";"]),
        ("drop-statement", "if (a) b(); else c()", ["if (a) ; else c()", "if (a) b(); else ;"]),
        ("drop-statement", "throw a", [";"]),
        ("drop-statement", "const a = 1", []),
        ("drop-statement", "while (a) { break }", ["while (a) { ; }"]),
        ("drop-call", "x = f(a, b)", ["x = a"]),
        ("drop-call", "x = new F(a)", ["x = a"]),
        ("drop-call", "x = f(...a)", []),
        ("drop-call", "x = f()", []),
        ("drop-call", "x = f(a ? b : c).d", ["x = (a ? b : c).d"]),
        ("drop-call", "x = f(a?.b).c", ["x = (a?.b).c"]),
        ("drop-call", "x = f(1).c", ["x = (1).c"]),
        ("drop-call", "x = y in f(z)in w", ["x = y in z in w"]),
    ],
)
def test_operators(operator: str, source: str, wanted: list[str]) -> None:
    assert sorted(changed(source, operator)) == sorted(wanted)


@pytest.mark.parametrize(
    "source",
    [
        "x = y\nf([1])",  # would go on as y[1]
        "x = y\nf(`a`)",
        "x = y\nf(/a/)",
        "x = y\nf({})",  # would be a block
        "f(function () {})",
    ],
)
def test_no_statement_begins_in_another_way_than_before(source: str) -> None:
    assert changed(source, "drop-call") == []


def test_the_body_of_an_arrow_function_stays_an_expression() -> None:
    assert changed("x = () => f({ a: b })", "drop-call") == ["x = () => ({ a: b })"]


@pytest.mark.parametrize(
    "source",
    [
        "'use strict'",
        "import a from 'b'",
        "export * from 'b'",
        "x = require('b')",
        "x = import('b')",
        "x = t`b`",
        "/* a */",
    ],
)
def test_names_of_modules_and_texts_that_stand_alone_are_left_alone(source: str) -> None:
    assert changed(source, "constant") == changed(source, "drop-call") == []


def test_types_are_left_alone() -> None:
    pytest.importorskip("tree_sitter_typescript", reason="the extra `languages` is not installed")
    source = "interface P { k: 'lit' }\ntype T = 'x' | 1\nfunction f(a: 1 = 2): a is 3 { return <Q>a as 4 }\n"
    assert [one.was for one in every(source, ".ts")] == ["2", "<Q>a as 4"]
    assert [one.now for one in every("const a = (b satisfies 'c') + 1", ".tsx")] == ["(b satisfies 'c') - 1", "2"]


def test_only_nodes_that_stand_whole_on_the_lines_are_changed() -> None:
    source = b"x = 1\ny = (2 +\n     3)\nz = a &&\n  b\n"
    found = mutator(".js")(source, {2, 5})
    assert [(one.line, one.operator, one.was) for one in found] == [(2, "constant", "2"), (5, "drop-operand", "&& b")]
    assert mutator(".js")(source, ()) == []


def test_columns_are_bytes_and_line_ends_stay() -> None:
    assert changed("x = 'ä→', a == b\r\n", "comparison") == ["x = 'ä→', a != b\r\n"]
    assert changed("x = 'a→𝒳'", "constant") == ["x = 'a→'"]


@pytest.mark.parametrize("source", [b"function (", b"x = 1\0", b"/" * (MOST_BYTES + 1), b"(" * 5000])
def test_what_is_no_source_is_an_input_error(source: bytes) -> None:
    with pytest.raises(InputError):
        mutator(".js")(source, {1})


def test_deep_trees_are_no_trouble() -> None:
    assert len(every("x = " + "a + " * 300 + "b")) == 301


def test_a_grammar_that_is_not_installed_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name)

    script_source._parser.cache_clear()
    monkeypatch.setattr(script_source, "import_module", missing)
    with pytest.raises(InputError, match="tree-sitter-javascript is not installed"):
        mutator(".js")(b"x = 1", {1})


# ---- whatever the source


OPERATORS = "+ - * / % ** & | ^ << >> >>> == != === !== < <= > >= && || ?? in instanceof"


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({}) {} ({})".format, inner, st.sampled_from(OPERATORS.split()), inner),
        st.builds(
            "x {} y {} z".format, st.sampled_from(["+", "&", "==", "&&", "<"]), st.sampled_from(["-", "|", "||"])
        ),
        st.builds("!{}".format, inner.map("({})".format)),
        st.builds("f({}, {})".format, inner, inner),
        st.builds("(({}) ? {} : {})".format, inner, inner, inner),
        st.builds("(q => {})".format, inner.map("({})".format)),
        st.builds("`a${{{}}}`".format, inner),
        st.builds("new X({}).y".format, inner),
    )


atoms = st.sampled_from(
    ["a", "1", "0x1f", "2.5", "3n", "'s'", "''", '"\\t"', "true", "[1]", "({})", "`t`", "/r/g", "o?.p"]
)
expressions = st.recursive(atoms, _combined, max_leaves=8)
statements = st.one_of(
    expressions.map("v = {}".format),
    expressions.map("{};".format),
    expressions.map("if ({}) {{ g() }} else h()".format),
    expressions.map("for (;{};) {{ break }}".format),
    expressions.map("function k() {{ return {} }}".format),
    expressions.map("throw {}".format),
)
programs = st.lists(statements, min_size=1, max_size=4).map("\n".join)


def words(source: bytes) -> list[bytes]:
    """Tokens by a tree of their own."""
    tree = tree_sitter.Parser(tree_sitter.Language(grammar.language())).parse(source)
    assert not tree.root_node.has_error, source
    found, pending = [], [tree.root_node]
    while pending:
        node = pending.pop()
        pending += reversed(node.children)
        if not node.children and node.type != "comment":
            found.append(source[node.start_byte : node.end_byte])
    return found


@settings(max_examples=60, deadline=None)
@given(programs)
def test_every_mutant_is_a_program_and_another_one(source: str) -> None:
    data = source.encode()
    try:
        found = mutator(".js")(data, range(1, data.count(b"\n") + 2))
    except InputError:
        return  # `x` after a line without a semicolon can be a program that the grammar does not read
    streams = [words(data), *(words(one.source) for one in found)]
    assert len({tuple(stream) for stream in streams}) == len(streams)
    assert [one.line for one in found] == sorted(one.line for one in found)


COMPILE = """
const { Script } = require('vm')
for (const source of JSON.parse(require('fs').readFileSync(0, 'utf8'))) {
  try { new Script(`(function () {${source}\\n})`) } catch (error) { console.log(`${error}: ${source}`) }
}
"""


@pytest.fixture
def refused() -> Callable[[list[str]], str]:
    """What Node.js says of sources that it does not compile."""
    if shutil.which("node") is None:
        pytest.skip("no node on this machine")

    def run(sources: list[str]) -> str:
        done = subprocess.run(
            ["node", "-e", COMPILE], input=json.dumps(sources), capture_output=True, text=True, check=True
        )
        return done.stdout

    return run


def test_engines_compile_the_mutants_of_whole_files(refused: Callable[[list[str]], str]) -> None:
    files = [path for path in EXAMPLES.glob("routes-js-1/tree/**/*.js") if "node_modules" not in path.parts]
    sources = [one.source.decode() for path in files for one in every(path.read_text())]
    assert len(sources) > 100
    assert refused(sources) == ""


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.lists(programs, min_size=5, max_size=10))
def test_engines_compile_the_mutants_of_any_source(refused: Callable[[list[str]], str], drawn: list[str]) -> None:
    sources = []
    for source in drawn:
        try:
            sources += [one.source.decode() for one in every(source)]
        except InputError:
            continue
    if refused(drawn) == "":
        assert refused(sources) == ""
