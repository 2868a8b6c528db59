"""Patches from contents: git and our own strict reader make of the base just what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony import patches
from parsimony.audit.diffs import diff

CONTENT = st.none() | st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"c\r\n", b"\xff\n", b"end"]), max_size=12).map(
    b"".join
)


@given(before=CONTENT, after=CONTENT)
def test_strict_application_gives_the_other_side(before: bytes | None, after: bytes | None) -> None:
    patch = diff({"d/f.py": before}, {"d/f.py": after})
    result = patches.apply_strict(patch, {b"d/f.py": before} if before is not None else {})
    assert result.contents.get(b"d/f.py", before) == after
    assert result.offset_hunks == 0
    assert (patch == b"") == (before == after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\ntwo", b"one\ntwo\n"),
        (b"one\ntwo\n", b"one\ntwo"),
        (b"a\nb\nc\nd\ne\nf\ng\nh\ni\n", b"a\nb\nc\nd\nX\nf\ng\nh\ni\n"),
        (None, b"new\n"),
        (None, b""),
        (b"gone", None),
        (b"", None),
        (b"x\r\ny\r\n", b"x\r\ny\r\nz\r\n"),
    ],
)
def test_git_takes_it(
    apply: Callable[[Mapping[str, bytes], bytes], dict[str, bytes]], before: bytes | None, after: bytes | None
) -> None:
    base = {"other.txt": b"o\n", **({"a dir/f.py": before} if before is not None else {})}
    tree = apply(base, diff({"a dir/f.py": before}, {"a dir/f.py": after}))
    assert tree.get("a dir/f.py") == after
