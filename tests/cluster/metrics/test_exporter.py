"""Metrics are what the ledger holds: live, after kills, after resumes, and whoever reads them."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from cluster.dispatch import RunEnding
from cluster.ledger import LedgerReader
from cluster.metrics.exposition import samples_of, serve, text_of, write_textfile
from cluster.metrics.folder import Nights, Run, source_of
from cluster.metrics.series import ALL, LABEL_VALUES, OTHER, Kind
from cluster.metrics.values import BUCKETS, Bounded, Histogram
from parsimony.chain import Chain
from parsimony.errors import InputError
from tests.faults.killpoints import Benchmark, Snapshots, Watch, World, outcomes

DOCUMENT = Path(__file__).parents[3] / "docs" / "metrics.md"
COUNTERS = {series.name for series in ALL if series.kind is Kind.COUNTER}
Sample = tuple[str, tuple[tuple[str, str], ...]]


def samples(source: Any) -> dict[Sample, float]:
    """Every sample by its name and labels."""
    return {(one["name"], tuple(sorted(one["labels"].items()))): one["value"] for one in samples_of(source)}


def total(found: dict[Sample, float], name: str, **labels: str) -> float:
    """The sum of a name over the labels that are not given."""
    return sum(v for (n, have), v in found.items() if n == name and labels.items() <= dict(have).items())


class Looking:
    """Looks at a run again and again, and minds that no counter goes back."""

    def __init__(self, folder: Path) -> None:
        self.run = Run(folder)
        self.last: dict[Sample, float] = {}
        self.looks = 0

    def look(self) -> dict[Sample, float]:
        found = samples(self.run)
        for key, value in self.last.items():
            if key[0] in COUNTERS or key[0].endswith(("_bucket", "_count", "_sum")):
                assert found.get(key, -1.0) >= value, key
        self.last = found
        self.looks += 1
        return found


@pytest.mark.parametrize("seed", range(2))
def test_a_run_that_is_watched_says_at_the_end_what_one_look_says(seed: int, tmp_path: Path) -> None:
    """Looked at before every step of the disk and of every sandbox."""
    benchmark, out = Benchmark(tmp_path / "inputs", seed), tmp_path / "run"
    looking, world = Looking(out), World(benchmark.faults)
    watch = Watch(out, lambda: None if not (out / "sweep.yaml").exists() else void(looking.look()))
    with watch.on():
        benchmark.grade(out, world, watch.step)
    assert looking.looks > 20
    assert looking.look() == samples(Run(out))


def void(_: object) -> None:
    """Nothing."""


def test_a_run_that_was_killed_and_resumed_counts_on(tmp_path: Path) -> None:
    benchmark, out, world = Benchmark(tmp_path / "inputs", 5), tmp_path / "run", World()
    (tmp_path / "kills").mkdir()
    snapshots = Snapshots(out, tmp_path / "kills", world, lambda step: step % 20 == 0, random.Random(1))
    watch = Watch(out, snapshots.visit)
    with watch.on():
        benchmark.grade(out, world, watch.step)
    whole, resumed = samples(Run(out)), 0
    for left in snapshots.taken:
        if not (left.folder / "sweep.yaml").exists():
            continue
        looking = Looking(left.folder)
        looking.look()
        assert benchmark.grade(left.folder, left.world).ending is RunEnding.COMPLETED
        found = looking.look()
        assert found == samples(Run(left.folder))
        for name in ("parsimony_jobs_total", "parsimony_tokens_total", "parsimony_container_seconds_total"):
            assert total(found, name) == pytest.approx(total(whole, name)), left
        resumed += 1
    assert resumed > 2


def test_what_they_say_is_what_the_results_say(tmp_path: Path) -> None:
    benchmark, out = Benchmark(tmp_path / "inputs", 7), tmp_path / "run"
    benchmark.grade(out, World(0.5))
    found, summary = samples(source_of(out)), json.loads((out / "summary.json").read_text())
    verdicts = list(outcomes(out).values())
    for outcome in set(verdicts):
        assert total(found, "parsimony_candidates", outcome=outcome) == verdicts.count(outcome)
    reader = LedgerReader(out / "ledger")
    assert total(found, "parsimony_jobs_total") == reader.count("execution")
    assert total(found, "parsimony_attempts_total") == reader.count("attempt")
    assert total(found, "parsimony_planned_candidates") == summary["census"]["planned"]
    faults = sum(row["fault"] is not None for row in reader.rows("attempt", ["fault"]))
    assert total(found, "parsimony_faults_total") == total(found, "parsimony_retries_total") == faults
    kinds = summary["cost"]["kinds"]
    assert total(found, "parsimony_container_seconds_total") == pytest.approx(kinds["compute_spent"]["wall_seconds"])
    assert total(found, "parsimony_queue_jobs", state="pending") == 0


def test_every_sample_is_in_the_catalogue_and_names_neither_task_nor_seed(tmp_path: Path) -> None:
    benchmark, out = Benchmark(tmp_path / "inputs", 7), tmp_path / "run"
    benchmark.grade(out, World())
    labels = {name: set(series.labels) for series in ALL for name in series.samples}
    for name, have in samples(Run(out)):
        assert set(dict(have)) - {"le"} == labels[name], name
    assert {label for one in labels.values() for label in one} <= {
        "version", "sweep", "arm", "outcome", "state", "kind", "fault", "phase",
    }  # fmt: skip


def test_the_document_has_the_catalogue() -> None:
    rows = [
        f"| `{one.name}` | {one.kind} | {', '.join(f'`{x}`' for x in one.labels)} | {one.unit} | {one.help} |"
        for one in ALL
    ]
    text = DOCUMENT.read_text()
    assert [row for row in rows if row not in text] == []
    assert text.count("| `parsimony_") == len(ALL)


def test_a_ledger_that_cannot_be_read_leaves_the_numbers_where_they_were(tmp_path: Path) -> None:
    benchmark, out = Benchmark(tmp_path / "inputs", 1), tmp_path / "run"
    benchmark.grade(out, World())
    run = Run(out)
    before = samples(run)
    (manifest,) = sorted((out / "ledger").glob("MANIFEST-*"))[-1:]
    good = manifest.read_bytes()
    manifest.write_bytes(good[:20])
    during = samples(run)
    readable = {key: value for key, value in during.items() if key[0] == "parsimony_ledger_readable"}
    assert list(readable.values()) == [0.0]
    assert {**during, **dict.fromkeys(readable, 1.0)} == before
    manifest.write_bytes(good)
    assert samples(run) == before


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    assert {name for name, _ in samples(source_of(tmp_path))} == {"parsimony_build_info"}  # empty: for nights to come
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="neither the folder of a run nor one of nights"):
        source_of(tmp_path)


def test_a_run_that_is_about_to_begin_has_no_values_yet(tmp_path: Path) -> None:
    assert {name for name, _ in samples(Run(tmp_path / "later"))} == {"parsimony_build_info"}


def test_nights_tell_their_newest_end_and_the_newest_run(tmp_path: Path) -> None:
    benchmark, nights = Benchmark(tmp_path / "inputs", 1), tmp_path / "nights"
    nights.mkdir()
    book = Chain.open(nights / "nights.jsonl")
    book.append("night.regression", {"name": "n", "date": "2026-12-01"})
    book.append("night.passed", {"name": "n", "date": "2026-12-02"})
    benchmark.grade(nights / "2026-12-02", World())
    source = source_of(nights)
    assert isinstance(source, Nights)
    found = samples(source)
    ends = {dict(have)["outcome"] for name, have in found if name == "parsimony_nightly_timestamp_seconds"}
    assert ends == {"regression", "passed"}
    assert total(found, "parsimony_jobs_total") > 0


def test_they_are_served_and_the_port_is_free_again(tmp_path: Path) -> None:
    benchmark, out = Benchmark(tmp_path / "inputs", 1), tmp_path / "run"
    benchmark.grade(out, World())
    served = serve(Run(out), "127.0.0.1", 0)
    with urllib.request.urlopen(served.url) as answer:
        assert b"parsimony_jobs_total{" in answer.read()
    port = int(served.url.split(":")[2].split("/")[0])
    with pytest.raises(InputError, match=f"cannot be served at 127.0.0.1:{port}"):
        serve(Run(out), "127.0.0.1", port)
    served.close()
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_a_file_for_the_textfile_collector(tmp_path: Path) -> None:
    benchmark, out = Benchmark(tmp_path / "inputs", 1), tmp_path / "run"
    benchmark.grade(out, World())
    write_textfile(Run(out), tmp_path / "p.prom")
    assert (tmp_path / "p.prom").read_text() == text_of(Run(out))
    for name, problem in (("p.txt", "is not read by the textfile collector"), ("none/p.prom", "cannot be written")):
        with pytest.raises(InputError, match=problem):
            write_textfile(Run(out), tmp_path / name)


def test_the_command(tmp_path: Path) -> None:
    benchmark, out = Benchmark(tmp_path / "inputs", 1), tmp_path / "run"
    benchmark.grade(out, World())

    def parsimony(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from parsimony.cli import main; main()", "metrics", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert parsimony(str(out)).stdout == text_of(Run(out))
    assert json.loads(parsimony(str(out), "--json").stdout) == samples_of(Run(out))
    refused = parsimony(str(tmp_path / "none"))
    assert (refused.returncode, "neither the folder of a run" in refused.stderr) == (2, True)
    assert parsimony(str(out), "--port", "0", "--textfile", "x.prom").returncode == 2


def test_values_of_a_label_are_bounded() -> None:
    bounded = Bounded()
    names = [bounded(f"arm {number}") for number in range(LABEL_VALUES + 5)]
    assert names[-5:] == [OTHER] * 5
    assert bounded("arm 3") == "arm 3"


def test_a_histogram_is_cumulative() -> None:
    histogram = Histogram()
    for seconds in (0.01, 0.05, 0.06, 10_000.0):
        histogram.add(seconds)
    counts = dict(histogram.cumulative())
    assert (counts["0.05"], counts["0.1"], counts[str(BUCKETS[-1])], counts["+Inf"]) == (2.0, 3.0, 3.0, 4.0)
