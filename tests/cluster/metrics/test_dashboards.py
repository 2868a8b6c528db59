"""Dashboards are what their script writes, ask for what is exported, and get it from a real Prometheus."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.metrics.series import ALL

ROOT = Path(__file__).parents[3]
RULES = ROOT / "configs" / "prometheus" / "parsimony.rules.yaml"
EVERY = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
RECORDED = {rule["record"] for rule in EVERY if "record" in rule}
DASHBOARDS = sorted((ROOT / "configs" / "grafana").glob("*.json"))
SILENT = {
    "parsimony_faults_total": "nothing fails in the run of the test",
    "parsimony:faults:ratio30m": "nothing fails in the run of the test",
    "parsimony_nightly_timestamp_seconds": "it is no night",
    "parsimony_unpriced_costs_total": "everything has a price",
    "parsimony:budget_tokens:predicted": "no budget in tokens",
    "parsimony:budget_seconds:predicted": "no budget in seconds",
    "parsimony_forecast_dollars": "no past run to forecast from",
}
"""What has no data, and why."""


def queries() -> list[str]:
    """Of all panels, for every sweep."""
    found = [
        target["expr"]
        for path in DASHBOARDS
        for one in json.loads(path.read_text())["panels"]
        for target in one["targets"]
    ]
    return [query.replace("$sweep", ".*") for query in found]


def test_files_are_what_the_script_writes() -> None:
    spec = importlib.util.spec_from_file_location("write_dashboards", ROOT / "scripts" / "write_dashboards.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["write_dashboards"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    assert {path.name: path.read_text() for path in DASHBOARDS} == module.texts(), "python scripts/write_dashboards.py"


def test_queries_name_what_there_is() -> None:
    known = {name: {*series.labels, "le"} for series in ALL for name in series.samples}
    assert len(queries()) > 20
    for query in queries():
        for name in re.findall(r"\bparsimony[\w:]*", query):
            assert name in known or name in RECORDED, query
        for name, selectors in re.findall(r"(parsimony_\w+)\{([^}]*)\}", query):
            assert set(re.findall(r"(\w+)=", selectors)) <= known[name], query
        for labels in re.findall(r"by \(([^)]*)\)", query):
            assert set(labels.split(", ")) <= {label for one in known.values() for label in one}, query


def test_panels_have_places_of_their_own() -> None:
    for path in DASHBOARDS:
        places = [(one["gridPos"]["x"], one["gridPos"]["y"]) for one in json.loads(path.read_text())["panels"]]
        assert len(set(places)) == len(places)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Any]:
    """A server that scrapes a port every second; what it answers to a query."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("there is no prometheus on this machine")
    port, target = free_port(), free_port()
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [{"job_name": "parsimony", "static_configs": [{"targets": [f"127.0.0.1:{target}"]}]}],
    }
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    words = [f"--config.file={tmp_path / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'data'}"]
    with (tmp_path / "prometheus.log").open("wb") as log:
        server = subprocess.Popen([program, *words, f"--web.listen-address=127.0.0.1:{port}"], stderr=log)

    def ask(query: str) -> list[Any]:
        address = f"http://127.0.0.1:{port}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
        with urllib.request.urlopen(address) as answer:
            found: list[Any] = json.load(answer)["data"]["result"]
        return found

    ask.target = target  # type: ignore[attr-defined]
    try:
        yield ask
    finally:
        server.terminate()
        server.wait(30)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_every_query_has_data_from_a_real_sweep(prometheus: Any, tmp_path: Path) -> None:
    """Scraped while it runs, and from its folder afterwards."""
    configs = ROOT / "configs"
    sweep = {
        "name": "scraped",
        "tasks": {"file": str(configs / "examples" / "tasks.jsonl"), "only": ["csvsniff-2", "ratelimit-6"]},
        "predictions": [str(configs / "examples" / "predictions.jsonl")],
        "sandbox": {"kind": "process"}, "concurrency": 2, "prices": str(configs / "prices" / "example.yaml"),
        "budget": {"dollars": 100},
    }  # fmt: skip
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(sweep))
    command = [sys.executable, "-c", "from parsimony.cli import main; main()"]
    port, out = str(prometheus.target), str(tmp_path / "run")
    ran = [*command, "run", str(tmp_path / "sweep.yaml"), "--out", out, "--metrics-port", port]
    done = subprocess.run(ran, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with subprocess.Popen([*command, "metrics", out, "--port", port], stderr=subprocess.DEVNULL) as exporter:
        try:
            until = time.monotonic() + 60
            while not prometheus('parsimony_queue_jobs{state="pending"} == 0') and time.monotonic() < until:
                time.sleep(0.5)
            time.sleep(3)
            jobs = prometheus("sum(parsimony_jobs_total)")
            empty = {query for query in [*queries(), *sorted(RECORDED)] if not prometheus(query)}
        finally:
            exporter.terminate()
    planned = prometheus("max_over_time(sum(parsimony_planned_jobs)[1h:1s])")
    assert float(jobs[0]["value"][1]) == float(planned[0]["value"][1]) > 0
    unexplained = [query for query in empty if not any(re.search(rf"\b{re.escape(name)}\b", query) for name in SILENT)]
    assert unexplained == []
    firing = {one["metric"]["alertname"] for one in prometheus('ALERTS{alertstate="firing"}')}
    assert firing == set()
