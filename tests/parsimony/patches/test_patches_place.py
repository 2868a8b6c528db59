"""Where hunks go: each rule once, with numbers worked out by hand."""

import pytest

from parsimony.errors import InputError
from parsimony.patches.place import Edit, place

TWENTY = [f"l{number}\n" for number in range(1, 21)]


def edit(old_start: int, old: list[str], new_start: int, new: list[str], row: int = 5) -> Edit[str]:
    return Edit(row, old_start, [f"{line}\n" for line in old], new_start, [f"{line}\n" for line in new])


def changed(*changes: tuple[int, str]) -> list[str]:
    lines = list(TWENTY)
    for number, text in changes:
        lines[number - 1] = f"{text}\n"
    return lines


def test_at_the_stated_line() -> None:
    assert place(TWENTY, [edit(5, ["l5"], 5, ["m5"]), edit(9, ["l9"], 9, ["m9"])]) == (changed((5, "m5"), (9, "m9")), 0)


def test_an_exact_place_wins_over_others() -> None:
    assert place(["a\n"] * 5, [edit(3, ["a"], 3, ["b"])]) == (["a\n", "a\n", "b\n", "a\n", "a\n"], 0)


def test_the_nearest_place_takes_a_hunk_and_its_shift_is_inherited() -> None:
    edits = [edit(3, ["l5", "l6"], 3, ["l5", "m6"]), edit(10, ["l12", "l13"], 10, ["l12", "m13"])]
    assert place(TWENTY, edits) == (changed((6, "m6"), (13, "m13")), 2)
    back = [edit(6, ["l5"], 6, ["m5"]), edit(8, ["l8"], 8, ["m8"])]
    assert place(TWENTY, back) == (changed((5, "m5"), (8, "m8")), 1)


def test_nearer_wins_on_either_side() -> None:
    lines = ["x\n", "a\n", "b\n", "c\n", "d\n", "x\n", "e\n"]
    assert place(lines, [edit(3, ["x"], 3, ["y"])])[0][0] == "y\n"
    assert place(lines, [edit(5, ["x"], 5, ["y"])])[0][5] == "y\n"


def test_two_places_at_the_same_distance_are_ambiguous() -> None:
    with pytest.raises(InputError, match="two places"):
        place(["x\n", "a\n", "b\n", "c\n", "x\n"], [edit(3, ["x"], 3, ["y"])])


def test_a_place_before_the_last_hunk_is_not_used() -> None:
    lines = ["x\n", "a\n", "b\n", "c\n"]
    with pytest.raises(InputError, match="not in the base"):
        place(lines, [edit(2, ["a"], 2, ["A"]), edit(3, ["x"], 3, ["y"])])


def test_an_empty_old_side_goes_to_its_line_unchecked() -> None:
    assert place(["a\n", "b\n"], [edit(1, [], 2, ["n"])]) == (["a\n", "n\n", "b\n"], 0)
    assert place(["a\n", "b\n"], [edit(2, [], 3, ["n"])]) == (["a\n", "b\n", "n\n"], 0)
    assert place([], [edit(0, [], 1, ["n"])]) == (["n\n"], 0)
    shifted = [edit(3, ["l5"], 3, ["m5"]), edit(10, [], 11, ["n"])]
    assert place(TWENTY, shifted) == ([*changed((5, "m5"))[:12], "n\n", *TWENTY[12:]], 2)


def test_lengths_move_the_new_side() -> None:
    edits = [edit(2, ["l2"], 2, ["a", "b"]), edit(5, ["l5", "l6"], 6, []), edit(9, ["l9"], 8, ["m9"])]
    with pytest.raises(InputError, match="new line number"):
        place(TWENTY, edits)
    edits[1] = edit(5, ["l5", "l6"], 5, [])
    assert place(TWENTY, edits) == (["l1\n", "a\n", "b\n", "l3\n", "l4\n", "l7\n", "l8\n", "m9\n", *TWENTY[9:]], 0)


@pytest.mark.parametrize("start", [0, 22, 40])
def test_a_stated_line_outside_of_the_file(start: int) -> None:
    with pytest.raises(InputError, match="outside"):
        place(TWENTY, [edit(start, ["l10"], start, ["m10"])])


def test_one_line_beyond_the_end_may_still_be_searched_from() -> None:
    assert place(TWENTY, [edit(21, ["l10"], 21, ["m10"])]) == (changed((10, "m10")), 1)


@pytest.mark.parametrize("second", [3, 2])
def test_hunks_may_not_overlap_or_run_backwards(second: int) -> None:
    with pytest.raises(InputError, match="inside the hunk before"):
        place(TWENTY, [edit(3, ["l3"], 3, ["m3"]), edit(second, [f"l{second}"], second, ["m"])])


def test_the_row_of_the_hunk_is_named() -> None:
    with pytest.raises(InputError, match=r"^row 77: "):
        place(TWENTY, [edit(3, ["nowhere"], 3, ["m"], row=77)])


def test_the_last_line_may_lack_its_line_feed() -> None:
    assert place([b"a\n", b"b"], [Edit(1, 2, [b"b"], 2, [b"c"])]) == ([b"a\n", b"c"], 0)
    with pytest.raises(InputError):
        place([b"a\n", b"b"], [Edit(1, 2, [b"b\n"], 2, [b"c"])])


def test_a_hostile_search_is_given_up() -> None:
    lines = ["a\n", "b\n"] * 20_000
    old = ["a\n", "b\n"] * 5_000 + ["b\n", "a\n"]
    with pytest.raises(InputError, match="too long"):
        place(lines, [Edit(1, 1, old, 1, [])])
