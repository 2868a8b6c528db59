"""JavaScript and TypeScript by the official compiler: what costs, what is free, what is refused."""

import json
from pathlib import Path

import pytest

from parsimony.errors import InputError
from parsimony.footprint import Footprint, load_track, measure, measure_patch
from parsimony.footprint.languages import script
from parsimony.measurements import track_of

needs_node = pytest.mark.usefixtures("script")


def churn(before: str, after: str, path: str = "src/a.ts") -> Footprint:
    return measure({path: (before.encode(), after.encode())}, language="typescript")


@needs_node
@pytest.mark.parametrize(
    ("before", "after", "added", "deleted", "structural", "branches"),
    [
        ("f();", "f(); // why\n/** @type {X} */", 0, 0, 0, 0),
        ("f(a);", "f(b);", 1, 1, 0, 0),
        ("f(a);", "(f)((a))", 0, 0, 0, 0),
        ("x = 'a';", 'x = "a";', 0, 0, 0, 0),
        ("x = 1000;", "x = 1_000;", 0, 0, 0, 0),
        ("let x = 1;", "const x = 1;", 1, 1, 2, 0),
        ("let x = 1;", "let x: number = 1;", 1, 0, 1, 0),
        ("x = -a;", "x = +a;", 1, 1, 2, 0),
        ("x = a + b;", "x = a - b;", 1, 1, 2, 0),
        ("x = a;", "x = a && b || c ? d : e;", 7, 0, 7, 3),
        ("if (a) b(); else c();", "if (a) b(); c();", 0, 0, 0, 0),
        ("if (a) b();", "if (a) { b(); }", 2, 0, 2, 0),
        ("a(); if (b) { c(); }", "if (b) { a(); c(); }", 2, 2, 4, 0),
        ("switch (a) { default: b(); }", "switch (a) { case 1: c(); default: b(); }", 4, 0, 4, 1),
        ("f();", "async function g() { await f(); } f();", 7, 0, 7, 1),
        ("function g() {}", "async function g() {}", 1, 1, 2, 0),
        ("class A extends B {}", "class A implements B {}", 1, 1, 2, 0),
        ("class A { x = 1; }", "class A { private x = 1; }", 1, 1, 2, 0),
        ("export default f;", "export = f;", 1, 1, 2, 0),
        ('import A from "a";', 'import type A from "a";', 1, 1, 2, 0),
        ('import { A } from "a";', 'import { A, type B } from "a";', 2, 0, 2, 0),
        ("let x: keyof A;", "let x: readonly A[];", 2, 1, 3, 0),
        ("interface A { x: B; y: C }", "interface A {\n  x: B,\n  y: C,\n}\n", 0, 0, 0, 0),
    ],
)
def test_costs(before: str, after: str, added: int, deleted: int, structural: int, branches: int) -> None:
    there = churn(before, after)
    assert (there.units_added, there.units_deleted) == (added, deleted)
    assert (there.structural_churn, there.complexity_delta) == (structural, branches)
    assert there.files_changed == (1 if added + deleted else 0)


@needs_node
def test_the_suffix_decides_the_grammar() -> None:
    assert churn("const x = y;", "const x = <A>y;", "src/a.ts").units_added == 3
    with pytest.raises(InputError, match=r"src/a\.tsx:1: after: cannot be parsed: "):
        churn("const x = y;", "const x = <A>y;", "src/a.tsx")
    assert churn("const x = y;", "const x = <A>y</A>;", "src/a.tsx").churn == 8
    assert churn("const x = y;", "const x = <A>y</A>;", "src/a.js").churn == 8
    with pytest.raises(InputError, match="cannot be parsed"):
        churn("const x = y;", "const x = <A>y</A>;", "src/a.mts")


@needs_node
def test_markup_counts_without_its_formatting() -> None:
    one, many = "const a = <p><b/></p>;", "const a = (\n  <p>\n    <b/>\n  </p>\n);"
    footprint = churn(one, many, "src/a.jsx")
    assert (footprint.churn, footprint.tokens_added, footprint.files_changed) == (0, 2, 0)


@needs_node
def test_tokens_are_a_diagnostic() -> None:
    footprint = churn("f(a);", "g(a, b);")
    assert (footprint.tokens_added, footprint.tokens_deleted) == (2, 1)
    quiet = measure({"a.ts": (b"f(a);", b"g(a, b);")}, language="typescript", tokens=False)
    assert (quiet.token_churn, quiet.churn) == (None, footprint.churn)


@needs_node
@pytest.mark.parametrize(
    ("after", "message"),
    [
        (b"let x;\nlet = ;\n", r"src/a\.ts:2: after: cannot be parsed: "),
        (b"let x = \0;\n", r"src/a\.ts:1: after: cannot be parsed: Invalid character"),
        (b"\xff", "after: is not UTF-8"),
        (b"[" * 200_000, "after: cannot be parsed: is nested too deeply"),
        (b"a" * 5_000_000, "after: has 5000000 bytes"),
    ],
    ids=["syntax", "nul", "encoding", "deep", "large"],
)
def test_what_cannot_be_measured(after: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        measure({"src/a.ts": (b"let x;\n", after)}, language="typescript")
    assert churn("f(a);", "f(b);").churn == 2


@needs_node
def test_chains_of_operators_are_no_deep_nesting() -> None:
    assert churn("x = 1;", "x = 1" + " + 1" * 20_000 + ";").units_added == 40_000


@needs_node
def test_one_process_serves_both_languages_and_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    real = script._start

    def start() -> object:
        started.append(1)
        return real()

    monkeypatch.setattr(script._process(), "_start", start)
    script._process().close()
    for _ in range(3):
        churn("f(a);", "f(b);")
        measure({"a.js": (b"f(a)", b"f(b)")}, language="javascript")
    assert len(started) == 1
    script._process()._process.kill()  # type: ignore[union-attr]
    assert churn("f(a);", "f(b);").churn == 2
    assert len(started) == 2


@needs_node
def test_identity_and_rules_for_patches() -> None:
    provenance = measure({}, language="javascript").provenance
    identity = track_of("javascript")
    assert identity is not None
    assert (provenance.track, provenance.parser) == (identity["unit_version"], "typescript 5.9.3")
    rename = b"diff --git a/p/a.js b/p/b.js\nsimilarity index 100%\nrename from p/a.js\nrename to p/b.js\n"
    with pytest.raises(InputError, match="no text hunks"):
        measure_patch({"p/a.js": b"f()"}, rename, language="javascript")


def test_without_node(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match=r"Node\.js is not installed.*; install Node\.js 18"):
        load_track(language="javascript")


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of Node packages, named as the one to use; there is a `node` on PATH."""
    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(node.parent))
    monkeypatch.setenv(script.MODULES_VARIABLE, str(tmp_path / "node_modules"))
    return tmp_path / "node_modules"


def install(modules: Path, package: object) -> None:
    (modules / "typescript").mkdir(parents=True)
    (modules / "typescript" / "package.json").write_text(json.dumps(package))


def test_without_the_compiler(modules: Path) -> None:
    with pytest.raises(InputError, match=r"typescript 5\.9\.3 is not installed.*`make node`.*PARSIMONY_NODE_MODULES"):
        load_track(language="typescript")
    install(modules, ["no package"])
    with pytest.raises(InputError, match="is not installed"):
        load_track(language="typescript")


def test_another_version_of_the_compiler_is_refused(modules: Path) -> None:
    install(modules, {"version": "5.8.2"})
    with pytest.raises(InputError, match=r"typescript 5\.8\.2 is installed, but the track"):
        load_track(language="typescript")


def test_the_compiler_is_found_by_the_path_of_node(modules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(modules, {"version": "5.9.3"})
    monkeypatch.delenv(script.MODULES_VARIABLE)
    monkeypatch.setattr("sys.prefix", str(modules / "nothing"))
    monkeypatch.setenv("NODE_PATH", str(modules))
    assert load_track(language="typescript").parser == "typescript 5.9.3"


def test_the_lock_file_pins_the_version_and_names_no_registry() -> None:
    folder = Path(script.__file__).parent / "node"
    lock = json.loads((folder / "package-lock.json").read_text())
    package = lock["packages"]["node_modules/typescript"]
    assert package["version"] == "5.9.3"
    assert package["integrity"].startswith("sha512-")
    assert "://" not in json.dumps(lock)
