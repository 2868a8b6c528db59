"""The lines of POSIX sh around a command in a pod. They are its container's first process, which nothing inside can
kill; one more waits for the courier's word, or for its end, and then ends everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cluster.sandboxes import shell

# The limits are lowered for soft and hard alike. Both pipes are opened before the first word, and the command starts
# only after the courier's: from then on their names are gone. The command runs in the foreground, since a shell starts
# what runs in its background with SIGINT ignored, which tests of signals would see.
SCRIPT: Final = (
    r"""
wire=$1 record=$2 files=$3 blocks=$4
shift 4
ulimit -c 0
ulimit -n "$files" 2>/dev/null
ulimit -f "$blocks" 2>/dev/null
unset KUBERNETES_PORT KUBERNETES_PORT_443_TCP KUBERNETES_PORT_443_TCP_ADDR KUBERNETES_PORT_443_TCP_PORT \
  KUBERNETES_PORT_443_TCP_PROTO KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT KUBERNETES_SERVICE_PORT_HTTPS
exec 3<"$wire/control" 4>"$wire/log" || exit 125
echo here >&4
read -r word <&3
[ "$word" = go ] || exit 125
case $1 in
*/*) [ -x "$1" ] && [ ! -d "$1" ] ;;
*) command -v "$1" >/dev/null 2>&1 ;;
esac || { echo missing=1 >"$record"; exit 127; }
( exec 4>&- >/dev/null 2>&1; read -r word <&3; kill -9 -1 ) &
exec 3<&- 2>/dev/null
( exec "$@" 4>&- ) </dev/null >&4 2>&1
status=$?
"""
    + shell.COUNTERS
)

FSIZE_BLOCK: Final = 512
"""Bytes in a block of `ulimit -f`, by POSIX."""


def wrapped(command: Sequence[str], *, wire: str, record: str, open_files: int, disk_bytes: int) -> list[str]:
    """The argument vector that runs `command` inside these lines.

    Args:
        wire: folder of the two pipes.
        record: absolute path of the file that the counters are written to.
        open_files, disk_bytes: limits of a process and of a single file.
    """
    blocks = max(1, disk_bytes // FSIZE_BLOCK)
    return ["/bin/sh", "-c", SCRIPT, "parsimony", wire, record, str(open_files), str(blocks), *command]
