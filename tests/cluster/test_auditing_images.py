"""A real image with the fix in its history: the audit sees it, and so does the canary that runs it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.auditing import Audited, audit_tasks
from cluster.sweep import Sweep
from parsimony.cli.progress import Quiet

TASK, IMAGE = "andialbrecht__sqlparse-826", "given/sqlparse-826:1"
DOCKERFILE = f"""FROM {IMAGE}
COPY fix.patch /tmp/fix.patch
RUN cd /testbed && git apply /tmp/fix.patch && \\
    git -c user.name=a -c user.email=a@localhost commit -q -am "the fix" && \\
    git reset -q --hard HEAD~1 && rm /tmp/fix.patch
"""


@pytest.fixture
def row() -> dict[str, object]:
    folder = os.environ.get("PARSIMONY_TASKS")
    if not folder:
        pytest.skip("PARSIMONY_TASKS does not name the folder of the real tasks")
    if subprocess.run(["docker", "image", "inspect", IMAGE], capture_output=True, check=False).returncode:
        pytest.skip(f"no Docker Engine here that has the image {IMAGE}")
    rows = (json.loads(line) for line in (Path(folder) / "tasks.jsonl").read_text().splitlines())
    found: dict[str, object] = next(row for row in rows if row["instance_id"] == TASK)
    return found


@pytest.fixture
def leaking(row: dict[str, object]) -> Iterator[str]:
    """An image of our own whose repository holds the fix in a commit that nothing points to."""
    name = f"parsimony-test-leak:{uuid.uuid4().hex[:12]}"
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for path, text in (("Dockerfile", DOCKERFILE), ("fix.patch", str(row["patch"]))):
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    command = ["docker", "build", "-q", "-t", name, "--network=none", "-"]
    subprocess.run(command, input=context.getvalue(), capture_output=True, check=True)
    yield name
    subprocess.run(["docker", "image", "rm", "-f", name], capture_output=True, check=False)


def audit(row: dict[str, object], image: str, root: Path) -> Audited:
    (root / "tasks.jsonl").write_text(json.dumps({**row, "image": image}) + "\n")
    data = {"tasks": "tasks.jsonl", "predictions": ["none.jsonl"], "repeats": 1, "concurrency": 1}
    return audit_tasks(Sweep.model_validate(data).resolved(root), root / "audit", Quiet(), mutants=0)


@pytest.mark.docker
@pytest.mark.shared
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_fix_in_the_history_quarantines_the_task(row: dict[str, object], leaking: str, tmp_path: Path) -> None:
    found = audit(row, leaking, tmp_path)
    task = found.audit.tasks[TASK]
    assert {check.id for check in task.failed} == {"image.objects", "canary.history"}
    (objects,) = (check for check in task.checks if check.id == "image.objects")
    assert objects.data["fixed_files"] == {"sqlparse/engine/statement_splitter.py": "stray"}
    assert objects.data["later_commits"] == 1
    verdicts = {check.id: check.verdict.value for check in task.checks}
    assert (verdicts["T.5"], verdicts["T.10"]) == ("fail", "fail")
    others = {v for name, v in verdicts.items() if name.startswith("canary.") and name != "canary.history"}
    assert others == {"pass", "not_applicable"}
