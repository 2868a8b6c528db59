"""The reader of the witness's report: never raises, and whatever is missing or odd counts against."""

from __future__ import annotations

import hashlib
import hmac
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parsimony.execution import Evidence, TestStatus
from parsimony.testreports import channel
from parsimony.testreports.model import Canaries

CANARIES = Canaries("cpass", "cfail")
KEY = bytes(range(32))
CANARY_EVENTS = [("t.py::test_cpass", "passed"), ("t.py::test_cfail", "failed")]


def events(results=(("t.py::test_a", "passed"),), canaries=CANARY_EVENTS, finish=True, **counts):
    told = [{"event": "session", "framework": "pytest"}, {"event": "loaded", "when": "start"}]
    for test_id, status in (*results, *canaries):
        told += [
            {"event": "start", "id": test_id},
            {"event": "result", "id": test_id, "status": status, "seconds": 0.5},
        ]
    number = len(results) + len(canaries)
    if finish:
        told.append({"event": "finish", "exit_status": 0} | {"started": number, "finished": number} | counts)
    return told


def session(*told, **more):
    return {"pid": 1, "relation": "command", "closed": True, "bad_frames": 0, "events": list(told)} | more


def written(*sessions, command=None, key=KEY, **more):
    record = {"schema": 1, "command": {"exit_status": 0, "timed_out": False, "directory": "/t"} | (command or {})}
    body = json.dumps(record | {"sessions": list(sessions)} | more).encode()
    return body + b"\n" + json.dumps({"mac": hmac.new(key, body, hashlib.sha256).hexdigest()}).encode() + b"\n"


def read(data, candidate_files=None):
    return channel.read(data, canaries=CANARIES, key=KEY, candidate_files=candidate_files)


def test_a_whole_session():
    report = read(written(session(*events())))
    assert {test_id: (r.status, r.seconds) for test_id, r in report.tests.items()} == {
        "t.py::test_a": (TestStatus.PASSED, 0.5)
    }
    assert report.problems == report.notes == ()
    assert (report.exit_status, report.timed_out, report.tampered) == (0, False, False)
    assert report.evidence is Evidence.REPORT


def test_the_worst_status_counts_in_a_session_and_between_sessions():
    twice = events([("a", "failed"), ("a", "passed"), ("b", "passed")])
    report = read(written(session(*twice), session(*events([("b", "error")]))))
    assert {test_id: str(r.status) for test_id, r in report.tests.items()} == {"a": "failed", "b": "error"}
    assert report.problems == ()


def test_several_runs_in_one_session_have_counts_of_their_own():
    report = read(written(session(*events(), *events([("b", "passed")]))))
    assert set(report.tests) == {"t.py::test_a", "b"}
    assert report.problems == ()
    report = read(written(session(*events(finish=False), *events([("b", "passed")]))))
    assert report.problems == ("session 1: 1 runs in it ended without a word",)


@pytest.mark.parametrize(
    ("data", "problem", "tampered"),
    [
        (written(session(*events(finish=False))), "ended with 0", True),
        (written(session(*events(finish=False)), command={"exit_status": 139}), "ended without a word", False),
        (written(session(*events(started=9))), "told were 9", True),
        (written(session(*events(), {"event": "start", "id": "x"})), "ended without a word", True),
        (written(session(*events(), bad_frames=1)), "something else than the reporter", True),
        (written(session(*events(), truncated=True)), "more was reported", False),
        (written(session(*events(canaries=[]))), "canaries were not run", False),
        (written(session(*events(canaries=CANARY_EVENTS[:1]))), "canaries were not run", False),
        (written(session(*events(canaries=[("cpass", "passed"), ("cfail", "passed")]))), "must fail came", True),
        (written(session(*events(canaries=[("cpass", "passed"), ("cfail", "xfail")]))), "must fail came", True),
        (written(session(*events(canaries=[("cpass", "passed"), ("cfail", "error")]))), "must fail came", False),
        (written(session(*events(canaries=[("cpass", "failed"), ("cfail", "failed")]))), "must pass came", False),
        (written(session(*events([("a", "great")]))), "unknown status", True),
        (written(session(*events(), {"event": "party"}, events()[-1])), "unknown kind", True),
        (written(session(*events()), findings=["the file x was changed"]), "x was changed", True),
        (written(), "no test runner", False),
        (written(session(*events()), key=b"another"), "not signed", True),
        (written(session(*events())).partition(b"\n")[0], "not signed", True),
        (b"", "not signed", True),
    ],
)
def test_what_cannot_be_trusted(data, problem, tampered):
    report = read(data)
    assert any(problem in text for text in report.problems), report.problems
    assert report.tampered is tampered


def test_a_run_that_was_cut_off_keeps_what_it_has():
    data = written(session(*events(finish=False)), command={"exit_status": None, "timed_out": True})
    report = read(data)
    assert report.timed_out
    assert set(report.tests) == {"t.py::test_a"}
    assert report.problems == ()


@pytest.mark.parametrize("relation", ["inside", "orphan"])
def test_sessions_of_somebody_else_are_left_out(relation):
    honest = events([("a", "failed")])
    report = read(written(session(*honest), session(*events([("a", "passed"), ("b", "passed")]), relation=relation)))
    assert {test_id: str(r.status) for test_id, r in report.tests.items()} == {"a": "failed"}
    assert report.problems == ()
    assert any("left out" in note for note in report.notes)
    alone = read(written(session(*events(), relation=relation)))
    assert alone.tests == {}
    assert alone.problems == ("no test runner reported anything",)


OPENED = {"event": "opened"}


def test_a_session_that_was_opened_early_reads_as_any_other():
    report = read(written(session(OPENED, *events())))
    assert set(report.tests) == {"t.py::test_a"}
    assert report.problems == report.notes == ()


def test_a_process_that_was_to_run_tests_and_ran_none_is_no_session():
    report = read(written(session(OPENED), session(*events(), pid=2)))
    assert set(report.tests) == {"t.py::test_a"}
    assert report.problems == report.notes == ()


def test_who_speaks_in_the_place_of_the_reporter_is_a_forger():
    report = read(written(session(OPENED), session(*events(), relation="inside", inside=1)))
    assert report.tests == {}
    assert report.tampered
    assert any("in the place of the reporter's own" in problem for problem in report.problems)


def test_who_never_looked_around_is_no_reporter():
    told = [event for event in events() if event["event"] != "loaded"]
    report = read(written(session(OPENED, *told)))
    assert report.tampered
    assert any("never said what was loaded" in problem for problem in report.problems)
    failed = [event for event in events([("a", "failed")]) if event["event"] != "loaded"]
    assert not read(written(session(*failed))).tampered, "nothing to gain"


def test_without_a_key_the_signature_is_not_asked_for():
    data = written(session(*events())).partition(b"\n")[0]
    assert channel.read(data, canaries=CANARIES).problems == ()


def finding(*files, what="replaced", name="_pytest.x"):
    origins = [{"file": file, "name": "f", "line": 3, "digest": "d"} for file in files]
    return {"event": "loaded", "when": "finish", "code": {}, "tests": ["/t/a/test_x.py"], "findings": [
        {"what": what, "name": name, "origins": origins}]}  # fmt: skip


@pytest.mark.parametrize(
    ("files", "candidate_files", "verdict"),
    [
        (["/t/pkg/a.py"], {"pkg/a.py"}, "problem"),
        (["/t/pkg/a.py"], {"pkg/b.py"}, "note"),
        (["/t/pkg/a.py"], None, "problem"),
        (["/t/conftest.py"], None, "note"),
        (["/t/tests/helper.py"], None, "note"),
        (["/t/a/test_x.py"], None, "note"),
        (["/t/.venv/lib/site-packages/plugin.py"], None, "note"),
        (["/usr/lib/plugin.py"], {"pkg/a.py"}, "nothing"),
        (["/usr/lib/plugin.py", "<string>"], {"pkg/a.py"}, "problem"),
        (["/usr/lib/unittest/mock.py", "<string>"], {"pkg/a.py"}, "nothing"),
        (["<string>"], {"pkg/a.py"}, "problem"),
        ([None], {"pkg/a.py"}, "problem"),
        (["/usr/lib/functools.py", "/t/pkg/a.py"], {"pkg/a.py"}, "problem"),
        (["/tmp/made.py"], {"pkg/a.py"}, "problem"),
        (["/usr/lib/claimed.py"], {"pkg/a.py"}, "problem"),
    ],
)
def test_whose_doing_a_finding_is(files, candidate_files, verdict):
    looked_up = {"changed": ["/tmp/made.py"], "misplaced": [["/usr/lib/claimed.py", "f", 3]]}
    told = [events()[0], finding(*files), *events()[1:]]
    report = read(written(session(*told, files=looked_up)), candidate_files)
    assert (bool(report.problems), bool(report.notes)) == (verdict == "problem", verdict == "note")
    assert report.tampered is (verdict == "problem")


def test_files_of_the_runner_and_of_the_tests_must_stay_what_they_are():
    core = {"event": "loaded", "when": "start", "code": {"/usr/lib/_pytest/runner.py": {"d": "f"}}}
    looked_up = {
        "changed": ["/usr/lib/_pytest/runner.py"],
        "changed_tests": ["/t/tests/test_a.py"],
        "foreign": {"/usr/lib/_pytest/reports.py": ["_pytest.reports.f"]},
    }
    report = read(written(session(events()[0], core, *events()[1:], files=looked_up)))
    assert report.problems == (
        "/usr/lib/_pytest/runner.py of the test runner was changed while the tests ran",
        "the test file tests/test_a.py was changed while the tests ran",
        "code in memory is not that of /usr/lib/_pytest/reports.py: _pytest.reports.f",
    )


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = [
    "event",
    "id",
    "status",
    "seconds",
    "findings",
    "origins",
    "code",
    "tests",
    "started",
    "finished",
    "what",
    "file",
]
EVENTS = st.lists(
    st.dictionaries(
        st.sampled_from(NAMES),
        ANYTHING | st.sampled_from(["session", "start", "result", "loaded", "finish", "trouble", "passed", "failed"]),
    ),
    max_size=8,
)
RECORDS = st.fixed_dictionaries(
    {"schema": st.just(1)},
    optional={
        "command": ANYTHING | st.fixed_dictionaries({"directory": ANYTHING, "exit_status": ANYTHING}),
        "witness": ANYTHING,
        "findings": ANYTHING,
        "sessions": ANYTHING
        | st.lists(
            st.fixed_dictionaries(
                {"events": EVENTS | ANYTHING},
                optional={"relation": ANYTHING, "bad_frames": ANYTHING, "files": ANYTHING, "truncated": ANYTHING},
            ),
            max_size=3,
        ),
    },
)


@given(st.binary(max_size=300) | ANYTHING.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_can_be_read(data):
    for key in (None, KEY):
        report = channel.read(data, canaries=CANARIES, key=key)
        assert report.problems


@settings(max_examples=300)
@given(RECORDS, st.none() | st.sets(st.text()))
def test_any_record_can_be_read(record, candidate_files):
    report = channel.read(json.dumps(record).encode(), canaries=CANARIES, candidate_files=candidate_files)
    assert report.problems or report.tests == {} or report.evidence is Evidence.REPORT


@given(st.data())
def test_no_part_of_a_report_can_be_changed_unseen(data):
    whole = written(session(*events([("a", "failed")])))
    position = data.draw(st.integers(0, whole.index(b"\n")))
    byte = data.draw(st.integers(0, 255).filter(lambda value: value != whole[position]))
    report = read(whole[:position] + bytes([byte]) + whole[position + 1 :])
    assert report.tampered
    assert report.tests == {}


@given(st.integers(1, 9))
def test_a_session_that_is_cut_anywhere_is_no_success(length):
    whole = events([("a", "passed"), ("b", "passed")])
    report = read(written(session(*whole[:length])))
    assert report.problems
