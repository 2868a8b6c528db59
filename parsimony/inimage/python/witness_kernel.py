"""What the witness asks of the Linux kernel: to adopt orphans, to be unreadable, to kill a whole tree of processes.

Everything here is best effort: each function says whether it worked, and the witness puts that into its report.
Runs on Python 3.6 and later with the standard library alone.
"""

import errno
import os
import signal
import time

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 1, 4, 24, 36
CAP_DAC_READ_SEARCH, CAP_KILL, CAP_SYS_PTRACE = 2, 5, 19
CAPABILITY_VERSION_3 = 0x20080522
LISTS_CHILDREN = os.path.exists("/proc/self/task/%d/children" % os.getpid())
WITNESS_UID = 64907  # no image has a user of that number: nobody shares it by accident

try:
    import ctypes

    LIBC = ctypes.CDLL(None, use_errno=True)
    LIBC.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
except (ImportError, OSError, AttributeError):  # a Python without ctypes, a libc without prctl
    LIBC = None


def prctl(option, value):
    """prctl(2); False when the kernel refused or cannot be asked."""
    return LIBC is not None and LIBC.prctl(option, value, 0, 0, 0) == 0


def adopt_orphans():
    """Processes whose parent dies become ours, so none can leave the tree (double fork, setsid)."""
    return prctl(PR_SET_CHILD_SUBREAPER, 1)


def seal():
    """Nobody without CAP_SYS_PTRACE can attach to this process or read its memory, whatever its user."""
    return prctl(PR_SET_DUMPABLE, 0)


def die_with_parent():
    """In a child: be killed when the parent dies."""
    return prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def die_before_parent():
    """In a child: when memory runs out, the kernel takes this process or what it starts, not the witness."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("500")
    except OSError:
        pass


def forbid_ptrace_capability():
    """In a child, before exec: no program that it starts gets CAP_SYS_PTRACE, not even as root."""
    return prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE)


def lower():
    """Become another user, keeping CAP_KILL and the saved user 0. False when not root or not allowed."""
    if os.geteuid() != 0 or LIBC is None:
        return False
    try:
        os.setresuid(WITNESS_UID, WITNESS_UID, 0)
    except OSError:
        return False
    # The saved user 0 keeps the permitted capabilities; the effective ones have to be asked for.
    wanted = 1 << CAP_KILL | 1 << CAP_DAC_READ_SEARCH
    permitted = _permitted_capabilities()
    if permitted is None or not permitted & 1 << CAP_KILL or not _set_capabilities(permitted & wanted, permitted):
        raise_again()
        return False
    return True


def raise_again():
    """Take back what `lower` did (to kill, and to write the report where only root may)."""
    try:
        os.setresuid(0, 0, 0)
    except OSError:
        pass


def _permitted_capabilities():
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)()
    if LIBC.capget(header, data) != 0:
        return None
    return data[1] | data[4] << 32


def _set_capabilities(effective, permitted):
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    low = 0xFFFFFFFF
    data = (ctypes.c_uint32 * 6)(effective & low, permitted & low, 0, effective >> 32, permitted >> 32, 0)
    return LIBC.capset(header, data) == 0


def parents():
    """{pid: (parent, session)} of every process that can be seen; empty without /proc."""
    found = {}
    try:
        entries = os.listdir("/proc")
    except OSError:
        return found
    for entry in entries:
        if entry.isdigit():
            pid = int(entry)
            line = process_line(pid)
            if line is not None:
                found[pid] = line
    return found


def process_line(pid):
    """(parent, session) of a process; None when it is gone."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return int(fields[1]), int(fields[3])
    except (OSError, IndexError, ValueError):
        return None


def command_line(pid):
    """The argument vector of a process as text, cut at 2000 characters; None when it cannot be read."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return file.read(8000).rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")[:2000]
    except OSError:
        return None


def ancestors(pid):
    """Parents of a process from the nearest on, up to the first that cannot be seen."""
    chain = []
    while pid > 1 and len(chain) < 1000:
        line = process_line(pid)
        if line is None:
            break
        pid = line[0]
        chain.append(pid)
    return chain


def tree(root, session=None):
    """Everything that descends from `root` (itself left out), and everything of `session` where that is given."""
    if session is None and LISTS_CHILDREN:
        return _listed_tree(root)
    table = parents()
    found = {pid for pid, (_, sid) in table.items() if sid == session and pid != root}
    grown = True
    while grown:
        more = {pid for pid, (parent, _) in table.items() if (parent == root or parent in found) and pid != root}
        grown = not more <= found
        found |= more
    return found


def _listed_tree(root):
    """The same from the kernel's own lists of children: a tenth of the time, so that a forking tree is caught up with."""
    found, queue = set(), [root]
    while queue:
        pid = queue.pop()
        try:
            threads = os.listdir("/proc/%d/task" % pid)
        except OSError:
            continue
        for thread in threads:
            try:
                with open("/proc/%d/task/%s/children" % (pid, thread), "rb") as file:
                    below = [int(word) for word in file.read().split()]
            except OSError:
                continue
            queue.extend(below)
            found.update(below)
    return found


def kill_tree(on_death, session=None, patience=20.0):
    """SIGKILL everything below this process and reap it.

    Stops first and kills then: a tree that keeps forking is caught up with only when its members stand still.

    Args:
        on_death: called with (pid, wait status, rusage) for each process that was reaped.
        session: where orphans cannot be adopted: the session of the command, whose members count as the tree as well.
        patience: seconds after which what cannot be killed (a process that hangs in the kernel) is left.

    Returns:
        True when nothing is left.
    """
    me = os.getpid()
    limit = time.monotonic() + patience
    stopped = set()

    def collected(pid, status, usage):
        stopped.discard(pid)  # its number may soon be another's
        on_death(pid, status, usage)

    while True:
        if not reap(on_death) and (session is None or not tree(me, session)):
            return True
        if time.monotonic() > limit:
            return False
        stopped.clear()
        for _ in range(200):
            fresh = tree(me, session) - stopped
            if not fresh:
                break
            for pid in fresh:
                send(pid, signal.SIGSTOP)
            stopped.update(fresh)
            reap(collected)  # the dead would make every further look longer, and use up the process ids
        for pid in stopped:
            send(pid, signal.SIGKILL)
        time.sleep(0.002)


def reap(on_death):
    """Collect every child that has ended; True while there are others."""
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        except OSError as error:
            if error.errno == errno.EINTR:
                continue
            return False
        if pid == 0:
            return True
        on_death(pid, status, usage)


def send(pid, number):
    """A signal to one process; never to a group, to all, or to this process itself."""
    if pid > 1 and pid != os.getpid():
        try:
            os.kill(pid, number)
        except OSError:
            pass
