"""A chain takes entries, gives them back, and shows whatever was done to its file."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsimony.chain import ADOPTED, GENESIS, MENDED, Chain, Entry
from parsimony.errors import InputError, LedgerCorrupt, LedgerError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def clock() -> datetime:
    return datetime(2026, 12, 1, 2, 3, 4, 5, tzinfo=UTC)


def filled(path: Path, count: int = 5) -> Chain:
    chain = Chain.open(path, clock=clock)
    for number in range(count):
        chain.append("test.entry", {"value": number, "text": "é"})
    return chain


def content(chain: Chain) -> list[tuple[str, object]]:
    return [(entry.kind, entry.data) for entry in chain.entries()]


def test_a_new_chain_is_empty_and_makes_no_file(tmp_path: Path) -> None:
    chain = Chain.open(tmp_path / "ledger.jsonl")
    assert list(chain.entries()) == []
    assert chain.head == GENESIS
    assert not chain.path.exists()


def test_entries_come_back_in_their_order_with_numbers_and_times(tmp_path: Path) -> None:
    chain = filled(tmp_path / "l", 3)
    chain.append("other", {})
    again = Chain.open(tmp_path / "l")
    assert list(again.entries()) == list(chain.entries())
    assert [entry.number for entry in again.entries()] == [1, 2, 3, 4]
    assert [entry.data["value"] for entry in again.entries("test.entry")] == [0, 1, 2]
    assert next(again.entries()).at == "2026-12-01T02:03:04.000005Z"
    assert again.holds(next(again.entries()).digest)
    assert not again.holds(GENESIS)


def test_the_digest_is_what_the_description_of_the_format_says(tmp_path: Path) -> None:
    from hashlib import sha256

    entry = Chain.open(tmp_path / "l", clock=clock).append("k", {"b": 1, "a": [True, None]})
    body = b'{"at":"2026-12-01T02:03:04.000005Z","data":{"a":[true,null],"b":1},"kind":"k","number":1}'
    genesis = b"sha256:" + sha256(b"parsimony chain 1").hexdigest().encode()
    assert entry.digest == "sha256:" + sha256(genesis + b"\n" + body).hexdigest()
    assert json.loads((tmp_path / "l").read_bytes())["digest"] == entry.digest


@given(st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=6))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_any_json_object_comes_back(tmp_path: Path, rows: list[dict[str, object]]) -> None:
    path = tmp_path / "l"
    for old in (path, path.with_name("l.head")):
        old.unlink(missing_ok=True)
    chain = Chain.open(path)
    chain.extend([("k", row) for row in rows])
    assert [entry.data for entry in Chain.open(path).entries()] == rows


def test_keys_that_are_no_texts_are_as_json_writes_them(tmp_path: Path) -> None:
    entry = Chain.open(tmp_path / "l").append("k", {"x": {10: "a", 9: "b"}, "t": (1, 2)})
    assert entry.data == {"x": {"10": "a", "9": "b"}, "t": [1, 2]}
    assert next(Chain.open(tmp_path / "l").entries()) == entry


@pytest.mark.parametrize("kind", ["", "Big", "a b", "a\n", "9x"])
def test_a_kind_is_a_plain_word(tmp_path: Path, kind: str) -> None:
    with pytest.raises(ValueError, match="no kind"):
        Chain.open(tmp_path / "l").append(kind, {})
    assert list(Chain.open(tmp_path / "l").entries()) == []


def test_nothing_is_added_when_one_of_several_cannot_be(tmp_path: Path) -> None:
    chain = filled(tmp_path / "l", 1)
    with pytest.raises(ValueError, match="JSON compliant"):
        chain.extend([("k", {"good": 1}), ("k", {"bad": float("nan")})])
    assert len(chain) == 1
    assert content(Chain.open(tmp_path / "l")) == content(chain)


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
def test_any_change_of_a_byte_is_found(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "l"
    if not path.exists():
        filled(path)
        (tmp_path / "original").write_bytes(path.read_bytes())
        (tmp_path / "original.head").write_bytes(path.with_name("l.head").read_bytes())
    original = (tmp_path / "original").read_bytes()
    position = data.draw(st.integers(0, len(original) - 1))
    new = data.draw(st.sampled_from([b"", b"\n", b" ", b"0", b"x"]) | st.binary(max_size=3))
    damaged = original[:position] + new + original[position + data.draw(st.integers(0, 2)) :]
    path.write_bytes(damaged)
    path.with_name("l.head").write_bytes((tmp_path / "original.head").read_bytes())
    before = [json.loads(line)["digest"] for line in original.splitlines()]
    try:
        found = Chain.open(path)
    except LedgerCorrupt:
        assert damaged != original
        return
    # Only what stands after the last whole line can be anything but found, and then nothing that was there is lost.
    assert [entry.digest for entry in found.entries()][: len(before)] == before
    if damaged != original:
        assert [entry.kind for entry in found.entries()][len(before) :] == [MENDED]


def test_every_cut_is_found_or_mended(tmp_path: Path) -> None:
    path = tmp_path / "l"
    filled(path, 3)
    original, head = path.read_bytes(), path.with_name("l.head").read_bytes()
    for size in range(len(original)):
        path.write_bytes(original[:size])
        path.with_name("l.head").write_bytes(head)
        if size == len(original) - 1:
            assert [entry.kind for entry in Chain.open(path).entries()] == ["test.entry"] * 3 + [MENDED]
        else:
            with pytest.raises(LedgerCorrupt):
                Chain.open(path)


def _swap(lines: list[bytes]) -> list[bytes]:
    return [lines[1], lines[0], *lines[2:]]


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (lambda lines: lines[1:], 1),
        (lambda lines: [*lines[:2], *lines[3:]], 3),
        (lambda lines: lines[:-1], 5),
        (lambda lines: [lines[0], *lines], 2),
        (_swap, 1),
        (lambda lines: [*lines[:3], b"\n", *lines[3:]], 4),
        (lambda lines: [*lines[:3], lines[3].replace(b'"value":3', b'"value":4'), *lines[4:]], 4),
        (lambda lines: [*lines[:3], lines[3].replace(b",", b", ", 1), *lines[4:]], 4),
    ],
)
def test_the_line_is_named(tmp_path: Path, edit: Callable[[list[bytes]], list[bytes]], line: int) -> None:
    path = tmp_path / "l"
    filled(path)
    path.write_bytes(b"".join(edit(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(LedgerCorrupt, match=rf"l:{line}: "):
        Chain.open(path)


def test_a_line_that_was_sealed_again_breaks_the_next(tmp_path: Path) -> None:
    path = tmp_path / "l"
    entries = list(filled(path).entries())
    forged = Entry.following(2, entries[0].digest, entries[1].at, "test.entry", {"value": 99})
    path.write_bytes(b"".join(entry.line for entry in [entries[0], forged, *entries[2:]]))
    with pytest.raises(LedgerCorrupt, match="l:3: "):
        Chain.open(path)


def test_a_torn_line_is_cut_off_and_the_cut_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "l"
    filled(path, 2)
    with path.open("ab") as file:
        file.write(b'{"at":"20')
    chain = Chain.open(path)
    assert [entry.kind for entry in chain.entries()] == ["test.entry", "test.entry", MENDED]
    mend = next(chain.entries(MENDED)).data
    assert (mend["done"], mend["bytes"]) == ("cut off", 9)
    assert content(Chain.open(path)) == content(chain)


def test_a_whole_line_before_its_head_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "l"
    filled(path, 2)
    head = path.with_name("l.head").read_bytes()
    filled_again = Chain.open(path)
    filled_again.append("late", {})
    path.with_name("l.head").write_bytes(head)  # a crash between the line and its head
    assert [entry.kind for entry in Chain.open(path).entries()] == ["test.entry", "test.entry", "late"]


def test_a_ledger_without_its_head_is_refused_until_it_is_adopted(tmp_path: Path) -> None:
    path = tmp_path / "l"
    filled(path, 3)
    path.with_name("l.head").unlink()
    with pytest.raises(LedgerCorrupt, match="adopt"):
        Chain.open(path)
    chain = Chain.adopt(path)
    assert [entry.kind for entry in chain.entries()][3:] == [ADOPTED]
    assert content(Chain.open(path)) == content(chain)
    assert len(Chain.adopt(path)) == 4  # a second time there is nothing to adopt


def test_a_ledger_that_is_gone_is_missed(tmp_path: Path) -> None:
    path = tmp_path / "l"
    chain = filled(path, 3)
    path.unlink()
    with pytest.raises(LedgerCorrupt, match="gone"):
        Chain.open(path)
    with pytest.raises(LedgerCorrupt, match="gone"):
        chain.append("k", {})


def test_a_head_that_is_no_head_is_found(tmp_path: Path) -> None:
    path = tmp_path / "l"
    filled(path, 3)
    for text in ("", "3", "x y", "3 sha256:00", "0 " + GENESIS, "-1 " + GENESIS):
        path.with_name("l.head").write_text(text)
        with pytest.raises(LedgerCorrupt):
            Chain.open(path)


def test_what_others_append_is_read_before_the_own_line(tmp_path: Path) -> None:
    one, two = Chain.open(tmp_path / "l"), Chain.open(tmp_path / "l")
    one.append("k", {"by": 1})
    two.append("k", {"by": 2})
    one.append("k", {"by": 1})
    two.refresh()
    assert [entry.data["by"] for entry in two.entries()] == [1, 2, 1]


def test_writing_holds_off_others_and_shows_their_entries(tmp_path: Path) -> None:
    one, two = Chain.open(tmp_path / "l"), Chain.open(tmp_path / "l")
    one.append("k", {})
    with two.writing():
        assert len(two) == 1
        two.append("k", {})
        with two.writing():
            two.append("k", {})
    assert len(Chain.open(tmp_path / "l")) == 3


def _append_many(path: Path, name: int) -> None:
    chain = Chain.open(path)
    for number in range(25):
        chain.append("k", {"by": name, "n": number})


def test_several_processes_append_without_losing_a_line(tmp_path: Path) -> None:
    path = tmp_path / "l"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append_many, args=(path, name)) for name in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    entries = list(Chain.open(path).entries())
    for name in range(3):
        assert [entry.data["n"] for entry in entries if entry.data["by"] == name] == list(range(25))
    assert len(entries) == 75


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        Chain.open(tmp_path / "no" / "l").append("k", {})


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="directory"):
        Chain.open(tmp_path)


def test_when_the_disk_is_full_nothing_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chain = filled(tmp_path / "l", 2)
    before = (tmp_path / "l").read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("parsimony.chain.os.fsync", full)
        with pytest.raises(LedgerError, match="No space"):
            chain.append("k", {})
    assert (tmp_path / "l").read_bytes() == before
    chain.append("k", {"later": True})
    assert len(Chain.open(tmp_path / "l")) == 3


def test_several_entries_are_one_write(tmp_path: Path) -> None:
    chain = Chain.open(tmp_path / "l")
    added = chain.extend(("k", {"n": n}) for n in range(1000))
    assert [entry.data["n"] for entry in Chain.open(tmp_path / "l").entries()] == list(range(1000))
    assert added[-1].digest == chain.head
    assert chain.extend([]) == []
