"""The sweep file: typed, closed, with errors that name the line and the mend."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cluster.sandboxchoice import DockerSandbox, KubernetesSandbox, sandbox_options
from cluster.sandboxes.kubernetes.options import Options
from cluster.sweep import LimitsOverride, Sweep, read_sweep
from cluster.yamlfile import parse_yaml
from parsimony.errors import InputError
from parsimony.execution import GIB, MIB, Limits

GOOD = """\
name: nightly
tasks: tasks.jsonl
predictions: [a.jsonl, b.jsonl]
"""


def parse(text: str) -> Sweep:
    return parse_yaml(text, Sweep, file="s.yaml")


def test_three_lines_are_a_sweep() -> None:
    """Everything else has a default."""
    sweep = parse(GOOD)
    assert sweep.tasks.file == Path("tasks.jsonl")
    assert sweep.sandbox == DockerSandbox()
    assert (sweep.repeats, sweep.concurrency, sweep.policy.evidence) == (1, "auto", "log")


@pytest.mark.parametrize(
    ("text", "where", "mend"),
    [
        (GOOD + "repeets: 2\n", "s.yaml:4: repeets", "did you mean `repeats`?"),
        (GOOD + "policy:\n  fuzzy: true\n", "s.yaml:5: policy.fuzzy", "did you mean `fuzz`?"),
        (GOOD + "sandbox:\n  kind: docker\n  bse_url: x\n", "s.yaml:6: sandbox.", "base_url"),
        (GOOD + "repeats: many\n", "s.yaml:4: repeats", "given: 'many'"),
        (GOOD + "repeats: 0\n", "s.yaml:4: repeats", "given: 0"),
        (GOOD + "limits:\n  memory: lots\n", "s.yaml:5: limits.memory", "for example, `3g`"),
        (GOOD + "name: again\n", "s.yaml:4: name", "keep one of them"),
        ("name: x\ntasks: t.jsonl\n", "s.yaml:1", "predictions"),
        ("predictions: [a]\n", "s.yaml:1: tasks", "add `tasks:`"),
        ("- a\n- b\n", "s.yaml:1", "name: value"),
        ("", "s.yaml:1", "name: value"),
        ("a: [1, 2\n", "s.yaml:2", "is not YAML"),
        ("a: b: c\n", "s.yaml:1", "is not YAML"),
        (GOOD + "seeds: [1, 1]\n", "s.yaml:1", "name each once"),
        (GOOD + "engine: {kind: slurm}\n", "s.yaml:4: engine", "ray"),
    ],
)
def test_a_fault_names_its_line_and_its_mend(text: str, where: str, mend: str) -> None:
    """What a person needs to mend it without opening the manual."""
    with pytest.raises(InputError) as raised:
        parse(text)
    message = str(raised.value)
    assert message.startswith(where), message
    assert mend in message


def test_sizes_are_in_powers_of_1024() -> None:
    """`3g` is three gibibytes, a plain number is bytes."""
    limits = parse(GOOD + "limits: {memory: 3g, disk: 512m, artifacts: 1048576}\n").limits
    assert (limits.memory, limits.disk, limits.artifacts) == (3 * GIB, 512 * MIB, MIB)


def test_limits_are_laid_over_those_of_the_row() -> None:
    """What the sweep leaves out stays as the row has it."""
    limits = LimitsOverride(timeout_s=5, memory=GIB).over(Limits(timeout_s=60, cpus=2))
    assert (limits.timeout_s, limits.memory_bytes, limits.cpus) == (5, GIB, 2)


def test_paths_are_taken_from_the_folder_of_the_file(tmp_path: Path) -> None:
    """A sweep file can be run from anywhere, and the resolved sweep reads as the same sweep again."""
    (tmp_path / "s.yaml").write_text(GOOD + "arms: {x: {predictions: [c.jsonl]}, y: {}}\n")
    sweep = read_sweep(tmp_path / "s.yaml")
    assert sweep.tasks.file == tmp_path / "tasks.jsonl"
    assert sweep.predictions == (tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert sweep.reference == tmp_path / "tasks.reference.json"
    assert sweep.arms is not None
    assert sweep.arms["x"].predictions == (tmp_path / "c.jsonl",)
    assert parse(yaml.safe_dump(sweep.model_dump(mode="json"))) == sweep


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """No traceback for a typo in a path."""
    with pytest.raises(InputError, match="cannot be read"):
        read_sweep(tmp_path / "none.yaml")
    with pytest.raises(InputError, match="cannot be read"):
        read_sweep(tmp_path)


def _parse_or_refuse(text: str) -> None:
    """An `InputError` that names the file, or a sweep; anything else fails the test."""
    try:
        parse(text)
        place = "s.yaml"
    except InputError as error:
        place = str(error.place)
    assert place.startswith("s.yaml")


@given(st.text(max_size=200))
def test_any_text_is_a_sweep_or_an_input_error(text: str) -> None:
    """Never a traceback."""
    _parse_or_refuse(text)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(list(Sweep.model_fields)), values))
def test_any_values_of_known_fields_are_a_sweep_or_an_input_error(data: dict[str, object]) -> None:
    """Never a traceback."""
    rest = {name: value for name, value in data.items() if name not in {"name", "tasks", "predictions"}}
    _parse_or_refuse(GOOD + yaml.safe_dump(rest))


def test_a_cluster_is_described_by_a_closed_schema(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text(
        """
tasks: tasks.jsonl
predictions: [p.jsonl]
sandbox:
  kind: kubernetes
  kubeconfig: config
  courier_image: registry/python:3
  image_pull_secrets: [pull]
  tolerations: [{key: graders, operator: Exists, toleration_seconds: 30}]
  reserved_disk: 2g
"""
    )
    sandbox = read_sweep(path).sandbox
    options = sandbox_options(sandbox)
    assert options["kubeconfig"] == tmp_path / "config"
    assert options["tolerations"] == ({"key": "graders", "operator": "Exists", "tolerationSeconds": 30},)
    assert options["reserved_disk_bytes"] == 2 << 30
    assert "namespace" not in options
    assert Options(**options).image_pull_secrets == ("pull",)
    path.write_text(path.read_text().replace("kubeconfig:", "host_socket:"))
    with pytest.raises(InputError, match=r"sweep.yaml:6.*host_socket"):
        read_sweep(path)


def test_what_a_sweep_says_of_a_cluster_is_what_the_sandbox_takes() -> None:
    """The two lists of fields cannot drift apart, nor their defaults."""
    said = sandbox_options(KubernetesSandbox())
    opened = Options(**said)
    assert opened == Options()
    assert set(KubernetesSandbox.model_fields) - {"kind", "reserved_disk"} == set(Options.__dataclass_fields__) - {
        "reserved_disk_bytes"
    }
