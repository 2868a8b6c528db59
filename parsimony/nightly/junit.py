"""A night as JUnit XML, in the shape that CI systems read: testsuites > testsuite > testcase with properties.

The suite `gate` says what the exit status says. In the suite of an arm, a task is

- a failure where it is newly broken: it was resolved in the window and is not any more;
- an error where it has no verdict;
- skipped where it is flaky, quarantined, or never was resolved: none of that is news;
- passed where it is resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from xml.etree import ElementTree as ET

from parsimony.nightly.account import Account
from parsimony.nightly.book import State
from parsimony.nightly.flips import Flip, History
from parsimony.nightly.model import TaskNight

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COUNTED: Final = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def junit(account: Account) -> bytes:
    """The file, UTF-8."""
    root = ET.Element("testsuites", name=_text(account.name))
    _suite(root, account, "gate", [_gate(account)])
    if account.night is not None:
        for arm in account.night.arms:
            of_arm = [one for one in account.histories if one.arm == arm]
            cases = [_case(account, one) for one in of_arm]
            _suite(root, account, arm, [*cases, *_quarantined(account, arm)])
    for name in ("tests", *_COUNTED.values()):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _suite(root: ET.Element, account: Account, name: str, cases: Iterable[ET.Element]) -> None:
    suite = ET.SubElement(root, "testsuite", name=_text(name), timestamp=f"{account.day}T00:00:00")
    suite.extend(cases)
    suite.set("tests", str(len(suite)))
    for tag, counted in _COUNTED.items():
        suite.set(counted, str(len(suite.findall(f"testcase/{tag}"))))
    suite.set("time", f"{sum(float(case.get('time', '0')) for case in suite):.3f}")


def _gate(account: Account) -> ET.Element:
    case = _new(f"{account.name} {account.day}", "gate", 0.0, {"date": str(account.day)})
    state, reasons = account.conclusion.state, "\n".join(account.conclusion.reasons)
    if state is State.REGRESSION:
        _says(case, "failure", "significantly worse than the baseline", reasons, "regression")
    elif state is not State.PASSED:
        _says(case, "error", f"the night is {state.value}", reasons, state.value)
    return case


def _case(account: Account, one: History) -> ET.Element:
    task = one.nights[-1][1]
    assert task is not None, "histories are of the tasks of the newest night"
    more = {"owner": account.owner(one.task_id, one.repo), "history": one.marks, "kind": one.kind.value}
    if one.kind is Flip.NEWLY_BROKEN:
        more |= {"first_failed": str(one.changed), "last_good": str(one.last_good)}
    case = _new(one.task_id, f"{one.arm}.{one.repo}" if one.repo else one.arm, task.seconds, more)
    told = _told(task)
    if one.kind is Flip.FLAKY:
        _says(case, "skipped", f"flaky: {one.marks}; {told}")
    elif task.verdict is None:
        _says(case, "error", f"no verdict: {told}", "", "missing")
    elif one.kind is Flip.NEWLY_BROKEN:
        since = f"first failed on {one.changed}, last resolved on {one.last_good}"
        same = "the same patches were resolved before: the tests or the environment changed" if one.same_patches else ""
        _says(case, "failure", f"newly broken: {since}; {told}", same, "newly_broken")
    elif not task.verdict:
        _says(case, "skipped", f"not resolved, nor in the nights before: {told}")
    return case


def _quarantined(account: Account, arm: str) -> Iterable[ET.Element]:
    assert account.night is not None
    for name, owner, reasons in account.quarantined:
        repo = account.night.quarantined[name]["repo"]
        case = _new(name, f"{arm}.{repo}" if repo else arm, 0.0, {"owner": owner, "kind": "quarantined"})
        _says(case, "skipped", f"quarantined: {'; '.join(reasons)}")
        yield case


def _told(task: TaskNight) -> str:
    outcomes = ", ".join(f"{number} {outcome}" for outcome, number in task.outcomes.items())
    missing = f", {task.missing} missing" if task.missing else ""
    return f"{task.resolved} of {task.seeds} seeds resolved ({outcomes or 'nothing graded'}{missing})"


def _new(name: str, group: str, seconds: float, properties: dict[str, str]) -> ET.Element:
    case = ET.Element("testcase", name=_text(name), classname=_text(group), time=f"{seconds:.3f}")
    box = ET.SubElement(case, "properties")
    for key, value in properties.items():
        ET.SubElement(box, "property", name=key, value=_text(value))
    return case


def _says(case: ET.Element, tag: str, message: str, text: str = "", kind: str = "") -> None:
    element = ET.SubElement(case, tag, message=_text(message))
    if kind:
        element.set("type", kind)
    element.text = _text(text) or None


def _text(value: str) -> str:
    """What XML can hold; other characters as a question mark."""
    return _NOT_XML.sub("?", value)
