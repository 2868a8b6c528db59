"""Functions, classes and methods of every language, and the lines that belong to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.scorecard.outline import Definition, Outline
from parsimony.scorecard.sources import Source, Sources

Rows = list[tuple[str, str, int, int]]


def read(path: str, text: str, language: str) -> Source:
    return Sources().read(path, text.encode(), language)


def rows(source: Source) -> Rows:
    assert source.outline is not None, source.problem
    return [(one.name, one.space, one.first, one.last) for one in source.outline.definitions]


PYTHON = """\
import x
@decorated
def f(a):
    def inner(): pass
    return 1

class A:
    x = 1
    @property
    def y(self): return 2
    if x:
        async def z(self):
            pass
    class B:
        def q(self): pass
try:
    def h(): pass
except E:
    class H: pass
match x:
    case 1:
        def m(): pass
"""


def test_python() -> None:
    assert rows(read("a.py", PYTHON, "python")) == [
        ("f", "", 2, 5),
        ("A", "", 7, 15),
        ("A.y", "", 9, 10),
        ("A.z", "", 12, 13),
        ("A.B", "", 14, 15),
        ("A.B.q", "", 15, 15),
        ("h", "", 17, 17),
        ("H", "", 19, 19),
        ("m", "", 22, 22),
    ]


def test_a_line_belongs_to_the_innermost_definition() -> None:
    outline = read("a.py", PYTHON, "python").outline
    assert outline is not None
    owners = [one.name if (one := outline.at(line)) else None for line in (0, 1, 2, 4, 6, 7, 8, 10, 15, 16, 999)]
    assert owners == [None, None, "f", "f", None, "A", "A", "A.y", "A.B.q", None, None]
    assert [one.name for one in outline.of([10, 8, 9, 3])] == ["f", "A", "A.y"]


@pytest.mark.parametrize(
    ("text", "parses", "compiles"),
    [
        ("def f(): pass\n", True, True),
        ("", True, True),
        ("return 1\n", True, False),
        ("def f():\n    nonlocal x\n", True, False),
        ("'\\d'\n", True, True),  # only a warning
        ("def f(:\n", False, False),
        ("a\0b", False, False),
        ("(" * 5000, False, False),
        ("print 'old'\n", False, False),
    ],
)
def test_python_that_parses_and_that_compiles(text: str, parses: bool, compiles: bool) -> None:
    found = read("a.py", text, "python")
    assert (found.outline is not None, found.compiles) == (parses, compiles)
    assert bool(found.problem) is not parses


def test_python_that_is_no_utf8_does_not_parse() -> None:
    assert Sources().read("a.py", b"# \xff\n", "python").outline is None


def test_lines_are_those_of_patches_where_python_counts_a_lone_carriage_return() -> None:
    assert rows(read("a.py", "x = 1\ry = 2\ndef f():\r\n    pass\r\n", "python")) == [("f", "", 2, 3)]


def test_a_byte_order_mark_is_no_obstacle() -> None:
    assert rows(read("a.py", "\ufeffdef f(): pass\n", "python")) == [("f", "", 1, 1)]


GO = """\
package p
type S struct {
	a int
}
type (
	T interface{ M() }
	U = int
)
func (s *S) Do(x int) error {
	return nil
}
func (l List[T]) Len() int { return 0 }
func Free() {
}
"""
JAVA = """\
package p;
public class B<T> extends C {
  int x;
  @Override
  public B() { }
  void m() { Runnable r = new Runnable() { public void run() { } }; }
  enum E { A, B; int k() { return 1; } }
  interface I { void n(); }
  record R(int a) { R { } }
}
"""
RUST = """\
mod inner {
  #[derive(Debug)]
  pub struct P<T> { x: T }
  impl<T> P<T> {
    fn new() -> Self { todo!() }
  }
}
trait Q { fn must(&self); fn may(&self) {} }
#[inline]
#[cfg(x)]
fn free() {}
impl fmt::Display for P<i32> { fn fmt(&self) {} }
enum E { A }
"""
C = """\
struct s { int a; };
static int *f(struct s *p) {
  return 0;
}
typedef struct { int b; } t;
int main(void) { return 0; }
"""
CPP = """\
namespace n { namespace m::k {
template <class T>
class V {
 public:
  V() {}
  ~V();
  int get() const { return 1; }
  bool operator==(const V& o) { return true; }
};
template <class T> V<T>::~V() {}
int V2::go(int a) { return 1; }
} }
extern "C" int q() { return 0; }
struct w;
struct w* z(void) { return 0; }
"""


@pytest.mark.usefixtures("tree_sitter")
@pytest.mark.parametrize(
    ("path", "language", "text", "wanted"),
    [
        (
            "a.go",
            "go",
            GO,
            [
                ("S", "", 2, 4),
                ("T", "", 6, 6),
                ("U", "", 7, 7),
                ("S.Do", "", 9, 11),
                ("List.Len", "", 12, 12),
                ("Free", "", 13, 14),
            ],
        ),
        (
            "B.java",
            "java",
            JAVA,
            [
                ("B", "", 2, 10),
                ("B.B", "", 4, 5),
                ("B.m", "", 6, 6),
                ("B.E", "", 7, 7),
                ("B.E.k", "", 7, 7),
                ("B.I", "", 8, 8),
                ("B.I.n", "", 8, 8),
                ("B.R", "", 9, 9),
                ("B.R.R", "", 9, 9),
            ],
        ),
        (
            "a.rs",
            "rust",
            RUST,
            [
                ("P", "inner", 2, 3),
                ("P.new", "inner", 5, 5),
                ("Q", "", 8, 8),
                ("Q.must", "", 8, 8),
                ("Q.may", "", 8, 8),
                ("free", "", 9, 11),
                ("P.fmt", "", 12, 12),
                ("E", "", 13, 13),
            ],
        ),
        ("a.c", "c", C, [("s", "", 1, 1), ("f", "", 2, 4), ("main", "", 6, 6)]),
        (
            "a.cc",
            "cpp",
            CPP,
            [
                ("V", "n.m.k", 2, 9),
                ("V.V", "n.m.k", 5, 5),
                ("V.get", "n.m.k", 7, 7),
                ("V.operator==", "n.m.k", 8, 8),
                ("V.~V", "n.m.k", 10, 10),
                ("V2.go", "n.m.k", 11, 11),
                ("q", "", 13, 13),
                ("z", "", 15, 15),
            ],
        ),
    ],
)
def test_languages_of_tree_sitter(path: str, language: str, text: str, wanted: Rows) -> None:
    assert rows(read(path, text, language)) == wanted


@pytest.mark.usefixtures("tree_sitter")
@pytest.mark.parametrize("data", [b"package p\nfunc (", b"a\0b", b"package p\n// \xff\n"])
def test_a_file_that_tree_sitter_refuses_has_no_outline(data: bytes) -> None:
    found = Sources().read("a.go", data, "go")
    assert (found.outline, found.compiles) == (None, False)
    assert found.problem


SCRIPT = """\
export class A<T> {
  #p() {}
  static x = 1;
  handler = () => { return 1; };
  constructor() { this.f = function () {}; }
  get v() { return 1; }
  [Symbol.iterator]() { function inner() {} }
}
export const f = (a) => {
  const g = () => 1;
};
const o = { m() {}, n: function () {}, k: { d: () => 1 } };
(function () {
  function wrapped() {}
})();
namespace N.M { export function inside() {} }
interface I { a: number }
type T = string;
enum E { A }
export default function () {}
Foo.prototype.bar = function () {};
module.exports = { zip() {} };
exports.zap = () => {};
"""


@pytest.mark.usefixtures("script")
def test_scripts() -> None:
    assert rows(read("a.ts", SCRIPT, "typescript")) == [
        ("A", "", 1, 8),
        ("A.#p", "", 2, 2),
        ("A.handler", "", 4, 4),
        ("A.constructor", "", 5, 5),
        ("A.v", "", 6, 6),
        ("f", "", 9, 11),
        ("o.m", "", 12, 12),
        ("o.n", "", 12, 12),
        ("o.k.d", "", 12, 12),
        ("wrapped", "", 14, 14),
        ("inside", "N.M", 16, 16),
        ("I", "", 17, 17),
        ("T", "", 18, 18),
        ("E", "", 19, 19),
        ("default", "", 20, 20),
        ("Foo.bar", "", 21, 21),
        ("zip", "", 22, 22),
        ("zap", "", 23, 23),
    ]


@pytest.mark.usefixtures("script")
def test_a_script_is_read_by_its_suffix_and_its_lines_end_with_line_feeds() -> None:
    cast = "const f = () => <T>x;\n"
    assert read("a.ts", cast, "typescript").outline is not None
    assert read("a.tsx", cast, "typescript").outline is None
    assert rows(read("a.js", "// \u2028 \r x\nfunction f() {}\n", "javascript")) == [("f", "", 2, 2)]


def test_a_language_without_a_parser_is_an_error() -> None:
    with pytest.raises(InputError, match="cobol"):
        read("a.cob", "", "cobol")


def test_what_was_read_is_kept_up_to_a_limit() -> None:
    sources = Sources(most=2)
    first = sources.read("a.py", b"a = 1\n", "python")
    assert sources.read("b/c.py", b"a = 1\n", "python") is first
    sources.read("a.py", b"a = 2\n", "python")
    sources.read("a.py", b"a = 3\n", "python")
    assert sources.read("a.py", b"a = 1\n", "python") is not first


@st.composite
def nested(draw: st.DrawFn) -> list[Definition]:
    """Definitions that are properly nested, as those of a file are."""
    found: list[Definition] = []

    def fill(first: int, last: int, depth: int) -> None:
        line = first
        while line <= last and depth < 4:
            start = draw(st.integers(line, last))
            end = draw(st.integers(start, last))
            found.append(Definition(f"d{len(found)}", "", start, end))
            if start < end:
                fill(start + 1, end - 1, depth + 1)
            line = end + 1 + draw(st.integers(0, 3))

    fill(1, draw(st.integers(1, 25)), 0)
    return found


@given(nested(), st.randoms(use_true_random=False))
def test_the_owner_of_a_line_is_the_smallest_definition_around_it(found: list[Definition], random: object) -> None:
    shuffled = sorted(found, key=lambda _: random.random())  # type: ignore[attr-defined]
    outline = Outline(tuple(shuffled))
    for line in range(28):
        around = [one for one in found if one.first <= line <= one.last]
        assert outline.at(line) == (min(around, key=lambda one: one.last - one.first) if around else None)
