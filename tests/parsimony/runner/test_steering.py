"""Which touched files go back to base before the tests."""

import pytest

from parsimony.runner.steering import Steering, SteeringTable

GRADED = ["sklearn/utils/tests/test_x.py", "tests/test_a.py"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("conftest.py", Steering.WHOLE),
        ("src/deep/conftest.py", Steering.WHOLE),
        ("src/ConfTest.py", Steering.WHOLE),  # some file systems fold case
        ("src/sitecustomize.py", Steering.WHOLE),
        ("usercustomize.py", Steering.WHOLE),
        ("lib/x.pth", Steering.WHOLE),
        ("pytest.ini", Steering.WHOLE),
        (".pytest.ini", Steering.WHOLE),
        ("tox.ini", Steering.WHOLE),
        (".mocharc.js", Steering.WHOLE),
        ("jest.config.mjs", Steering.WHOLE),
        (".gitattributes", Steering.WHOLE),
        ("setup.cfg", Steering.MIXED),
        ("pyproject.toml", Steering.MIXED),
        ("package.json", Steering.MIXED),
        ("node_modules/mocha/lib/runner.js", Steering.WHOLE),
        ("packages/a/node_modules/mocha/package.json", Steering.WHOLE),
        ("node_modules", Steering.WHOLE),  # a file or link in the place of the folder
        ("tests/__init__.py", Steering.WHOLE),
        ("tests/test_a.py", Steering.WHOLE),
        ("tests/test_a.py/trick", Steering.WHOLE),  # a folder in the place of a graded file
        ("tests", Steering.WHOLE),  # a file in the place of the folder of graded files
        ("sklearn/utils/tests/helper.py", Steering.WHOLE),
        ("sklearn/svm/tests/helper.py", Steering.FREE),
        ("django/test/client.py", Steering.FREE),
        ("numpy/testing/_private/utils.py", Steering.FREE),
        ("src/flask/testing.py", Steering.FREE),
        ("src/pkg/mod.py", Steering.FREE),
        ("setup.py", Steering.FREE),
    ],
)
def test_paths_are_sorted_by_the_table(path: str, expected: Steering) -> None:
    """The table decides by name, by top-level test folder, and by nearness to graded tests."""
    assert SteeringTable(GRADED, []).sort(path)[0] is expected


def test_the_fix_itself_is_left_alone() -> None:
    """A task whose own fix touches setup.cfg needs that file as the candidate left it."""
    table = SteeringTable(GRADED, ["setup.cfg", "tests/helper.py"])
    assert table.sort("setup.cfg")[0] is Steering.FREE
    assert table.sort("tests/helper.py")[0] is Steering.FREE


def test_a_graded_file_goes_back_even_when_the_fix_touches_it() -> None:
    """What grades is never the candidate's."""
    assert SteeringTable(["tests/test_a.py"], ["tests/test_a.py"]).sort("tests/test_a.py")[0] is Steering.WHOLE


def test_every_decision_but_free_gives_its_reason() -> None:
    """People read why a file went back."""
    table = SteeringTable(GRADED, [])
    assert all(table.sort(p)[1] for p in ("conftest.py", "tests/x.py", "setup.cfg", "sklearn/utils/tests/h.py"))
