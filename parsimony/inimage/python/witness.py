"""The witness: parent of the test command, and the only one who writes down what the tests reported.

    python -I -S -B witness.py --secrets FILE --report FILE --timeout SECONDS -- COMMAND [ARGUMENT...]

It starts before any code of the candidate runs, takes reports over a unix socket (witness_channel), keeps them in a
memory that the candidate cannot read or change (witness_kernel), kills the whole tree of processes at the timeout and
when the command has ended, looks up whether files were changed (witness_evidence), and only then writes the report:
one line of JSON, and a second one with its HMAC-SHA256 under the key of the secrets file.

Exit status: that of the command (128 + N for signal N), 124 at the timeout, 125 when the witness itself failed.
Runs on Python 3.6 and later with the standard library alone.
"""

import json
import os
import resource
import select
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
INJECT = os.path.join(HERE, "inject")
sys.path[:0] = [HERE, INJECT]  # isolated mode leaves the folder of the script out

import witness_channel  # noqa: E402
import witness_command  # noqa: E402
import witness_evidence  # noqa: E402
import witness_kernel as kernel  # noqa: E402
from parsimony_code import signer  # noqa: E402

STATUS_TIMEOUT, STATUS_BROKEN = 124, 125
GATHER_SECONDS = 0.03
ENDING_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Witness:
    """One run of the test command."""

    def __init__(self, secrets, report, timeout, command):
        self.key = bytes.fromhex(secrets["key"])
        self.hint = secrets.get("framework_hint")
        self.secrets_removed = secrets["removed"]
        self.report, self.timeout, self.command = report, timeout, command
        self.tree = os.getcwd()
        self.watched_paths = [path for path in secrets.get("watch", []) if isinstance(path, str)]
        self.findings = []
        self.adopted = kernel.adopt_orphans()
        self.sealed = kernel.seal()
        canaries = {"pass": secrets["canaries"]["pass"], "fail": secrets["canaries"]["fail"]}
        self.server = witness_channel.Server(canaries, self.tree)
        self.child, self.status = 0, None
        self.interrupted = None
        self.timed_out = False
        self.wall_seconds = 0.0

    def run(self):
        """Run the command to its end, kill what it left, write the report. Returns the exit status."""
        watched = witness_evidence.watched(self.watched_paths)
        out = os.open(os.path.dirname(os.path.abspath(self.report)), os.O_RDONLY)
        wake, self._wake_up = os.pipe()
        for end in (wake, self._wake_up):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._wake_up)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        for number in ENDING_SIGNALS:
            signal.signal(number, self._interrupt)
        gate = self._start()
        self.lowered = kernel.lower()
        self.sealed = kernel.seal()  # changing the user has reset it
        self.started_at, begin = time.time(), time.monotonic()
        os.write(gate, b"go")
        os.close(gate)
        try:
            self._serve(wake, begin + self.timeout)
        finally:
            if self.lowered:  # to see every process, where /proc shows users only their own
                kernel.raise_again()
                kernel.seal()
            gone = kernel.kill_tree(self._on_death, None if self.adopted else self.child)
        self.wall_seconds = time.monotonic() - begin
        if not gone:
            self.findings.append("processes of the test command could not be killed")
        self.server.accept(self.child)
        self.server.close()
        now = witness_evidence.watched(self.watched_paths)
        self._write(out, [path for path in watched if now[path] != watched[path]])
        if self.timed_out:
            return STATUS_TIMEOUT
        return self._exit_status()

    # ---- the command

    def _start(self):
        """Fork the command; it waits for a word through the pipe whose writing end is returned."""
        waiting, gate = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(gate)
                self._become_command(waiting)
            except BaseException as error:  # the child must never come back into the parent's code
                complain(error)
            finally:
                os._exit(127)
        os.close(waiting)
        self.child = pid
        return gate

    def _become_command(self, waiting):
        os.setsid()
        kernel.die_with_parent()
        kernel.forbid_ptrace_capability()
        kernel.die_before_parent()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, *ENDING_SIGNALS):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        if os.read(waiting, 2) == b"go":
            environment = witness_command.environment(os.environ, self.server.path, self.tree)
            os.execvpe(self.command[0], witness_command.prepared(self.command), environment)

    def _on_death(self, pid, status, usage):
        if pid == self.child:
            self.status = status

    def _interrupt(self, number, frame):
        self.interrupted = number

    def _exit_status(self):
        if self.status is None:
            return 128 + signal.SIGKILL
        return 128 + os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else os.WEXITSTATUS(self.status)

    # ---- waiting

    def _serve(self, wake, deadline):
        """Take reports until the command has ended, its time is up, or somebody ends the witness."""
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        poll.register(self.server.listener.fileno(), select.POLLIN)
        links = {}
        while True:
            kernel.reap(self._on_death)
            if self.status is not None or self.interrupted is not None:
                return
            left = deadline - time.monotonic()
            if left <= 0:
                self.timed_out = True
                return
            heard = False
            for number, _ in poll.poll(min(left, 3600.0) * 1000 + 1):
                if number == wake:
                    os.read(wake, 4096)
                elif number in links:
                    heard = True
                    if not self.server.drain(links[number]):
                        poll.unregister(number)
                        del links[number]
                else:
                    for session in self.server.accept(self.child):
                        links[session.link.fileno()] = session
                        poll.register(session.link.fileno(), select.POLLIN)
            if heard:  # let events gather: waking up for each would cost the tests more than reading it
                select.select([wake], [], [], min(GATHER_SECONDS, left))

    # ---- the report

    def _write(self, folder, changed):
        head = {
            "schema": 1,
            "witness": {
                "language": "python",
                "version": witness_evidence.python_version(),
                "uid": kernel.WITNESS_UID if self.lowered else os.geteuid(),
                "sealed": self.sealed,
                "lowered": self.lowered,
                "adopts_orphans": self.adopted,
                "processes_visible": bool(kernel.parents()),
                "secrets_removed": self.secrets_removed,
            },
            "command": self._command_record(),
            "findings": self._all_findings(changed),
        }
        told = [session for session in self.server.sessions if session.events or session.bad_frames]
        sessions = [self._session_record(session) for session in told]
        body = json.dumps(head, separators=(",", ":")).encode("ascii")[:-1]
        body += b',"sessions":[' + b",".join(sessions) + b"]}"
        mac = json.dumps({"mac": signer(self.key)(body).decode("ascii")}).encode("ascii")
        name = os.path.basename(self.report)
        fresh = ".%s.%s" % (name, os.urandom(6).hex())
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(body + b"\n" + mac + b"\n")
        os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)

    def _command_record(self):
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        ended = self.status is not None and not self.timed_out and self.interrupted is None
        return {
            "exit_status": self._exit_status() if ended else None,
            "signal": os.WTERMSIG(self.status) if ended and os.WIFSIGNALED(self.status) else None,
            "timed_out": self.timed_out,
            "interrupted": self.interrupted,
            "wall_seconds": round(self.wall_seconds, 6),
            "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 6),
            "peak_memory_bytes": usage.ru_maxrss * 1024,  # of the largest process, not of the tree
            "directory": self.tree,
            "started_at": self.started_at,
            "framework_hint": self.hint,
        }

    def _all_findings(self, changed):
        own = witness_evidence.own_files_changed(self.started_at)
        return [
            *self.findings,
            *self.server.findings,
            *("%s was changed while the tests ran" % path for path in changed),
            *("the reporter's own file %s was changed" % path for path in own),
        ]

    def _session_record(self, session):
        record = {
            "pid": session.pid,
            "uid": session.uid,
            "relation": session.relation,
            "inside": session.inside,
            "command_line": session.command_line,
            "closed": session.closed,
            "bad_frames": session.bad_frames,
            "truncated": session.truncated,
            "files": witness_evidence.check(session, self.started_at, self.tree) if session.loaded else None,
        }
        head = json.dumps(record, separators=(",", ":")).encode("ascii")[:-1]
        return head + b',"events":[' + b",".join(session.events) + b"]}"


def read_secrets(path):
    """The secrets file, which is gone afterwards (`removed` says so: an inbox may be read-only)."""
    with open(path, "rb") as file:
        data = file.read()
    secrets = json.loads(data.decode("utf-8"))
    try:
        os.unlink(path)
        secrets["removed"] = True
    except OSError:
        secrets["removed"] = False
    return secrets


def arguments(words):
    """({"--secrets": ..., "--report": ..., "--timeout": ...}, command) of the command line."""
    split = words.index("--")
    options = dict(zip(words[:split:2], words[1:split:2]))
    if set(options) != {"--secrets", "--report", "--timeout"} or not words[split + 1 :]:
        raise ValueError("usage: witness.py --secrets FILE --report FILE --timeout SECONDS -- COMMAND...")
    return options, words[split + 1 :]


def complain(error):
    """One line on standard error."""
    sys.stderr.write("witness: %s: %s\n" % (type(error).__name__, error))
    sys.stderr.flush()


def main(words):
    """Run the witness; see the text at the top of this file."""
    try:
        options, command = arguments(words)
        witness = Witness(read_secrets(options["--secrets"]), options["--report"], float(options["--timeout"]), command)
        return witness.run()
    except (OSError, ValueError, KeyError, TypeError) as error:
        complain(error)
        return STATUS_BROKEN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
