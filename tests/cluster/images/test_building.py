"""Images from an environment: what they share, what they hide, and what is wrong with a specification."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from cluster.images.building import Builder, missing_arguments
from cluster.images.context import Context
from cluster.images.dockerfiles import SEAL
from cluster.images.languages import BASES, base_dockerfile
from cluster.images.repository import Repository
from cluster.images.spec import RepositorySpec, read_environment
from cluster.images.store import Store, Stored
from cluster.imageuse import ImageUse
from parsimony import cli
from parsimony.errors import InputError, PermanentError, SandboxUnavailable
from tests.cluster.images.test_pinning import parsimony

ROOT = Path(__file__).resolve().parents[3]
IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@localhost")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *IDENTITY, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


class Project:
    """A repository: base → one → two → fix and a side branch from base; some commits have tags."""

    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        self.root.mkdir()
        git(self.root, "init", "-q", "-b", "main")
        (self.root / ".gitignore").write_text("__pycache__/\nbuilt\n")
        self.base = self.commit("def double(x):\n    return x\n", "base")
        git(self.root, "tag", "v1")
        self.one = self.commit("def double(x):\n    return x + 1\n", "one")
        git(self.root, "tag", "-a", "-m", "release", "v2")
        self.two = self.commit("def double(x):\n    return x + 2\n", "two")
        self.fix = self.commit("def double(x):\n    return x + x  # the fix\n", "fix")
        git(self.root, "tag", "v3")
        git(self.root, "checkout", "-q", "-b", "side", self.base)
        self.side = self.commit("def double(x):\n    return 'aside'\n", "side")
        git(self.root, "checkout", "-q", "main")

    def commit(self, text: str, message: str) -> str:
        (self.root / "m.py").write_text(text)
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", message)
        return git(self.root, "rev-parse", "HEAD")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Made once: a dozen calls of git take longer than a test."""
    return Project(tmp_path_factory.mktemp("template"))


@pytest.fixture
def project(template: Project, tmp_path: Path) -> Project:
    made = copy.copy(template)
    made.root = tmp_path / "project"
    shutil.copytree(template.root, made.root)
    return made


@pytest.fixture
def repository(project: Project, tmp_path: Path) -> Iterator[Repository]:
    made = Repository(RepositorySpec(path=project.root), tmp_path, tmp_path / "cache")
    yield made
    made.close()


def objects(repository: Repository, tmp_path: Path, commits: list[str], known: list[str]) -> set[str]:
    pack = repository.pack(commits, known)
    if pack is None:
        return set()
    (tmp_path / "p.pack").write_bytes(pack.pack)
    (tmp_path / "p.idx").write_bytes(pack.index)
    listed = git(tmp_path, "verify-pack", "-v", "p.idx").splitlines()
    return {line.split()[0] for line in listed if re.match(r"[0-9a-f]{40} ", line)}


# ---- the repository


def test_packs_hold_the_past_and_nothing_else(project: Project, repository: Repository, tmp_path: Path) -> None:
    def reached(commit: str) -> set[str]:
        return {line.split()[0] for line in git(project.root, "rev-list", "--objects", commit).splitlines()}

    assert repository.common_past([project.one, project.two]) == project.one
    assert repository.common_past([project.two, project.side]) == project.base
    shared = objects(repository, tmp_path, [project.base], [])
    own = objects(repository, tmp_path, [project.two], [project.base])
    assert shared == reached(project.base)
    assert shared | own == reached(project.two)
    assert project.fix not in shared | own
    assert repository.pack([project.base], [project.base]) is None


def test_tags_of_the_past_are_names_of_commits(project: Project, repository: Repository) -> None:
    assert repository.tags(project.two) == {"refs/tags/v1": project.base, "refs/tags/v2": project.one}
    assert repository.tags(project.side) == {"refs/tags/v1": project.base}


def test_a_commit_alone_is_the_same_one_every_time_and_not_in_the_repository(
    project: Project, repository: Repository, tmp_path: Path
) -> None:
    alone = repository.alone(project.two)
    assert repository.alone(project.two) == alone
    assert objects(repository, tmp_path, [alone], []) >= {alone}
    assert project.two not in objects(repository, tmp_path, [alone], [])
    with pytest.raises(subprocess.CalledProcessError):
        git(project.root, "cat-file", "-e", alone)


def test_a_repository_with_an_address_is_cloned_once_and_brought_up_to_date(project: Project, tmp_path: Path) -> None:
    spec = RepositorySpec(url=project.root.as_uri())
    first = Repository(spec, tmp_path, tmp_path / "cache")
    assert first.commit(project.two[:10]) == project.two
    later = project.commit("later\n", "later")
    second = Repository(spec, tmp_path, tmp_path / "cache")
    assert second.commit(later) == later
    assert len(list((tmp_path / "cache" / "repositories").iterdir())) == 1
    with pytest.raises(InputError, match="has no commit " + "9" * 40):
        second.commit("9" * 40)
    first.close()
    second.close()


def test_what_is_no_repository(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no repository; give the folder of a git repository"):
        Repository(RepositorySpec(path=Path("nowhere")), tmp_path, tmp_path)


# ---- the specification

SPEC = """\
name: demo
language: python
base: python:3.11-slim-bookworm
image: "{image}"
repository: {{path: project{history}}}
dependencies:
  files: [locks]
  run:
    - cat locks/a.txt > /opt/dependencies
install:
  - python -c "import m; open('built', 'w').write(str(m.double(3)))"
tasks:
  - {{instance_id: t-one, commit: {one}}}
  - {{instance_id: t-two, commit: {two}}}
"""


def write(project: Project, image: str = "demo/{instance_id}:1", history: str = "", more: str = "") -> Path:
    folder = project.root.parent
    (folder / "locks").mkdir(exist_ok=True)
    (folder / "locks" / "a.txt").write_text("locked\n")
    path = folder / "environment.yaml"
    path.write_text(SPEC.format(image=image, history=history, one=project.one, two=project.two) + more)
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("language: python", "language: cobol", "language"),
        ("demo/{instance_id}:1", "demo:1", "is the same for every task; put `{instance_id}` into it"),
        ("path: project", "url: x, path: project", "needs just one of `url` and `path`"),
        ("t-two", "t-one", "has 't-one' twice; keep one"),
        ("[locks]", "[other]", "other is not there"),
        ("[locks]", "[../..]", "lies elsewhere; put it beside the specification"),
        ("name: demo", "name: demo\nnames: 1", "is not a known field; did you mean `name`?"),
    ],
)
def test_what_is_wrong_is_said_with_the_mend(project: Project, old: str, new: str, said: str) -> None:
    path = write(project)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError) as error:
        read_environment(path).files()
    assert said in str(error.value)


def test_tasks_may_stand_in_a_file_of_rows(project: Project) -> None:
    path = write(project)
    row = {
        "instance_id": "Org__r-1", "repo": "o/r", "base_commit": project.two, "FAIL_TO_PASS": ["a"], "PASS_TO_PASS": [],
        "test_cmd": "x", "log_format": "pytest", "patch": "", "test_patch": "", "image": "x:1",
    }  # fmt: skip
    (path.parent / "rows.jsonl").write_text(json.dumps(row) + "\n")
    path.write_text(path.read_text().partition("tasks:")[0] + "tasks: rows.jsonl\n")
    environment = read_environment(path)
    assert [(task.instance_id, task.commit) for task in environment.tasks] == [("Org__r-1", project.two)]
    assert environment.image(environment.tasks[0]) == "demo/org__r-1:1"


def test_arguments_must_be_set(project: Project) -> None:
    environment = read_environment(write(project, more="arguments: [SOME_INDEX]\n"))
    missing_arguments(environment, {"SOME_INDEX": "x"})
    with pytest.raises(InputError, match="SOME_INDEX is not set; set it where you build"):
        missing_arguments(environment, {})


def test_the_example_is_of_the_schema() -> None:
    environment = read_environment(ROOT / "configs" / "environment.example.yaml")
    assert environment.tasks
    assert environment.spec.repository.url


# ---- building, with an engine that only notes


class Notes:
    """An engine that builds nothing."""

    def __init__(self) -> None:
        self.images: dict[str, Stored] = {"python:3.11-slim-bookworm": Stored("sha256:base")}
        self.built: list[tuple[str, str, dict[str, bytes], dict[str, str], dict[str, str]]] = []
        self.broken = ""
        self.executable: list[set[str]] = []

    def find(self, reference: str) -> Stored | None:
        return self.images.get(reference)

    def pull(self, reference: str, told: Callable[[int], None] | None = None) -> None:
        raise AssertionError(f"{reference} is here")

    def tag(self, image: str, reference: str) -> None:
        self.images[reference] = Stored(image)

    def build(self, context: BinaryIO, tag: str, *, arguments: Mapping[str, str], labels: Mapping[str, str]) -> str:
        with tarfile.open(fileobj=context) as archive:
            files = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}  # type: ignore[union-attr]
            if "environment" in tag:
                self.executable.append({m.name for m in archive if m.isfile() and m.mode & 0o100})
        text = files.pop("Dockerfile").decode()
        if self.broken and self.broken in labels.values():
            raise PermanentError("a step failed")
        self.built.append((tag, text, files, dict(arguments), dict(labels)))
        self.images[tag] = Stored(f"sha256:{len(self.built)}")
        return f"sha256:{len(self.built)}"


@pytest.fixture
def build(project: Project, repository: Repository) -> Callable[..., Any]:
    def run(store: Notes, path: Path | None = None, *only: str, **variables: str) -> list[Any]:
        environment = read_environment(path or write(project), only)
        builder = Builder(store, environment, repository, lambda *_: None, lambda _: None, variables)
        return list(builder.build())

    return run


def test_stages_are_shared_and_nothing_is_built_twice(build: Callable[..., Any], project: Project) -> None:
    store = Notes()
    found = build(store)
    assert [one.fresh for one in found] == [True, True]
    stages = [re.fullmatch(r"parsimony-build/demo\.(\w+):[0-9a-f]{16}", tag)[1] for tag, *_ in store.built]  # type: ignore[index]
    assert stages == ["environment", "past", "task", "task"]
    tags = [tag for tag, *_ in store.built]
    assert [text.splitlines()[0] for _, text, *_ in store.built] == [
        "FROM python:3.11-slim-bookworm", f"FROM {tags[0]}", f"FROM {tags[1]}", f"FROM {tags[1]}"
    ]  # fmt: skip
    assert store.images["demo/t-two:1"] == Stored("sha256:4")
    assert [one.fresh for one in build(store)] == [False, False]
    assert len(store.built) == 4, "nothing changed"
    store.images["python:3.11-slim-bookworm"] = Stored("sha256:another")
    build(store)
    assert len(store.built) == 8, "another base is another image"


@pytest.mark.parametrize(
    ("old", "new", "stages"),
    [
        ("locked", "other", 4),
        ("open('built'", "open('./built'", 2),
        ("t-two, commit: {two}", "t-two, commit: {side}", 2),
    ],
)
def test_a_change_builds_what_stands_on_it(
    build: Callable[..., Any], project: Project, old: str, new: str, stages: int
) -> None:
    store = Notes()
    path = write(project)
    build(store, path)
    for file in (path, project.root.parent / "locks" / "a.txt"):
        before, after = (text.format(two=project.two, side=project.side) for text in (old, new))
        file.write_text(file.read_text().replace(before, after))
    build(store, path)
    expected = 4 + stages + (1 if "side" in new else 0)  # another past in common
    assert len(store.built) == expected


def test_a_task_that_fails_does_not_stop_the_others(build: Callable[..., Any]) -> None:
    store = Notes()
    store.broken = "t-one"
    one, two = build(store)
    assert (one.id, one.text, two.fresh) == (None, "a step failed", True)


def test_only_the_chosen_are_built_on_the_past_of_all(build: Callable[..., Any]) -> None:
    store, other = Notes(), Notes()
    build(store)
    build(other, None, "t-two")
    assert [tag for tag, *_ in other.built] == [tag for n, (tag, *_) in enumerate(store.built) if n != 2]


def test_arguments_reach_the_builder_and_no_stage(build: Callable[..., Any], project: Project) -> None:
    store = Notes()
    build(store, write(project, more="arguments: [SOME_INDEX]\n"), SOME_INDEX="https://x", OTHER="y")
    assert all(arguments == {"SOME_INDEX": "https://x"} for _, _, _, arguments, _ in store.built)
    assert "ARG SOME_INDEX" in store.built[0][1]
    assert not any("https://x" in text for _, text, *_ in store.built)


def test_files_that_can_be_run_stay_so(build: Callable[..., Any], project: Project) -> None:
    store, path = Notes(), write(project)
    build(store, path)
    (project.root.parent / "locks" / "a.txt").chmod(0o755)
    build(store, path)
    assert store.executable == [set(), {"environment/locks/a.txt"}]


def test_a_context_is_the_same_bytes_every_time() -> None:
    made = []
    for _ in range(2):
        context = Context()
        context.add("a", b"1", executable=True)
        context.folder("b")
        made.append(context.finish().read())
        context.close()
    assert made[0] == made[1]


# ---- Dockerfiles of bases


@pytest.mark.parametrize("language", list(BASES))
def test_the_files_of_bases_are_those_of_the_table(language: Any) -> None:
    file = ROOT / "images" / "tasks" / f"base-{language}.Dockerfile"
    assert file.read_text() == base_dockerfile(language), "run `python scripts/write_task_bases.py`"


@pytest.mark.parametrize("path", sorted((ROOT / "images").rglob("*.Dockerfile")), ids=lambda path: path.name)
def test_every_base_image_can_be_chosen_and_none_is_the_latest(path: Path) -> None:
    lines = path.read_text().replace("\\\n", " ").splitlines()
    froms = [line.split()[1] for line in lines if line.startswith("FROM ")]
    arguments = dict(line.removeprefix("ARG ").partition("=")[::2] for line in lines if line.startswith("ARG "))
    assert froms
    assert set(froms) == {"${BASE}"}
    assert re.search(r":[\w.${}-]+$", arguments["BASE"]), "a tag"
    assert ":latest" not in path.read_text()
    assert not any(line.startswith("ADD ") and "://" in line for line in lines), "nothing is fetched without a lock"
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    # Task images are root's, who can be two users at once; sandboxes take the rest from it.
    assert (users == []) is (path.parent.name == "tasks")
    assert not {"root", "0", "0:0"} & set(users[-1:])
    used = set(re.findall(r"\$\{(\w+)\}", "\n".join(lines)))
    declared = arguments.keys() | set(re.findall(r"^ARG (\w+)", "\n".join(lines), re.MULTILINE))
    assert used <= declared


# ---- a real engine


@pytest.fixture(scope="session")
def python_base() -> Iterator[str]:
    try:
        store = Store()
    except SandboxUnavailable as error:
        pytest.skip(f"no Docker Engine answers here: {error}")
    if store.find("python:3.11-slim-bookworm") is None:
        pytest.skip("the engine does not have python:3.11-slim-bookworm")
    context = Context()
    context.add("Dockerfile", base_dockerfile("python").encode())
    name = "parsimony-test-base-python:1"
    store.build(context.finish(), name, arguments={}, labels={})
    context.close()
    yield name
    store.remove(name)
    store.close()


def nameless(engine: Any, before: set[str]) -> list[dict[str, Any]]:
    """The settings of images without a name that were not there before."""
    rows = engine.images(filters={"dangling": True})
    return [engine.inspect_image(row["Id"])["ContainerConfig"] for row in rows if row["Id"] not in before]


def inside(image: str, script: str) -> str:
    command = ["docker", "run", "--rm", "--network=none", image, "sh", "-euc", script]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("history", ["", ", history: none"], ids=["ancestors", "none"])
def test_real_images_hide_the_future(
    python_base: str,
    engine: Any,
    own_name: str,
    project: Project,
    history: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PARSIMONY_STATE", str(tmp_path / "state"))
    path = write(project, f"{own_name}/{{instance_id}}:1", history)
    path.write_text(
        path.read_text().replace("name: demo", f"name: {own_name}").replace("python:3.11-slim-bookworm", python_base)
    )
    status, found = parsimony(monkeypatch, capsys, "build", path, "--lock", tmp_path / "lock.json")
    assert (status, [one["fresh"] for one in found["images"]]) == (cli.DONE, [True, True]), found
    two = f"{own_name}/t-two:1"
    assert inside(two, "cat built /opt/dependencies; git status --porcelain") == "5locked"
    log = inside(two, "git log --format=%s; git tag; git reflog | wc -l")
    assert log.split() == (["two", "one", "base", "v1", "v2", "0"] if not history else ["base", "0"])
    everything = inside(two, "git cat-file --batch-all-objects --batch-check='%(objectname)'")
    assert project.fix not in everything
    assert project.side not in everything
    assert (project.one in everything) is (history == "")
    blob = git(project.root, "rev-parse", f"{project.fix}:m.py")
    assert blob not in everything
    assert inside(two, "git fsck --unreachable --no-reflogs 2>&1 | grep -c unreachable || true") == "0"
    layers = [set(engine.inspect_image(f"{own_name}/t-{n}:1")["RootFS"]["Layers"]) for n in ("one", "two")]
    assert len(layers[0] & layers[1]) >= len(layers[0]) - 3, (
        "a task's own layers are its scripts, its pack and its checkout"
    )
    locked = json.loads((tmp_path / "lock.json").read_text())["images"]
    assert set(locked) == {f"{own_name}/t-one:1", two}
    assert locked[two]["digest"] == engine.inspect_image(two)["Id"]
    status, found = parsimony(monkeypatch, capsys, "build", path)
    assert (status, [one["fresh"] for one in found["images"]]) == (cli.DONE, [False, False])
    uses = ImageUse(engine.info()["ID"]).entries()
    assert uses[locked[two]["digest"]].origin == "built"


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_image_that_would_tell_too_much_is_not_made(
    python_base: str,
    engine: Any,
    own_name: str,
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PARSIMONY_STATE", str(tmp_path / "state"))
    path = write(project, f"{own_name}/{{instance_id}}:1")
    text = path.read_text().replace("name: demo", f"name: {own_name}").replace("python:3.11-slim-bookworm", python_base)
    tell = "git tag later $(git -c user.name=a -c user.email=a@b commit-tree -p HEAD -m later HEAD^{tree})"
    store = "echo more | git hash-object -w --stdin"
    installs = {"tell": tell, "store": store, "leave": "touch left"}
    rows = "".join(f"  - {{instance_id: {n}, commit: {project.two}, install: '{c}'}}\n" for n, c in installs.items())
    path.write_text(text + rows)
    before = {row["Id"] for row in engine.images(filters={"dangling": True})}
    status, found = parsimony(monkeypatch, capsys, "build", path, *(w for n in installs for w in ("--task", n)))
    commands = [row["Cmd"] for row in nameless(engine, before)]
    assert not any("parsimony-build" in str(command) for command in commands), (
        "a build that fails leaves nothing behind"
    )
    assert status == cli.NO
    texts = {one["instance_id"]: one["text"] for one in found["images"]}
    assert "a name leads to a later commit" in texts["tell"]
    assert "holds objects that" in texts["store"]
    assert "leaves files that git does not ignore: ?? left" in texts["leave"]
    assert SEAL.count("exit 1") == 3


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("language", "version", "image", "script"),
    [
        ("python", "3.9", "python:3.9-slim-bookworm", "python --version | cut -d. -f2"),
        ("node", "20", "node:20-bookworm-slim", "node --version | tr -d v | cut -d. -f1; python3 -c ''"),
    ],
)
def test_bases_of_other_versions_and_languages(
    language: Any, version: str, image: str, script: str, engine: Any, own_name: str
) -> None:
    if not engine.images(name=image):
        pytest.skip(f"the engine does not have {image}")
    store = Store()
    for tag, arguments in (
        ("first", {"VERSION": version}),
        ("second", {"BASE": f"{own_name}:first", "APT_MIRROR": "http://x"}),
    ):
        context = Context()
        context.add("Dockerfile", base_dockerfile(language).encode())
        store.build(context.finish(), f"{own_name}:{tag}", arguments=arguments, labels={})
        context.close()
    # The second, on the first, has nothing to install, so that the mirror that is not there was not asked.
    store.close()
    told = inside(f"{own_name}:second", f"{script}; pwd; for tool in git patch cc; do $tool --version >&2; done")
    assert told.split() == [version.rpartition(".")[2], "/testbed"]
