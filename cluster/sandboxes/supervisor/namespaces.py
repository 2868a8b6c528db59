"""Namespaces, mounts and capabilities by plain system calls.

The command gets: a process namespace whose end is the end of all in it; a file system that it cannot write to but for
its own folder, with /tmp, /var/tmp, /run and /dev of its own (so it sees neither the files of its neighbours nor the
sockets of the machine's daemons); no network but a loopback of its own; no capabilities beyond those of root in a
container. Without root, a user namespace comes first, in which the user stays who they are.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x00020000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV = 1, 2, 4
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
SYS_MOUNT_SETATTR = 442  # the same on every architecture
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 1, 24, 36, 38
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1

CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID, CAP_KILL, CAP_SETGID, CAP_SETUID = 0, 1, 3, 4, 5, 6, 7
KEPT_CAPABILITIES: Final = {
    CAP_CHOWN,
    CAP_DAC_OVERRIDE,
    CAP_FOWNER,
    CAP_FSETID,
    CAP_KILL,
    CAP_SETGID,
    CAP_SETUID,
}

REPLACED: Final = ("/tmp", "/var/tmp", "/run")  # noqa: S108 - these are replaced, not used
DEVICES: Final = ("null", "zero", "full", "random", "urandom", "tty")
SHM_OPTIONS: Final = "mode=1777,size=64m"

_libc = ctypes.CDLL(None, use_errno=True)


def prctl(option: int, value: int) -> None:
    """prctl(2) with one argument. Raises OSError."""
    _check("prctl", _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0))


def leave_user_and_processes() -> None:
    """A process namespace for the children of this process; a user namespace first when this is not root.

    Raises:
        OSError: the kernel does not allow it.
    """
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        _unshare(CLONE_NEWPID)
        return
    _unshare(CLONE_NEWUSER | CLONE_NEWPID)
    Path("/proc/self/setgroups").write_text("deny", "ascii")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", "ascii")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", "ascii")


def leave_rest(base: str, readable: Iterable[str], *, network: bool) -> None:
    """Mount, IPC and (unless `network`) network namespaces, made ready. To be called by process 1 of the namespace.

    Args:
        base: stays writable.
        readable: stay visible although below a replaced folder.

    Raises:
        OSError: the kernel does not allow it.
    """
    _unshare(CLONE_NEWNS | CLONE_NEWIPC | (0 if network else CLONE_NEWNET))
    if not network:
        _raise_loopback()
    mount("none", "/", None, MS_REC | MS_PRIVATE)
    private = {folder: _private_folder(base, folder) for folder in REPLACED if _replaceable(folder)}
    kept = {path: os.open(path, os.O_PATH) for path in [*readable, base] if os.path.isdir(path)}  # noqa: PTH112
    devices = {name: os.open(f"/dev/{name}", os.O_PATH) for name in DEVICES}
    _set_attributes("/", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, 0, recursive=True)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for folder, own in private.items():
        _replace(folder, own, kept)
    _rebind(base, kept[base])
    _set_attributes(base, 0, MOUNT_ATTR_RDONLY)
    _private_devices(devices)
    for name in ("sys", "sysrq-trigger", "irq", "bus", "fs"):  # root's uid alone may write there
        if os.path.exists(f"/proc/{name}"):  # noqa: PTH110
            mount(f"/proc/{name}", f"/proc/{name}", None, MS_BIND | MS_REC)
            _set_attributes(f"/proc/{name}", MOUNT_ATTR_RDONLY, 0)
    for handle in (*kept.values(), *devices.values()):
        os.close(handle)


def lower_capabilities() -> None:
    """Keep only what root needs for its own files and processes; nothing comes back by any exec."""
    last = int(Path("/proc/sys/kernel/cap_last_cap").read_text("ascii"))
    for capability in range(last + 1):
        if capability not in KEPT_CAPABILITIES:
            prctl(PR_CAPBSET_DROP, capability)
    prctl(PR_SET_NO_NEW_PRIVS, 1)


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """mount(2). Raises OSError."""
    arguments = [None if text is None else os.fsencode(text) for text in (source, target, kind)]
    data = None if options is None else options.encode("ascii")
    _check(f"mount {target}", _libc.mount(*arguments, ctypes.c_ulong(flags), data))


def _replaceable(folder: str) -> bool:
    return os.path.isdir(folder) and not os.path.islink(folder)  # noqa: PTH112, PTH114


def _private_folder(base: str, folder: str) -> int:
    """A handle of a new empty folder that will stand for `folder`."""
    own = Path(base, "private", folder.strip("/").replace("/", "-"))
    own.mkdir(parents=True)
    own.chmod(0o1777)
    return os.open(own, os.O_PATH)


def _replace(folder: str, own: int, kept: dict[str, int]) -> None:
    """Put the folder of handle `own` over `folder`, writable; what is kept below `folder` is bound into it again."""
    _rebind(folder, own)
    os.close(own)
    _set_attributes(folder, 0, MOUNT_ATTR_RDONLY)
    for path, handle in sorted(kept.items()):
        if path.startswith(folder + "/"):
            os.makedirs(path, mode=0o755, exist_ok=True)  # noqa: PTH103
            _rebind(path, handle)


def _private_devices(devices: dict[str, int]) -> None:
    mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=755,size=64k")
    for name, handle in devices.items():
        Path("/dev", name).touch()
        _rebind(f"/dev/{name}", handle)
        _set_attributes(f"/dev/{name}", 0, MOUNT_ATTR_NODEV | MOUNT_ATTR_RDONLY)
    for name, target in {"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"}.items():
        os.symlink(f"/proc/self/fd{target}", f"/dev/{name}")  # noqa: PTH211
    Path("/dev/shm").mkdir()  # noqa: S108
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, SHM_OPTIONS)  # noqa: S108
    Path("/dev/pts").mkdir()
    mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", "/dev/ptmx")  # noqa: PTH211


def _rebind(target: str, handle: int) -> None:
    mount(f"/proc/self/fd/{handle}", target, None, MS_BIND | MS_REC)


def _set_attributes(target: str, add: int, clear: int, *, recursive: bool = False) -> None:
    attributes = struct.pack("=QQQQ", add, clear, 0, 0)
    done = _libc.syscall(
        ctypes.c_long(SYS_MOUNT_SETATTR),
        ctypes.c_int(AT_FDCWD),
        ctypes.c_char_p(os.fsencode(target)),
        ctypes.c_uint(AT_RECURSIVE if recursive else 0),
        ctypes.c_char_p(attributes),
        ctypes.c_size_t(len(attributes)),
    )
    _check(f"mount_setattr {target}", done)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(handle, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def _unshare(flags: int) -> None:
    _check("unshare", _libc.unshare(ctypes.c_int(flags)))


def _check(what: str, result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
