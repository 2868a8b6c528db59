"""One section of a patch while it is read: what its header lines say together."""

from __future__ import annotations

import re
from typing import Protocol

from parsimony.patches.model import BinaryData, ChangeKind, FilePatch, Hunk, ProblemKind, show
from parsimony.patches.names import HeaderName, file_name, git_names, strip_prefix, whole_name

_INDEX = re.compile(rb"index ([0-9a-fA-F]+)\.\.([0-9a-fA-F]+)(?: ([0-7]{1,6}))?\s*")
_MODE = re.compile(rb"[0-7]{5,6}\s*")
_MODES = (b"old mode ", b"new mode ", b"new file mode ", b"deleted file mode ")
_MOVES = {
    b"rename from ": (ChangeKind.RENAME, "old"),
    b"rename old ": (ChangeKind.RENAME, "old"),
    b"rename to ": (ChangeKind.RENAME, "new"),
    b"rename new ": (ChangeKind.RENAME, "new"),
    b"copy from ": (ChangeKind.COPY, "old"),
    b"copy to ": (ChangeKind.COPY, "new"),
}
_OTHER = (b"similarity index ", b"dissimilarity index ")
_MODE_OF = {ChangeKind.ADD: b"new file mode ", ChangeKind.DELETE: b"deleted file mode "}


def is_extended_header(line: bytes) -> bool:
    """Whether this is a line that git writes between "diff --git" and "--- ", and that changes what a section does."""
    return line.startswith((*_MODES, *_MOVES))


class Notes(Protocol):
    """Takes problems; `at` counts lines from 0."""

    def note(self, at: int, kind: ProblemKind, text: str) -> None:
        """Record a problem."""


class Section:
    """Gathers the lines of one section, then makes a `FilePatch` of them."""

    def __init__(self, notes: Notes, at: int, *, git: bool) -> None:
        self.notes = notes
        self.at = at
        self.git = git
        self.header: list[bytes] = []
        self.hunks: list[Hunk] = []
        self.binary: BinaryData | None = None
        self.dataless = False
        self.damaged = False
        self.old_side: HeaderName | None = None
        self.new_side: HeaderName | None = None
        self._line_names: tuple[bytes, bytes] | None = None
        self._modes: dict[bytes, int] = {}
        self._index: tuple[bytes, bytes, int | None] | None = None
        self._moves: dict[str, bytes | None] = {}
        self._move_kind: ChangeKind | None = None

    def start_git(self, line: bytes) -> None:
        """The "diff --git" line."""
        self.header.append(line)
        self._line_names = git_names(line[len(b"diff --git ") :])

    def take(self, at: int, line: bytes) -> bool:
        """An extended header of git; False if `line` is none."""
        for word in _MODES:
            if line.startswith(word):
                self._take_mode(at, word, line[len(word) :])
                break
        else:
            for word, (kind, side) in _MOVES.items():
                if line.startswith(word):
                    self._moves[side] = whole_name(line[len(word) :])
                    self._move_kind = kind
                    break
            else:
                if line.startswith(b"index "):
                    self._take_index(line)
                elif not line.startswith(_OTHER):
                    return False
        self.header.append(line)
        return True

    def _take_mode(self, at: int, word: bytes, text: bytes) -> None:
        if _MODE.fullmatch(text):
            self._modes[word] = int(text, 8)
        else:
            self.notes.note(at, ProblemKind.MODE, f"not a file mode: {show(text.strip())}")

    def _take_index(self, line: bytes) -> None:
        match = _INDEX.fullmatch(line)
        if match is not None:
            self._index = match[1].lower(), match[2].lower(), int(match[3], 8) if match[3] else None

    def _whole_ids(self) -> bool:
        return self._index is not None and all(len(blob) in (40, 64) for blob in self._index[:2])

    @property
    def has_mode(self) -> bool:
        """Whether the extended headers state a mode of their own."""
        return bool(self._modes)

    def would_accept(self, old: bytes, new: bytes) -> bool:
        """Whether "--- " and "+++ " lines speak of the file that the "diff --git" line names."""
        if self._line_names is None:
            return False
        ours = {strip_prefix(name) for name in self._line_names}
        sides = (file_name(old[4:], git=True), file_name(new[4:], git=True))
        return all(side.absent or (side.name is not None and strip_prefix(side.name) in ours) for side in sides)

    def take_names(self, at: int, old: bytes, new: bytes) -> None:
        """The "--- " and "+++ " lines."""
        self.header += (old, new)
        self.old_side = file_name(old[4:], git=self.git)
        self.new_side = file_name(new[4:], git=self.git)
        if self.old_side.absent and self.new_side.absent:
            self.notes.note(at, ProblemKind.CONTRADICTION, "the file exists neither before nor after")

    def finish(self) -> FilePatch:
        """What the section says as a whole."""
        kind = self._kind()
        old_name, new_name = self._name("old"), self._name("new")
        moved = self._move_kind is not None
        old_path = self._moves.get("old") if moved else old_name and strip_prefix(old_name)
        new_path = self._moves.get("new") if moved else new_name and strip_prefix(new_name)
        named = self.git and self.new_side is not None
        if kind is ChangeKind.MODIFY and named and old_name and new_name and not _same_file(old_name, new_name):
            kind = ChangeKind.RENAME  # as git reads it
        self._check(kind, old_path, new_path)
        index_mode = self._index[2] if self._index else None
        line_names = self._line_names or ()
        sides = [side.name for side in (self.old_side, self.new_side) if side and side.name is not None]
        return FilePatch(
            row=self.at + 1,
            kind=kind,
            git=self.git,
            old_path=None if kind is ChangeKind.ADD else old_path,
            new_path=None if kind is ChangeKind.DELETE else new_path,
            old_name=old_name,
            new_name=new_name,
            names=tuple(dict.fromkeys((*line_names, *sides))),
            bare_names=tuple(name for name in self._moves.values() if name is not None),
            old_mode=self._modes.get(b"old mode ", self._modes.get(b"deleted file mode ", index_mode)),
            new_mode=self._modes.get(b"new mode ", self._modes.get(b"new file mode ", index_mode)),
            old_id=self._index[0] if self._index else None,
            new_id=self._index[1] if self._index else None,
            header=tuple(self.header),
            hunks=tuple(self.hunks),
            binary=self.binary,
            dataless=self.dataless,
        )

    def _name(self, side: str) -> bytes | None:
        stated = self.old_side if side == "old" else self.new_side
        if stated is not None:
            return stated.name
        return self._line_names[side == "new"] if self._line_names else None

    def _kind(self) -> ChangeKind:
        added = b"new file mode " in self._modes or (self.old_side is not None and self.old_side.absent)
        deleted = b"deleted file mode " in self._modes or (self.new_side is not None and self.new_side.absent)
        if self._move_kind is not None:
            if added or deleted:
                self._contradiction("renamed or copied, and added or deleted")
            return self._move_kind
        if added and deleted:
            self._contradiction("added and deleted")
        if added:
            return ChangeKind.ADD
        return ChangeKind.DELETE if deleted else ChangeKind.MODIFY

    def _contradiction(self, what: str) -> None:
        self.notes.note(self.at, ProblemKind.CONTRADICTION, f"the section says that its file is {what}")

    def _check(self, kind: ChangeKind, old_path: bytes | None, new_path: bytes | None) -> None:
        note = self.notes.note
        if (kind is not ChangeKind.ADD and not old_path) or (kind is not ChangeKind.DELETE and not new_path):
            note(self.at, ProblemKind.NAMES, "the section does not say which file it is about")
        if kind is ChangeKind.ADD and self.git and self.old_side and not self.old_side.absent:
            self._contradiction("new, and names an old one")
        if kind is ChangeKind.DELETE and self.git and self.new_side and not self.new_side.absent:
            self._contradiction("deleted, and names a new one")
        if self.hunks and (self.old_side is None or self.new_side is None):
            note(self.at, ProblemKind.NAMES, 'hunks without "--- " and "+++ " lines')
        if self.binary is not None and not self._whole_ids():
            note(self.at, ProblemKind.BINARY_IDS, "binary data without the whole blob ids of an index line")
        if self.git and self._move_kind is None and kind in _MODE_OF and _MODE_OF[kind] not in self._modes:
            note(self.at, ProblemKind.MISSING_MODE, f'no "{_MODE_OF[kind].decode().strip()}" line')
        changes = self.hunks or self.binary or self.dataless or self.damaged
        metadata = kind is not ChangeKind.MODIFY or b"new mode " in self._modes
        if not changes and (self.new_side is not None or not (self.git and metadata)):
            note(self.at, ProblemKind.EMPTY_SECTION, "a section that changes nothing")


def _same_file(old_name: bytes, new_name: bytes) -> bool:
    """Whether two names are one path behind two prefixes, whatever these are."""
    return (
        strip_prefix(old_name) == strip_prefix(new_name) or old_name.partition(b"/")[2] == new_name.partition(b"/")[2]
    )
