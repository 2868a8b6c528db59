"""The catalogue of attacks: none may end in a trusted success, and each is named for what it is.

Each file of `attacks/` is a candidate. Its docstring says what it does, the level of forgery (docs/limitations.md),
what the problems of the report say (`Says`, a regular expression), and, where needed, the file that it stands for, the
test runner, and the project around it. `Outcome: not resolved` = it gains nothing, and need not be called a forgery.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ATTACKS = sorted((Path(__file__).parent / "attacks").glob("*.py"))
HONEST = "def add(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a + b\n"
TESTS = "def test_add():\n    assert pkg.add(1, 2) == 3\n\n\ndef test_other():\n    assert pkg.mul(2, 3) == 7\n"
SETUPS = {
    "": {},
    "conftest.py imports pkg": {"conftest.py": "import pkg\n"},
    "test module decorates": {
        "tests/test_pkg.py": "import pkg\n\n\n@pkg.decorate\n"
        + TESTS.replace("\n\n\ndef test_other", "\n\n\n@pkg.decorate\ndef test_other")
    },
    "test uses raises": {
        "tests/test_pkg.py": "import pytest\nimport pkg\n\n\n"
        "def test_add():\n    with pytest.raises(ValueError):\n        pkg.fails()\n"
    },
}
BASE = {
    "pkg/__init__.py": HONEST,
    "tests/__init__.py": "",
    "tests/test_pkg.py": "import pkg\n\n\n" + TESTS,
    "tests/test_unit.py": "import unittest\nimport pkg\n\n\nclass T(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(pkg.add(1, 2), 3)\n\n"
    "    def test_other(self):\n        self.assertEqual(pkg.mul(2, 3), 7)\n",
}
COMMANDS = {
    "pytest": "python -m pytest -p no:cacheprovider tests/test_pkg.py",
    "unittest": "python -m unittest tests.test_unit",
}


def described(path):
    """The fields of an attack's docstring."""
    text = path.read_text().split('"""')[1]
    return dict(re.findall(r"^([A-Z][a-z]+): (.*)$", text, re.MULTILINE))


def test_every_attack_is_described():
    for path in ATTACKS:
        fields = described(path)
        assert fields["Level"] in {"1", "2", "3", "channel"}, path.name
        assert fields.get("Says") or fields.get("Outcome") == "not resolved", path.name
        assert fields.get("Setup", "") in SETUPS, path.name


@pytest.mark.parametrize("path", ATTACKS, ids=[path.stem for path in ATTACKS])
def test_attack(bench, path):
    fields = described(path)
    bench.write(BASE | SETUPS[fields.get("Setup", "")])
    target = fields.get("File", "pkg/__init__.py")
    code = path.read_text()
    bench.write({target: HONEST + "\n\n" + code if target.startswith("pkg/") else code})
    touched = {target}
    if "Metadata" in fields:
        touched.add(fields["Metadata"])
        bench.write(
            {fields["Metadata"]: "[pytest11]\nevil = pkg\n", "pkg.egg-info/PKG-INFO": "Name: pkg\nVersion: 1\n"}
        )
    environment = {"PYTHONPATH": str(bench.tree)} if fields["Level"] == "2" else {}
    outcome = bench.run(COMMANDS[fields.get("Runner", "pytest")], candidate_files=touched, environment=environment)
    report = outcome.report
    both = set(outcome.statuses.values()) == {"passed"} and len(outcome.statuses) == 2
    assert not both or report.problems, "resolved"
    if fields.get("Outcome") != "not resolved":
        assert report.tampered, (report, outcome.output)
    if "Says" in fields:
        assert re.search(fields["Says"], "\n".join(report.problems)), (report, outcome.output)
    if "Notes" in fields:
        assert re.search(fields["Notes"], "\n".join(report.notes)), (report, outcome.output)
    unknown = outcome.read(candidate_files=None)
    assert unknown.problems or not both


def test_a_project_that_is_the_runner_cannot_speak_for_it(bench):
    """A fix of pytest itself: no plugin of ours is loaded before the candidate's code runs, but the session stands."""
    forgery = (Path(__file__).parent / "attacks" / "forge_second_session.py").read_text()
    bench.write(BASE | {"pytest/__init__.py": "", "pytest/__main__.py": forgery})
    report = bench.run(COMMANDS["pytest"], candidate_files={"pytest/__main__.py"}).report
    assert report.tests == {}
    assert any("in the place of the reporter's own" in problem for problem in report.problems), report
    assert report.tampered
