"""A copy is whole or it is not there; only what is new is sent; nobody's files but the copy's own are removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cluster import upload as module
from cluster.ledger.lock import WriterLock
from cluster.upload import MANIFEST, Uploaded, upload
from parsimony.cli.app import app
from parsimony.errors import InputError, LedgerLocked, TemporaryError


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    for name, data in {
        "summary.json": b"{}",
        "logs/t/a-1.log": b"\xff\x00log",
        "ledger/part-1.parquet": b"PAR1",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    (folder / "ledger" / "LOCK").write_text("")
    (folder / "half.tmp").write_text("x")
    (folder / "link").symlink_to("/etc/hostname")
    return folder


def there(tmp_path: Path) -> dict[str, bytes]:
    root = tmp_path / "store"
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def url(tmp_path: Path) -> str:
    return f"file://{tmp_path}/store"


def test_regular_files_and_a_manifest_of_them(run: Path, tmp_path: Path) -> None:
    assert upload(run, url(tmp_path)) == Uploaded(files=3, sent=3, sent_bytes=11, removed=0)
    copy = there(tmp_path)
    assert copy["logs/t/a-1.log"] == b"\xff\x00log"
    assert sorted(copy) == [MANIFEST, "ledger/part-1.parquet", "logs/t/a-1.log", "summary.json"]
    assert sorted(json.loads(copy[MANIFEST])["files"]) == ["ledger/part-1.parquet", "logs/t/a-1.log", "summary.json"]


def test_only_what_is_new_is_sent_and_what_is_gone_is_removed(run: Path, tmp_path: Path) -> None:
    upload(run, url(tmp_path))
    (tmp_path / "store" / "of-somebody-else").write_text("stays")
    assert upload(run, url(tmp_path)) == Uploaded(files=3, sent=0, sent_bytes=0, removed=0)
    (run / "summary.json").write_bytes(b"[]")  # as long as before: the digest tells
    (run / "logs/t/a-1.log").unlink()
    assert upload(run, url(tmp_path)) == Uploaded(files=2, sent=1, sent_bytes=2, removed=1)
    copy = there(tmp_path)
    assert copy["summary.json"] == b"[]"
    assert "logs/t/a-1.log" not in copy
    assert copy["of-somebody-else"] == b"stays"


def test_a_copy_that_breaks_off_leaves_the_old_manifest(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(run, url(tmp_path))
    before = there(tmp_path)[MANIFEST]
    (run / "new.json").write_text("1")
    opened = module._open

    def breaking(url: str) -> tuple[Any, str]:
        system, root = opened(url)

        class Breaks:
            def __getattr__(self, name: str) -> Any:
                return getattr(system, name)

            def put_file(self, source: str, target: str) -> None:
                raise ConnectionError("gone\naway")

        return Breaks(), root

    monkeypatch.setattr(module, "_open", breaking)
    with pytest.raises(TemporaryError, match="ConnectionError: gone away"):
        upload(run, url(tmp_path))
    assert there(tmp_path)[MANIFEST] == before


@pytest.mark.parametrize("text", [b"{", b"[]", b'{"schema": 2, "files": {}}', b'{"schema": 1, "files": 3}'])
def test_a_manifest_of_something_else_means_everything_again(run: Path, tmp_path: Path, text: bytes) -> None:
    upload(run, url(tmp_path))
    (tmp_path / "store" / MANIFEST).write_bytes(text)
    assert upload(run, url(tmp_path)).sent == 3


def test_a_manifest_cannot_have_anything_else_removed(run: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("stays")
    upload(run, url(tmp_path))
    names = ["../outside", str(outside), "a/../../outside"]
    found = {"schema": 1, "files": {name: {"bytes": 5, "sha256": "0"} for name in names}}
    (tmp_path / "store" / MANIFEST).write_text(json.dumps(found))
    assert upload(run, url(tmp_path)).removed == 0
    assert outside.read_text() == "stays"


@pytest.mark.parametrize("deep", ["ledger", "2026-12-01/ledger", "2026-12-01/run/ledger"])
def test_a_run_that_goes_on_is_not_copied(run: Path, tmp_path: Path, deep: str) -> None:
    ledger = run / deep
    ledger.mkdir(parents=True, exist_ok=True)
    lock = WriterLock(ledger)
    try:
        with pytest.raises(LedgerLocked):
            upload(run, url(tmp_path))
    finally:
        lock.release()
    assert upload(run, url(tmp_path)).files == 3


@pytest.mark.parametrize(
    ("target", "message"),
    [("plain/path", "is no URL"), ("nowhere://x/y", "nothing here reads nowhere://"), ("memory://", "names no folder")],
)
def test_urls_that_cannot_be(run: Path, target: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        upload(run, target)


def test_the_folder_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        upload(tmp_path / "none", url(tmp_path))


def test_the_command(run: Path, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["upload", str(run), url(tmp_path)])
    assert (shown.exit_code, shown.output) == (0, f"3 files, 3 sent (11 bytes): {url(tmp_path)}\n")
    told = CliRunner().invoke(app, ["upload", str(run), url(tmp_path), "--json"])
    assert json.loads(told.output) == {"files": 3, "removed": 0, "sent": 0, "sent_bytes": 0, "url": url(tmp_path)}
