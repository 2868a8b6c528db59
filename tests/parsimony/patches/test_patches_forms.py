"""The forms in which a patch is handed over, without running anything."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.patches import parse, prepare

CHANGE = b"--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ f\n a\n-b\n+c\n"
NEW = b"--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n"
DATALESS = b"diff --git a/p.png b/p.png\nnew file mode 100644\nindex 0..1\nBinary files /dev/null and b/p.png differ\n"
IDS = b"diff --git a/b b/b\nindex " + b"1" * 40 + b".." + b"2" * 40 + b" 100644\n"
BINARY = IDS + b"GIT binary patch\nliteral 2\nJcmZQz0ssI600RI3\n\nliteral 2\nJcmZQz1ONa700IC2\n\n"
HEAD, BODY = CHANGE[: CHANGE.index(b" a\n")], CHANGE[CHANGE.index(b" a\n") :]
MARKER = b"\\ No newline at end of file\n"


def forms(data: bytes) -> dict[str, bytes]:
    prepared = prepare(data)
    assert prepared.refused == ()
    return {variant.name: variant.data for variant in prepared.variants}


def crlf(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def test_a_sound_patch_is_handed_over_as_it_is() -> None:
    prepared = prepare(CHANGE)
    assert (prepared.data, prepared.repairs) == (CHANGE, ())
    assert [variant.name for variant in prepared.variants] == ["raw", "crlf"]
    assert prepared.fuzzy is not None
    assert (prepared.fuzzy.data, prepared.fuzzy.repairs) == (CHANGE, ())
    assert prepared.touched == (b"x",)
    assert [variant.name for variant in prepare(NEW).variants] == ["raw"]


def test_a_missing_line_feed() -> None:
    prepared = prepare(CHANGE[:-1])
    assert [variant.name for variant in prepared.variants] == ["raw", "mended", "crlf"]
    assert prepared.variants[0].data == CHANGE[:-1]
    assert prepared.variants[1].data == CHANGE
    assert prepared.variants[1].repairs == ("final line feed added (line 6)",)


def test_binary_data_cut_at_their_end() -> None:
    for cut in (1, 2):
        assert forms(BINARY[:-cut])["mended"] == BINARY
    assert "mended" not in forms(BINARY)
    assert prepare(BINARY).fuzzy is None


def test_binary_without_data_is_left_out() -> None:
    prepared = prepare(DATALESS + CHANGE)
    assert prepared.variants[1].data == CHANGE
    assert prepared.variants[1].repairs == ("binary file without data left out: p.png",)
    assert prepared.touched == (b"p.png", b"x")
    assert prepared.fuzzy is not None
    assert prepared.fuzzy.data == CHANGE
    assert [variant.name for variant in prepare(DATALESS).variants] == ["raw"]
    assert prepare(DATALESS).fuzzy is None


def test_a_plain_binary_line_is_a_loss_of_the_raw_form() -> None:
    prepared = prepare(b"Binary files old/p and new/p differ\n" + CHANGE)
    assert prepared.variants[0].losses == ("git leaves out a binary file without data (line 1)",)
    assert prepared.applicable[0].name == "mended"
    assert (prepared.data, prepared.repairs) == (CHANGE, ("binary file without data left out: new/p",))


def test_a_byte_order_mark() -> None:
    prepared = prepare(b"\xef\xbb\xbf" + CHANGE)
    assert prepared.variants[0].losses != ()
    assert prepared.applicable[0].data == CHANGE
    assert prepared.applicable[0].repairs == ("byte order mark taken off (line 1)",)


def test_headers_that_are_torn_apart() -> None:
    header = b"diff --git a/n b/n\nnew file mode 100755\n"
    prepared = prepare(header + b"\n" + NEW)
    assert prepared.variants[0].losses != ()
    assert prepared.data == header + NEW
    assert prepared.repairs == ("lines between the headers of a file left out (line 3)",)
    assert prepare(b"diff --git a/x b/x\n\n" + CHANGE).variants[0].losses == ()


def test_counts_are_corrected_in_a_form_of_their_own() -> None:
    prepared = prepare(CHANGE.replace(b"-1,2 +1,2 @@ f", b"-1,5 +1 @@ f"))
    assert prepared.variants[0].losses == ()
    assert prepared.variants[1].name == "recounted"
    assert prepared.variants[1].data == CHANGE
    assert prepared.variants[1].repairs == ("hunk at line 3 of x: counts corrected to -1,2 +1,2",)
    assert prepared.fuzzy is not None
    assert prepared.fuzzy.data == CHANGE


def test_edits_beyond_the_counts_are_a_loss_of_the_raw_form() -> None:
    prepared = prepare(CHANGE + b" d\n+e\n")
    assert prepared.variants[0].losses == ("git leaves out edits beyond the counts of a hunk (line 7)",)
    assert prepared.data == CHANGE.replace(b"-1,2 +1,2", b"-1,3 +1,4") + b" d\n+e\n"
    assert prepare(CHANGE + b" d\n").variants[0].losses == ()
    assert [variant.name for variant in prepare(CHANGE + b"-- \n2.39.5\n\n").variants] == ["raw", "crlf"]
    assert [variant.name for variant in prepare(CHANGE + b"\n- a remark\n+ another\n").variants] == ["raw", "crlf"]


def test_a_hunk_without_changes_is_not_recounted() -> None:
    assert [variant.name for variant in prepare(b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n b\n").variants] == ["raw"]


def test_blank_lines_between_hunks() -> None:
    second = b"@@ -9 +9 @@\n-i\n+j\n"
    prepared = prepare(CHANGE + b"\n\n" + second)
    assert prepared.variants[1].data == CHANGE + second
    assert prepared.variants[1].repairs == ("blank lines between hunks left out (line 7)",)


@pytest.mark.parametrize(
    ("data", "losses"),
    [
        (CHANGE + b"and then\n@@ -9 +9 @@\n-i\n+j\n", False),
        (CHANGE + b"@@ ... @@\n-i\n+j\n", True),
        (CHANGE + b"@@ -9 @@\n-i\n+j\n", True),
        (CHANGE + b"diff --cc y\nindex 1,2..3\n", True),
        (b"@@ -1 +1 @@\n-a\n+b\n" + CHANGE, False),
        (b"no patch\n", False),
        (b"diff --git a b c d\nold mode 100644\nnew mode 100755\n" + BINARY + CHANGE, False),
    ],
)
def test_nothing_is_made_of_what_was_not_understood(data: bytes, losses: bool) -> None:
    prepared = prepare(data)
    assert [variant.name for variant in prepared.variants] == ["raw"]
    assert prepared.fuzzy is None
    assert bool(prepared.variants[0].losses) is losses
    assert bool(prepared.applicable) is not losses
    assert prepared.data == data


def test_text_around_the_diff_is_kept_from_patch() -> None:
    prepared = prepare(b"Index: ../../x\n" + CHANGE + b"```\n")
    assert prepared.fuzzy is not None
    assert (prepared.fuzzy.data, prepared.fuzzy.repairs) == (CHANGE, ("text around the diff left out",))
    assert [variant.name for variant in prepared.variants] == ["raw", "crlf"]


def test_a_refused_patch_has_no_form_to_apply() -> None:
    prepared = prepare(CHANGE.replace(b"b/x", b"b/../x") + CHANGE[:-1])
    assert prepared.refused == ("a path leaves the tree: b/../x",)
    assert prepared.applicable == ()
    assert prepared.fuzzy is None
    assert [variant.name for variant in prepared.variants] == ["raw"]


def test_line_ends_of_a_patch_that_was_converted() -> None:
    mode = b"diff --git a/m b/m\nold mode 100644\nnew mode 100755\n"
    whole = CHANGE + NEW + mode + BINARY
    prepared = prepare(crlf(whole))
    assert forms(crlf(whole)) == {"raw": crlf(whole), "lf": whole}
    assert prepared.variants[1].repairs == tuple(f"CR LF line ends made LF: {name}" for name in ("x", "n", "m", "b"))
    assert forms(crlf(HEAD + crlf(BODY)))["lf"] == HEAD + crlf(BODY)
    assert forms(crlf(CHANGE)[:-1])["lf"] == CHANGE


def test_line_ends_of_bodies() -> None:
    assert forms(HEAD + crlf(BODY)) == {"raw": HEAD + crlf(BODY), "lf": CHANGE}
    assert forms(CHANGE)["crlf"] == HEAD + crlf(BODY)
    mixed = HEAD + b" a\n-b\r\n+c\r\n"
    assert forms(mixed) == {"raw": mixed}
    new = NEW.replace(b"+n\n", b"+n\r\n")
    assert forms(new + HEAD + crlf(BODY))["lf"] == new + CHANGE
    assert forms(NEW + CHANGE)["crlf"] == NEW + HEAD + crlf(BODY)


def test_line_ends_at_the_end_of_a_file_and_of_blank_context() -> None:
    head = b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n"
    data = head + b" a\n\n-b\n" + MARKER + b"+c\n" + MARKER
    assert forms(data)["crlf"] == head + b" a\r\n \r\n-b\n" + MARKER + b"+c\n" + MARKER
    back = head + b" a\r\n \r\n-b\n" + MARKER + b"+c\n" + MARKER
    assert forms(back)["lf"] == head + b" a\n \n-b\n" + MARKER + b"+c\n" + MARKER


def test_links_and_submodules_have_no_line_ends() -> None:
    for mode in (b"120000", b"160000"):
        data = b"diff --git a/l b/l\nindex 1..2 " + mode + b"\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-a\n+b\n"
        assert forms(data) == {"raw": data}
        assert (prepare(data).fuzzy is None) == (mode == b"160000")


def test_a_hunk_of_nothing() -> None:
    data = b"--- a/x\n+++ b/x\n@@ -1,0 +1,0 @@\n"
    assert prepare(data).data == data


def test_mends_add_up() -> None:
    data = b"\xef\xbb\xbf" + DATALESS + CHANGE.replace(b"+1,2", b"+1,4")[:-1]
    prepared = prepare(data)
    assert [variant.name for variant in prepared.applicable] == ["recounted", "crlf"]
    assert prepared.data == CHANGE
    assert len(prepared.repairs) == 4
    assert prepared.variants[2].repairs[:4] == prepared.repairs


@given(st.one_of(st.binary(max_size=200), st.binary(max_size=40).map(lambda junk: CHANGE + junk + NEW + junk)))
def test_preparing_never_raises_and_keeps_the_raw_form_first(data: bytes) -> None:
    prepared = prepare(data)
    assert prepared.variants[0].name == "raw"
    assert prepared.variants[0].data == data
    assert prepared.variants[0].repairs == ()
    for variant in prepared.variants[1:]:
        assert variant.repairs
        assert not variant.losses
        assert parse(variant.data).files
    assert pickle.loads(pickle.dumps(prepared)) == prepared
