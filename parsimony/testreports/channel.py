"""Reader of what the witness writes: the sessions that our reporters held with it (docs/decisions/0003).

`read` merges the sessions and says whether they can be believed: was each of them finished, do its counts agree, did
the canaries come out as they must, is the runner's code what the image brought. Whatever is missing counts against.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Collection, Iterable
from typing import Final, TypeAlias

from parsimony.execution import Evidence, TestResult, TestStatus
from parsimony.testreports.findings import Findings, Verdicts
from parsimony.testreports.model import Canaries, Report, add

STATUSES: Final = frozenset(status.value for status in TestStatus)
LEFT_OUT: Final = {
    "inside": "was opened from inside another session",
    "orphan": "was opened by a process that had cut itself loose from the test command",
}
OPENED: Final = "opened"
PASSES: Final = (TestStatus.PASSED, TestStatus.XFAIL, TestStatus.XPASS)

Json: TypeAlias = dict[str, object]


def read(
    data: bytes,
    *,
    canaries: Canaries,
    key: bytes | None = None,
    candidate_files: Collection[str] | None = None,
    added_files: Collection[str] | None = None,
) -> Report:
    """Read a witness's report. Never raises: what cannot be read is a problem of the `Report`.

    Args:
        data: the file as it came out of the sandbox.
        canaries: names that were given to the witness; tests with such names are taken out.
        key: the key that was given to the witness. The report must be signed with it; None = not checked.
        candidate_files: paths, relative to the work tree, of files that held the candidate's bytes while the tests
            ran (touched and not put back). None = not known: then any file of the work tree that is not a test is
            taken for the candidate's.
        added_files: those of them that base does not have.
    """
    body, signature = _split(data)
    verdicts = Verdicts()
    if key is not None and not _is_signed(body, signature, key):
        verdicts.forged("the report is not signed by the witness")
        return verdicts.report(Evidence.NONE)
    record = _object(_parse(body))
    if record.get("schema") != 1:
        verdicts.broken("the witness's report cannot be read")
        return verdicts.report(Evidence.NONE)
    command = _object(record.get("command"))
    _note_witness(_object(record.get("witness")), verdicts)
    for text in _texts(record.get("findings")):
        verdicts.forged(text)
    reader = _Reader(canaries, verdicts)
    sessions = _objects(record.get("sessions"))
    for text in _usurped(sessions):
        verdicts.forged(text)
    for number, session in enumerate(sessions, 1):
        files = _object(session.get("files"))
        findings = Findings(files, _text(command.get("directory")), candidate_files, added_files)
        reader.session(number, session, command, findings)
    if not reader.sessions:
        verdicts.broken("no test runner reported anything")
    return verdicts.report(
        Evidence.REPORT if reader.sessions else Evidence.NONE,
        tests=reader.tests,
        labels=reader.labels,
        exit_status=_number(command.get("exit_status")),
        timed_out=command.get("timed_out") is True,
    )


class _Reader:
    """Reads sessions one after the other into one set of results."""

    def __init__(self, canaries: Canaries, verdicts: Verdicts) -> None:
        self.tests: dict[str, TestResult] = {}
        self.labels: dict[str, str] = {}
        self.sessions = 0
        self._canaries = canaries
        self._verdicts = verdicts

    def session(self, number: int, session: Json, command: Json, findings: Findings) -> None:
        """Read one session."""
        events = _told(session)
        name = f"session {number}"
        relation = session.get("relation")
        if isinstance(relation, str) and relation in LEFT_OUT:
            self._verdicts.note(f"{name} {LEFT_OUT[relation]} and was left out")
            return
        if not events and not session.get("bad_frames"):
            return
        self.sessions += 1
        if session.get("bad_frames"):
            self._verdicts.forged(f"{name}: something else than the reporter wrote to its channel")
        if session.get("truncated"):
            self._verdicts.broken(f"{name}: more was reported than is kept")
        run = _Run(self._canaries)
        for event in events:
            run.take(event)
        self._merge(run)
        self._judge_ending(name, run, command)
        self._judge_canaries(name, run)
        for event in events:
            if event.get("event") == "loaded":
                findings.take(event)
        findings.judge(self._verdicts)

    def _merge(self, run: _Run) -> None:
        for test_id, result in run.results.items():
            add(self.tests, test_id, result)
        self.labels |= run.labels
        for text in run.odd:
            self._verdicts.forged(text)
        for text in run.troubles:
            self._verdicts.note(f"the reporter had trouble: {text}")

    def _judge_ending(self, name: str, run: _Run, command: Json) -> None:
        finish = run.finish
        if finish is None:
            self._judge_broken_off(name, run, command)
            return
        for text in run.miscounted:
            self._verdicts.forged(f"{name}: {text}")
        if run.unfinished_runs:
            self._verdicts.broken(f"{name}: {run.unfinished_runs} runs in it ended without a word")
        if run.open_tests:
            some = ", ".join(sorted(run.open_tests)[:3])
            self._verdicts.broken(f"{name}: {len(run.open_tests)} tests were started and not finished ({some})")
        failures = sum(1 for result in run.results.values() if result.status in (TestStatus.FAILED, TestStatus.ERROR))
        if failures and finish.get("exit_status") == 0:
            self._verdicts.note(f"{name}: {failures} tests failed, but the runner ended with 0")

    def _judge_broken_off(self, name: str, run: _Run, command: Json) -> None:
        where = f", in {min(run.open_tests)}" if run.open_tests else ""
        if command.get("timed_out") is True:
            self._verdicts.note(f"{name} was cut off at the time limit{where}")
        elif command.get("exit_status") == 0:
            self._verdicts.forged(f"{name} ended without a word{where}, and yet the test command ended with 0")
        else:
            self._verdicts.broken(f"{name} ended without a word{where}")

    def _judge_canaries(self, name: str, run: _Run) -> None:
        # A session without a success (a file that could not be loaded, a helper that holds no test) proves nothing that
        # a canary could disprove.
        shows = any(result.status in PASSES for result in run.results.values())
        if shows and not run.looked_around:
            self._verdicts.forged(f"{name}: whoever reported never said what was loaded, as a reporter does")
        if run.finish is None:
            return
        if shows and (not run.passing_canaries or not run.failing_canaries):
            self._verdicts.broken(f"{name}: the canaries were not run")
        if any(status in PASSES for status in run.failing_canaries):
            self._verdicts.forged(f"{name}: a test that must fail came out as passed")
        elif any(status is not TestStatus.FAILED for status in run.failing_canaries):
            self._verdicts.broken(f"{name}: a test that must fail came out as {_listed(run.failing_canaries)}")
        if any(status is not TestStatus.PASSED for status in run.passing_canaries):
            self._verdicts.broken(f"{name}: a test that must pass came out as {_listed(run.passing_canaries)}")


class _Run:
    """The events of one session: one run of a test runner, or several in one process.

    Attributes:
        results, labels: by test id, canaries taken out.
        passing_canaries, failing_canaries: the statuses that the canaries came out with.
        started, finished: how many starts and results there were in the current run, canaries included.
        miscounted: where a run's own counts are not these.
        unfinished_runs: how many runs before the last one did not say that they were finished.
        open_tests: ids of tests that were started and have no result.
        finish: the last event, if it is the word that the session is finished.
        looked_around: it was said what was loaded when the first run began.
        odd: what no reporter would send.
    """

    def __init__(self, canaries: Canaries) -> None:
        self._canaries = canaries
        self.results: dict[str, TestResult] = {}
        self.labels: dict[str, str] = {}
        self.passing_canaries: list[TestStatus] = []
        self.failing_canaries: list[TestStatus] = []
        self.started = self.finished = 0
        self.miscounted: list[str] = []
        self.unfinished_runs = 0
        self.finish: Json | None = None
        self.looked_around = False
        self.odd: list[str] = []
        self.troubles: list[str] = []
        self._open: dict[str, int] = {}
        self._begun = False

    @property
    def open_tests(self) -> list[str]:
        """Ids that were started more often than they were finished."""
        return [test_id for test_id, count in self._open.items() if count > 0]

    def take(self, event: Json) -> None:
        """One event, in order."""
        kind = event.get("event")
        if kind == "session":
            self.unfinished_runs += self._begun and self.finish is None
            self._begun = True
            self.started = self.finished = 0
        self.finish = event if kind == "finish" else None
        test_id = event.get("id")
        if kind == "start" and isinstance(test_id, str):
            self.started += 1
            self._open[test_id] = self._open.get(test_id, 0) + 1
            if isinstance(label := event.get("label"), str):
                self.labels[test_id] = label
        elif kind == "result" and isinstance(test_id, str):
            self.finished += 1
            self._result(test_id, event)
        elif kind == "trouble":
            self.troubles.append(str(event.get("message"))[:300])
        elif kind == "finish":
            told = _number(event.get("started")), _number(event.get("finished"))
            if told != (self.started, self.finished):
                text = f"{self.started} tests started, {self.finished} finished; told were {told[0]} and {told[1]}"
                self.miscounted.append(text)
        elif kind == "loaded":
            self.looked_around |= event.get("when") == "start"
        elif kind != "session":
            self.odd.append(f"an event of the unknown kind {str(kind)[:40]!r}")

    def _result(self, test_id: str, event: Json) -> None:
        status, seconds = event.get("status"), event.get("seconds")
        if not isinstance(status, str) or status not in STATUSES:
            self.odd.append(f"{test_id} has the unknown status {str(status)[:40]!r}")
            return
        if self._open.get(test_id, 0) < 1:
            self.odd.append(f"{test_id} was finished without having been started")
        self._open[test_id] = self._open.get(test_id, 0) - 1
        took = float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None
        result = TestResult(TestStatus(status), took if took is not None and 0 <= took < float("inf") else None)
        if self._canaries.pass_name in test_id:
            self.passing_canaries.append(result.status)
        elif self._canaries.fail_name in test_id:
            self.failing_canaries.append(result.status)
        else:
            add(self.results, test_id, result)


def _told(session: Json) -> list[Json]:
    return [event for event in _objects(session.get("events")) if event.get("event") != OPENED]


def _usurped(sessions: Iterable[Json]) -> list[str]:
    # A process that was started to run tests opens its session before any code of the project, and its reporter
    # speaks there. Where it never did, and somebody inside of that process spoke over another connection, that was no
    # reporter.
    silent = {session.get("pid") for session in sessions if session.get("events") and not _told(session)}
    return [
        f"session {number} was opened in the place of the reporter's own, which was silent"
        for number, session in enumerate(sessions, 1)
        if session.get("relation") == "inside" and session.get("inside") in silent and _told(session)
    ]


def _note_witness(witness: Json, verdicts: Verdicts) -> None:
    for field, text in (
        ("sealed", "the witness could not seal its memory"),
        ("adopts_orphans", "the witness could not adopt orphans: processes may have outlived the tests"),
        ("processes_visible", "the witness could not see other processes"),
        ("secrets_removed", "the witness could not remove its secrets"),
    ):
        if witness.get(field) is False:
            verdicts.note(text)


def _split(data: bytes) -> tuple[bytes, bytes]:
    body, _, rest = data.partition(b"\n")
    return body, rest


def _is_signed(body: bytes, signature: bytes, key: bytes) -> bool:
    told = _object(_parse(signature)).get("mac")
    right = hmac.new(key, body, hashlib.sha256).hexdigest()
    return isinstance(told, str) and hmac.compare_digest(told.encode("utf-8", "replace"), right.encode())


def _parse(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _texts(value: object) -> Iterable[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _listed(statuses: Iterable[TestStatus]) -> str:
    return ", ".join(sorted({status.value for status in statuses}))
