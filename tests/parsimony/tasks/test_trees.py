from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parsimony.errors import InputError
from parsimony.tasks import trees
from parsimony.tasks.trees import Trees


def make_tree(folder: Path) -> Path:
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg" / "a.py").write_bytes(b"a = 1\n")
    (folder / "run").write_bytes(b"#!/bin/sh\n")
    (folder / "run").chmod(0o750)
    (folder / "pkg" / "link").symlink_to("../run")
    (folder / "empty").mkdir()
    return folder


def pack(path: Path, *members: tuple[str, bytes] | tarfile.TarInfo, mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size, info.mtime, info.uid, info.mode = len(member[1]), 99, 7, 0o664
                archive.addfile(info, io.BytesIO(member[1]))
    return path


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def contents(data: bytes) -> dict[str, tuple[int, bytes | str]]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = archive.getmembers()
        assert all((m.mtime, m.uid, m.gid, m.uname, m.gname) == (0, 0, 0, "", "") for m in members)
        assert [m.name for m in members] == sorted(m.name for m in members)
        found: dict[str, tuple[int, bytes | str]] = {}
        for member in members:
            file = archive.extractfile(member) if member.isreg() else None
            found[member.name] = (member.mode, file.read() if file else member.linkname)
        return found


EXPECTED = {"pkg/a.py": (0o644, b"a = 1\n"), "pkg/link": (0o777, "../run"), "run": (0o755, b"#!/bin/sh\n")}


def test_a_directory_becomes_a_tar(tmp_path: Path) -> None:
    make_tree(tmp_path / "tree")
    assert contents(Trees(tmp_path).read("tree")) == EXPECTED


def test_the_same_tree_gives_the_same_bytes_whatever_its_owner_times_and_by_products(tmp_path: Path) -> None:
    make_tree(tmp_path / "one")
    other = make_tree(tmp_path / "two" / "deeper")
    (other / "pkg" / "__pycache__").mkdir()
    (other / "pkg" / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"x")
    (other / "pkg" / "a.py").chmod(0o600)
    os.utime(other / "run", (1, 1))
    reader = Trees(tmp_path)
    assert reader.read("one") == reader.read("two/deeper")


@pytest.mark.parametrize(("name", "mode"), [("t.tar", "w"), ("t.tar.gz", "w:gz"), ("t.tgz", "w:gz")])
def test_an_archive_gives_the_bytes_of_the_directory(tmp_path: Path, name: str, mode: str) -> None:
    make_tree(tmp_path / "tree")
    run = special("./run", tarfile.REGTYPE)
    run.size, run.mode = 10, 0o700
    with tarfile.open(tmp_path / name, mode) as archive:  # type: ignore[call-overload]
        archive.addfile(special("pkg", tarfile.DIRTYPE))
        archive.addfile(special("pkg/link", tarfile.SYMTYPE, "../run"))
        archive.addfile(run, io.BytesIO(b"#!/bin/sh\n"))
        archive.add(tmp_path / "tree" / "pkg" / "a.py", "./pkg/a.py")
    reader = Trees(tmp_path)
    assert reader.read(name) == reader.read("tree")


def test_a_hard_link_becomes_a_file(tmp_path: Path) -> None:
    pack(tmp_path / "t.tar", ("a", b"1"), special("b", tarfile.LNKTYPE, "a"))
    assert contents(Trees(tmp_path).read("t.tar")) == {"a": (0o644, b"1"), "b": (0o644, b"1")}


def test_names_that_are_not_utf8_and_long_ones_are_kept(tmp_path: Path) -> None:
    (tmp_path / "tree" / ("d" * 120)).mkdir(parents=True)
    (tmp_path / "tree" / ("d" * 120) / ("f" * 120)).write_bytes(b"1")
    odd = os.fsencode(tmp_path / "tree") + b"/\xe9"
    Path(os.fsdecode(odd)).write_bytes(b"2")
    data = Trees(tmp_path).read("tree")
    assert b"\xe9\x00" in data
    assert "d" * 120 + "/" + "f" * 120 in contents(data)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("../tree", "below the folder of the task file"),
        ("/etc", "below the folder of the task file"),
        (".", "below the folder of the task file"),
        ("a/../../b", "below the folder of the task file"),
        ("missing", "there is no 'missing'"),
        ("out", "leads out of the folder through a link"),
        ("circle", "there is no 'circle'"),
        ("a\0b", "there is no"),
        ("notes.txt", "neither a directory nor a .tar"),
        ("broken.tar", "is a damaged archive"),
        ("broken.tar.gz", "damaged archive"),
    ],
)
def test_paths_that_give_no_tree(tmp_path: Path, name: str, problem: str) -> None:
    folder = tmp_path / "tasks"
    folder.mkdir()
    (tmp_path / "b").mkdir()
    (folder / "out").symlink_to("../b")
    (folder / "circle").symlink_to("circle")
    (folder / "notes.txt").write_text("x")
    (folder / "broken.tar").write_bytes(b"x" * 1024)
    (folder / "broken.tar.gz").write_bytes(pack(tmp_path / "t.tgz", ("a", b"1" * 999), mode="w:gz").read_bytes()[:60])
    with pytest.raises(InputError, match=problem):
        Trees(folder).read(name)


@pytest.mark.parametrize(
    ("member", "problem"),
    [
        (("../a", b""), "leads out of the tree"),
        (("/etc/passwd", b""), "leads out of the tree"),
        (("a/../../b", b""), "leads out of the tree"),
        ((".git/config", b""), "belongs to a git repository"),
        (("sub/.GIT/hooks/x", b""), "belongs to a git repository"),
        (special("l", tarfile.SYMTYPE, "/etc/passwd"), "may lead out"),
        (special("l", tarfile.SYMTYPE, ".."), "may lead out"),
        (special("d/l", tarfile.SYMTYPE, "../../x"), "may lead out"),
        (special("d/l", tarfile.SYMTYPE, "e/../../.."), "may lead out"),
        (special("l", tarfile.SYMTYPE, "d/../x"), "may lead out"),
        (special("l", tarfile.SYMTYPE, ""), "may lead out"),
        (special("l", tarfile.LNKTYPE, "/etc/passwd"), "leads out of the tree"),
        (special("l", tarfile.LNKTYPE, "not/there"), "another name of a file that is not there"),
        (special("dev", tarfile.CHRTYPE), "is neither a file"),
        (special("pipe", tarfile.FIFOTYPE), "is neither a file"),
        (("first/inside", b""), "lies in 'first', which is no directory"),
    ],
)
def test_what_no_archive_may_hold(tmp_path: Path, member: tuple[str, bytes] | tarfile.TarInfo, problem: str) -> None:
    pack(tmp_path / "t.tar", ("first", b"1"), member)
    with pytest.raises(InputError, match=problem):
        Trees(tmp_path).read("t.tar")


def test_a_file_below_a_link_is_refused(tmp_path: Path) -> None:
    pack(tmp_path / "t.tar", special("l", tarfile.SYMTYPE, "d"), ("l/x", b""))
    with pytest.raises(InputError, match="lies in 'l', which is no directory"):
        Trees(tmp_path).read("t.tar")


def test_what_no_directory_may_hold(tmp_path: Path) -> None:
    for name in ("pipe", "link", "git"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "pipe" / "p")
    (tmp_path / "link" / "l").symlink_to(tmp_path)
    (tmp_path / "git" / ".git").mkdir()
    for name, problem in (("pipe", "is neither a file"), ("link", "may lead out"), ("git", "git repository")):
        with pytest.raises(InputError, match=problem):
            Trees(tmp_path).read(name)


def test_a_tree_has_a_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "LARGEST_TREE", 5)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "f").write_bytes(b"123456")
    pack(tmp_path / "t.tar", ("a", b"123"), ("b", b"123"))
    for name in ("tree", "t.tar"):
        with pytest.raises(InputError, match="holds more than"):
            Trees(tmp_path).read(name)


@given(
    changes=st.lists(st.tuples(st.integers(0, 2047), st.integers(0, 255)), min_size=1, max_size=8),
    cut=st.integers(0, 4096),
)
def test_a_damaged_archive_is_a_tree_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("t")
    data = bytearray(pack(folder / "t.tar", ("a", b"1" * 600), special("b", tarfile.LNKTYPE, "a")).read_bytes())
    for at, value in changes:
        data[at] = value
    (folder / "t.tar").write_bytes(data[: len(data) - cut])
    try:
        tree = Trees(folder).read("t.tar")
    except InputError:
        return
    assert tarfile.is_tarfile(io.BytesIO(tree))
