"""The lock: what it says, how a sweep uses it, and every way in which it can be wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.imagelock import ImageLock, LockedImage, bytes_of, make_lock, read_lock
from cluster.plan import Environment, load, make_plan
from cluster.sweep import Sweep, read_sweep
from parsimony import cli
from parsimony.errors import InputError

ONE, TWO, THREE = ("sha256:" + c * 64 for c in "123")
PATCH = "diff --git a/m b/m\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-a\n+b\n"


def lock(**images: tuple[str, str]) -> ImageLock:
    made = {
        name.replace("_", ":"): LockedImage.model_validate(
            {"digest": digest, "source": source, "platform": "linux/amd64", "size": 10}
        )
        for name, (digest, source) in images.items()
    }
    return make_lock(made, {})


class Bench:
    """A sweep on two tasks with an image each, and a lock beside it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        common: dict[str, Any] = {
            "repo": "o/r", "FAIL_TO_PASS": ["a"], "PASS_TO_PASS": [], "test_cmd": "pytest", "log_format": "pytest",
            "patch": PATCH, "test_patch": "",
        }  # fmt: skip
        rows = [{"instance_id": f"t-{n}", "image": f"img:{n}", **common} for n in (1, 2)]
        said = [{"instance_id": f"t-{n}", "arm": "x", "seed": 1, "model_patch": PATCH} for n in (1, 2)]
        for name, lines in (("tasks", rows), ("predictions", said)):
            (root / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def sweep(self, text: str = "images_lock: images.lock.json\n") -> Sweep:
        path = self.root / "sweep.yaml"
        path.write_text(f"tasks: tasks.jsonl\npredictions: predictions.jsonl\n{text}")
        return read_sweep(path)

    def write(self, made: ImageLock) -> None:
        (self.root / "images.lock.json").write_text(made.text())


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_a_lock_is_read_as_it_was_written_and_equal_locks_are_equal_bytes(tmp_path: Path) -> None:
    image = LockedImage(digest=ONE, source="registry", platform="linux/amd64", layers=(TWO, THREE))
    made = make_lock({"b:1": image, "a:1": image}, {TWO: 5, THREE: 7, ONE: 9})
    path = tmp_path / "lock.json"
    path.write_text(made.text())
    again = read_lock(path).lock
    assert again == made
    assert again.text() == make_lock({"a:1": image, "b:1": image}, {THREE: 7, TWO: 5}).text()
    assert list(again.layers) == [TWO, THREE], "only layers that an image names"


def test_shared_layers_count_once() -> None:
    images = {
        "a:1": LockedImage(digest=ONE, source="registry", platform="linux/amd64", layers=(ONE, TWO)),
        "b:1": LockedImage(digest=TWO, source="registry", platform="linux/amd64", layers=(ONE, THREE)),
        "c:1": LockedImage(digest=TWO, source="engine", platform="linux/amd64"),
    }
    made = make_lock(images, {ONE: 100, TWO: 10, THREE: 1})
    assert bytes_of(made, ["a:1", "b:1"]) == (111, 0)
    assert bytes_of(made, ["a:1", "c:1", "d:1"]) == (110, 2)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "is not there; write it with `parsimony images pin`"),
        ("{", "is not JSON"),
        ("[]", "schema: is None; this version reads schema 1"),
        ('{"schema": 2}', "schema: is 2; this version reads schema 1"),
        ('{"schema": 1, "images": {"a:1": {}}}', "images.a:1.digest: Field required"),
        ('{"schema": 1, "images": {}, "more": 1}', "more: Extra inputs"),
    ],
)
def test_what_is_wrong_with_a_lock_is_said_with_the_mend(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "lock.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError) as error:
        read_lock(path)
    assert said in str(error.value)


def test_images_of_a_registry_are_asked_for_by_digest(bench: Bench) -> None:
    bench.write(lock(img_1=(ONE, "registry"), img_2=(TWO, "engine")))
    inputs = load(bench.sweep())
    assert [task.image for task in inputs.tasks.values()] == [f"img@{ONE}", "img:2"]


def test_a_mirror_is_where_images_are_asked_for_and_changes_no_key(bench: Bench) -> None:
    bench.write(lock(img_1=(ONE, "registry"), img_2=(TWO, "registry")))
    (bench.root / "registries.yaml").write_text("registries: {docker.io: {mirror: m.example.com}}\n")
    plain, mirrored = bench.sweep(), bench.sweep("images_lock: images.lock.json\nregistries: registries.yaml\n")
    keys = []
    for sweep in (plain, mirrored):
        inputs = load(sweep)
        images = [task.image for task in inputs.tasks.values()]
        found = {image: Environment(digest) for image, digest in zip(images, (ONE, TWO), strict=True)}
        keys.append(list(make_plan(sweep, inputs, found).work))
    assert images == [f"m.example.com/library/img@{ONE}", f"m.example.com/library/img@{TWO}"]
    assert keys[0] == keys[1]


def test_another_image_than_the_pinned_one_stops_the_sweep(bench: Bench) -> None:
    bench.write(lock(img_1=(ONE, "registry"), img_2=(TWO, "engine")))
    sweep = bench.sweep()
    inputs = load(sweep)
    pinned = f"img@{ONE}"
    make_plan(sweep, inputs, {pinned: Environment(ONE), "img:2": Environment(TWO)})
    make_plan(sweep, inputs, {pinned: Environment(ONE), "img:2": Environment("unknown:img:2")})
    make_plan(sweep, inputs, {pinned: Environment(ONE), "img:2": Environment(None, "not here")})
    with pytest.raises(InputError) as error:
        make_plan(sweep, inputs, {pinned: Environment(ONE), "img:2": Environment(THREE)})
    assert f"has img:2 as {TWO}, and here it is {THREE}" in str(error.value)
    assert "`parsimony images pin`" in str(error.value)


def test_an_image_that_is_not_in_the_lock_stops_the_sweep(bench: Bench) -> None:
    bench.write(lock(img_1=(ONE, "registry")))
    with pytest.raises(InputError, match=r"does not have the image img:2; add it with `parsimony images pin`"):
        load(bench.sweep())


def test_a_sandbox_without_images_has_nothing_to_pin(bench: Bench) -> None:
    inputs = load(bench.sweep("images_lock: nowhere.json\nsandbox: {kind: process}\n"))
    assert [task.image for task in inputs.tasks.values()] == ["img:1", "img:2"]


@pytest.mark.parametrize("name", ["environment", "images-lock", "registries"])
def test_schemas_are_printed(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema")
    monkeypatch.setattr(sys, "argv", ["parsimony", "schema", name])
    with pytest.raises(SystemExit):
        cli.main()
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    if name == "images-lock":
        made = lock(img_1=(ONE, "registry"))
        jsonschema.validate(json.loads(made.text()), schema)
    if name == "environment":
        file = Path(__file__).resolve().parents[3] / "configs" / "environment.example.yaml"
        jsonschema.validate(yaml.safe_load(file.read_text()), schema)
