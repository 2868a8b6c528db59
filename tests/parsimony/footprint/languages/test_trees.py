"""Tracks by tree-sitter: what costs, what is free, and what is refused."""

import importlib.metadata

import pytest

from parsimony.errors import InputError
from parsimony.footprint import Footprint, load_track, measure, measure_patch
from parsimony.footprint.languages import trees
from parsimony.footprint.tracks import MAX_SOURCE_BYTES
from parsimony.measurements import track_of

pytestmark = pytest.mark.usefixtures("tree_sitter")

NAMES = {"go": "pkg/a.go", "java": "src/A.java", "rust": "src/a.rs", "c": "src/a.c", "cpp": "src/a.cc"}


def churn(language: str, before: str, after: str) -> Footprint:
    return measure({NAMES[language]: (before.encode(), after.encode())}, language=language)


def go(body: str) -> str:
    return "package p\n\nfunc f(a, b int) {\n" + body + "\n}\n"


def java(body: str) -> str:
    return "class A { int f(int a, boolean b) {\n" + body + "\n} }\n"


def rust(body: str) -> str:
    return "fn f(a: i32, b: bool) -> i32 {\n" + body + "\n}\n"


def c(body: str) -> str:
    return "int f(int a, int b) {\n" + body + "\n}\n"


@pytest.mark.parametrize(
    ("language", "before", "after", "added", "deleted", "structural", "branches"),
    [
        ("go", go("g(a)"), go("g(a); h()"), 2, 0, 2, 0),
        ("go", go("g(a)"), go("g( // why\n\t\ta,\n)"), 0, 0, 0, 0),
        ("go", go("g(a)"), go("g(b)"), 1, 1, 0, 0),
        ("go", go("g(a + b)"), go("g(a - b)"), 1, 1, 2, 0),
        ("go", go("g((a))"), go("g(a)"), 0, 0, 0, 0),
        ("go", go("h(x[a:])"), go("h(x[:a])"), 0, 0, 0, 0),
        ("go", go("if a > 0 { g() }"), go("if a > 0 { g() } else { h() }"), 5, 1, 6, 0),
        ("go", go("g(); if a > 0 { h() }"), go("if a > 0 { g(); h() }"), 2, 2, 4, 0),
        ("go", go("g(a > 0)"), go("g(a > 0 && b > 0 || c)"), 6, 0, 6, 2),
        ("go", go("g()"), go("go func() { g() }()"), 5, 0, 5, 0),
        ("go", go('g("a")'), go('g("b")'), 1, 1, 0, 0),
        ("java", java("return a;"), java("return a; // why"), 0, 0, 0, 0),
        ("java", java("return a;"), java("/** why */ return (a);"), 0, 0, 0, 0),
        ("java", java("return a;"), java("return c;"), 1, 1, 0, 0),
        ("java", java("g(); if (b) { h(); } return a;"), java("if (b) { g(); h(); } return a;"), 2, 2, 4, 0),
        ("java", java("return a;"), java("return b && a > 0 ? a : 1;"), 7, 0, 7, 2),
        ("java", java("switch (a) { default: h(); }"), java("switch (a) { case 1: g(); default: h(); }"), 5, 0, 5, 1),
        ("java", "class A { int x; }", "class A { private int x; }", 1, 0, 1, 0),
        ("java", "class A { public int x; }", "class A { private int x; }", 1, 1, 2, 0),
        ("java", java('g("a");'), java('g("b");'), 1, 1, 0, 0),
        ("rust", rust("a"), rust("/// why\n    (a)"), 0, 0, 0, 0),
        ("rust", rust("a"), rust("c"), 1, 1, 0, 0),
        ("rust", rust("g(); if b { h(); } a"), rust("if b { g(); h(); } a"), 2, 2, 4, 0),
        ("rust", rust("match a { _ => 0 }"), rust("match a { 1 => 2, _ => 0 }"), 4, 0, 4, 1),
        ("rust", rust("g(&a); 0"), rust("g(&mut a); 0"), 1, 0, 1, 0),
        ("rust", rust("x()"), rust("let y = |z| z && b || c; x()"), 10, 0, 10, 3),
        ("rust", rust('g("a")'), rust('g("b")'), 1, 1, 0, 0),
        ("c", c("return a;"), c("return (a); /* why */"), 0, 0, 0, 0),
        ("c", c("return a;"), c("return c;"), 1, 1, 0, 0),
        ("c", c("g(); if (b) { h(); } return a;"), c("if (b) { g(); h(); } return a;"), 2, 2, 4, 0),
        ("c", c("return a;"), c("return a && b || c ? 1 : 0;"), 7, 0, 7, 3),
        ("c", c("switch (a) { default: h(); }"), c("switch (a) { case 1: g(); default: h(); }"), 4, 0, 4, 1),
        ("c", "#define N 1\n", "#define N 2\n", 1, 1, 0, 0),
        ("c", "int x;\n", "static int x;\n", 1, 0, 1, 0),
        ("cpp", c("return a;"), c("return a && b;"), 2, 0, 2, 1),
        ("cpp", c("return a;"), c("return a and b;"), 2, 0, 2, 1),
        ("cpp", "void f(A&& a) {}\n", "void f(A& a) {}\n", 1, 1, 2, 0),
        ("cpp", "class A { void f() {} };\n", "class A {}; void f() {}\n", 2, 2, 4, 0),
        ("cpp", c("return a;"), c("for (auto x : y) { try { g(); } catch (...) { } } return a;"), 15, 0, 15, 2),
    ],
)  # fmt: skip
def test_costs(
    language: str, before: str, after: str, added: int, deleted: int, structural: int, branches: int
) -> None:
    there = churn(language, before, after)
    assert (there.units_added, there.units_deleted) == (added, deleted)
    assert (there.structural_churn, there.complexity_delta) == (structural, branches)
    assert there.files_changed == (1 if added + deleted else 0)
    back = churn(language, after, before)
    assert (back.units_added, back.units_deleted, back.complexity_delta) == (deleted, added, -branches)


@pytest.mark.parametrize("language", NAMES)
def test_a_new_file_and_a_removed_one(language: str) -> None:
    source = {"go": go("g(a)"), "java": java("g(a);"), "rust": rust("g(a)"), "c": c("g(a);"), "cpp": c("g(a);")}
    data = source[language].encode()
    added = measure({NAMES[language]: (None, data)}, language=language)
    removed = measure({NAMES[language]: (data, None)}, language=language)
    assert added.units_added == removed.units_deleted
    assert added.churn == added.structural_churn == added.units_added
    assert (added.units_added or 0) > 8
    assert (added.ast_delta, added.complexity_delta) == (-(removed.ast_delta or 0), 1)


@pytest.mark.parametrize("language", NAMES)
def test_tokens_are_a_diagnostic(language: str) -> None:
    before = {"go": "package p\n", "java": "class A { }\n", "rust": "mod a { }\n", "c": "int a;\n", "cpp": "int a;\n"}
    files = {NAMES[language]: (before[language].encode(), (before[language] + "// why\n").encode())}
    whole, less = measure(files, language=language), measure(files, language=language, tokens=False)
    assert (whole.token_churn, whole.churn) == (0, 0)
    assert (less.token_churn, less.churn) == (None, 0)


def test_equal_words_that_mean_another_thing_are_different_tokens() -> None:
    footprint = churn("go", go("x := y"), go("x := a.y"))
    assert (footprint.tokens_added, footprint.tokens_deleted) == (2, 1)


@pytest.mark.parametrize("language", NAMES)
def test_identity(language: str) -> None:
    provenance = measure({}, language=language).provenance
    identity = track_of(language)
    assert identity is not None
    assert provenance.track == identity["unit_version"]
    versions = identity["versions"]
    assert isinstance(versions, dict)
    assert provenance.parser == ", ".join(f"{name} {version}" for name, version in versions.items())
    assert len(versions) == 2


def test_another_version_of_a_parser_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "version", lambda _: "0.1.0")
    trees._track.cache_clear()
    with pytest.raises(InputError, match=r"tree-sitter 0\.1\.0 is installed.*install tree-sitter==0\.26\.0"):
        load_track(language="go")


def test_a_parser_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(trees, "version", missing)
    trees._track.cache_clear()
    with pytest.raises(InputError, match=r"not installed \(tree-sitter\); install parsimony-grading\[languages\]"):
        load_track(language="rust")


@pytest.mark.parametrize(
    ("after", "message"),
    [
        (b"package p\n\nfunc {\n", "pkg/a.go:3: after: cannot be parsed: syntax error"),
        (b"package p\n\nvar x = \0 1\n", "pkg/a.go:3: after: cannot be parsed: it holds a NUL"),
        (b"package p\n\xff", "pkg/a.go: after: is not UTF-8"),
        (b"//" * MAX_SOURCE_BYTES, "pkg/a.go: after: has 8388608 bytes"),
    ],
)
def test_what_cannot_be_measured(after: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        measure({"pkg/a.go": (b"package p\n", after)}, language="go")
    with pytest.raises(InputError, match=message.replace("after", "before")):
        measure({"pkg/a.go": (after, b"package p\n")}, language="go")


@pytest.mark.parametrize(
    "source",
    ["x = " + "(" * 50_000 + "1" + ")" * 50_000, "x = " + "-" * 100_000 + "1", "x = 1" + " + 1" * 100_000],
    ids=["brackets", "minus", "plus"],
)
def test_deep_trees(source: str) -> None:
    footprint = churn("go", "package p\n", "package p\n\nvar " + source + "\n")
    assert footprint.units_added is not None
    assert footprint.units_added > 4


def test_a_parser_that_takes_too_long_is_told_that_the_file_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    from parsimony.footprint.languages import treesitter

    monkeypatch.setattr(treesitter, "PARSE_SECONDS", 0.0)
    found = treesitter.answer("go", ["package p\n", ""], tokens=True)
    assert found["error"] == "it takes more than 0 seconds"
    assert found["side"] == 0


def test_form_feeds_byte_order_marks_and_ends_without_line_feeds() -> None:
    assert churn("go", "package p\n\nvar x = 1\n", "\ufeffpackage p\n\f\r\nvar x = 1").churn == 0


def test_patches_by_the_rules_of_the_track() -> None:
    rename = b"diff --git a/%s b/%s\nsimilarity index 100%%\nrename from %s\nrename to %s\n"
    with pytest.raises(InputError, match="no text hunks"):
        measure_patch({"p/a.go": b"package p\n"}, rename % ((b"p/a.go", b"p/b.go") * 2), language="go")
    renamed = measure_patch({"p/a.rs": b"mod a;\n"}, rename % ((b"p/a.rs", b"p/b.rs") * 2), language="rust")
    assert (renamed.churn, renamed.touched_files) == (0, ("p/b.rs",))
