"""The few lines of POSIX sh around a command in a container, and what they leave behind.

They do three things that the engine cannot: join standard output and error in the order in which they were written,
end the container from inside when its driver is no longer there to do it, and read the cgroup's counters at the very
end, which an engine throws away with the container's processes. They start nothing but one sleeper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

RECORD: Final = ".parsimony-usage"
HELPERS: Final = 4
"""Processes that are not the command's: init, the shell, the sleeper and the shell that waits for it."""

# `exec` in a subshell starts a program of that name, never a builtin. The shell's own remarks ("Killed") are not the
# command's output. Nothing here forks after the command's end: its leftovers may hold every process that is allowed.
_COMMAND: Final = r"""
life=$1 record=$2
shift 2
case $1 in
*/*) [ -x "$1" ] && [ ! -d "$1" ] ;;
*) command -v "$1" >/dev/null 2>&1 ;;
esac || { echo missing=1 >"$record"; exit 127; }
( exec >/dev/null 2>&1; sleep "$life"; kill -9 -1 ) &
exec 2>/dev/null
( exec "$@" ) 2>&1
status=$?
"""

COUNTERS: Final = r"""
peak= micro= nano= kills=
cgroup=/sys/fs/cgroup
first() { [ -r "$cgroup/$1" ] && read -r value <"$cgroup/$1"; }
named() {
  [ -r "$cgroup/$1" ] || return 1
  while read -r key value; do [ "$key" = "$2" ] && return 0; done <"$cgroup/$1"
  return 1
}
if first memory.peak || first memory/memory.max_usage_in_bytes; then peak=$value; fi
if named cpu.stat usage_usec; then micro=$value; elif first cpuacct/cpuacct.usage; then nano=$value; fi
if named memory.events oom_kill || named memory/memory.oom_control oom_kill; then kills=$value; fi
printf 'peak=%s\nmicro=%s\nnano=%s\nkills=%s\n' "$peak" "$micro" "$nano" "$kills" >"$record"
exit "$status"
"""
"""Writes the counters to `$record` and ends with `$status`; in a pod's container too."""

SCRIPT: Final = _COMMAND + COUNTERS


def wrapped(command: Sequence[str], *, life_s: float, record: str) -> list[str]:
    """The argument vector that runs `command` inside these lines.

    Args:
        life_s: seconds after which everything in the container kills itself.
        record: absolute path of the file that the counters are written to.
    """
    return ["/bin/sh", "-c", SCRIPT, "parsimony", str(math.ceil(life_s)), record, *command]


@dataclass(frozen=True, slots=True)
class Record:
    """The counters as the lines above read them. None = this kernel does not say.

    Code that runs as root in the same container can write what it likes here: nothing in it may turn a result into
    an error, or decide a verdict.
    """

    peak_memory_bytes: int | None = None
    cpu_seconds: float | None = None
    memory_kills: int = 0
    command_missing: bool = False


def parse_record(data: bytes) -> Record:
    """Read a record; what is not a number counts as not there."""
    found: dict[str, int] = {}
    for line in data[:4096].splitlines():
        name, _, value = line.partition(b"=")
        if value.isdigit() and len(value) < 20:
            found[name.decode("ascii", "replace")] = int(value)
    cpu = found["micro"] / 1e6 if "micro" in found else found["nano"] / 1e9 if "nano" in found else None
    return Record(found.get("peak"), cpu, found.get("kills", 0), bool(found.get("missing")))
