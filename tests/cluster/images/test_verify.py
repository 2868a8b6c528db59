"""`parsimony images verify` on real tasks: an image that is as it should be, and one whose repository tells the fix."""

from __future__ import annotations

import io
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from parsimony import cli
from tests.cluster.images.test_pinning import parsimony

TASK, IMAGE = "andialbrecht__sqlparse-826", "given/sqlparse-826:1"
LEAK = f"""FROM {IMAGE}
COPY fix.patch /tmp/fix.patch
RUN cd /testbed && git apply /tmp/fix.patch && \\
    git -c user.name=a -c user.email=a@localhost commit -q -am "the fix" && \\
    git tag v9 && git reset -q --hard HEAD~1 && rm /tmp/fix.patch
"""


@pytest.fixture
def row(engine: Any) -> dict[str, Any]:
    folder = os.environ.get("PARSIMONY_TASKS")
    if not folder:
        pytest.skip("PARSIMONY_TASKS does not name the folder of the real tasks")
    if not engine.images(name=IMAGE):
        pytest.skip(f"the engine does not have the image {IMAGE}")
    rows = (json.loads(line) for line in (Path(folder) / "tasks.jsonl").read_text().splitlines())
    return next(row for row in rows if row["instance_id"] == TASK)


def build(engine: Any, name: str, **files: str) -> None:
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for path, text in files.items():
            member = tarfile.TarInfo(path.replace("_", "."))
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    context.seek(0)
    for step in engine.build(fileobj=context, custom_context=True, tag=name, rm=True, decode=True):
        assert "error" not in step, step


@pytest.mark.docker
@pytest.mark.shared
@pytest.mark.slow
def test_gold_base_and_the_future(
    row: dict[str, Any],
    engine: Any,
    own_name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    leaking = f"{own_name}:1"
    build(engine, leaking, Dockerfile=LEAK, fix_patch=row["patch"])
    wrong = {
        **row,
        "instance_id": "wrong-gold",
        "patch": row["patch"].replace("'TRANSACTION', 'WORK', 'TRAN'", "'X', 'Y', 'Z'"),
    }
    lines = [row, {**row, "instance_id": "leaks", "image": leaking}, wrong]
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert parsimony(monkeypatch, capsys, "pin", tasks, "--from", "engine")[0] == cli.DONE
    status, found = parsimony(monkeypatch, capsys, "verify", tasks, "--workers", "2", "--work", tmp_path / "work")
    assert (status, found["ok"]) == (cli.NO, False)
    verdicts = {
        task["instance_id"]: {check: one["verdict"] for check, one in task["checks"].items()} for task in found["tasks"]
    }
    fine = {"gold": "pass", "base": "pass", "image.objects": "pass", "image.copies": "pass"}
    assert verdicts[TASK] == fine
    assert verdicts["leaks"] == {**fine, "image.objects": "fail"}
    assert verdicts["wrong-gold"]["base"] == "pass"
    assert (verdicts["wrong-gold"]["gold"], verdicts["wrong-gold"]["image.objects"]) == ("fail", "pass")
    leak = next(task for task in found["tasks"] if task["instance_id"] == "leaks")
    assert "not older than HEAD" in leak["checks"]["image.objects"]["evidence"]

    # One task alone, in the same folder: nothing is graded twice, and the answer is yes.
    status, found = parsimony(monkeypatch, capsys, "verify", tasks, "--task", TASK, "--work", tmp_path / "work")
    assert (status, found["ok"]) == (cli.DONE, True)
