"""Recording rules and alerts: promtool's word on them, names of the catalogue, and a runbook for each alert."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.main import get_command

from cluster.metrics.series import ALL
from parsimony.cli.app import app

ROOT = Path(__file__).parents[3]
RULES = ROOT / "configs" / "prometheus" / "parsimony.rules.yaml"
CASES = Path(__file__).with_name("alerts.test.yaml")
RUNBOOKS = (ROOT / "docs" / "runbooks.md").read_text()
GROUPS: list[dict[str, Any]] = yaml.safe_load(RULES.read_text())["groups"]
EVERY = [rule for group in GROUPS for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in EVERY if "alert" in rule}
NAME = re.compile(r"\bparsimony[a-z0-9_:]*[a-z0-9]")


@pytest.fixture
def promtool(tmp_path: Path) -> Any:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("there is no promtool on this machine; Debian has it in `prometheus`")
    for path in (RULES, CASES):
        shutil.copy(path, tmp_path)

    def run(*words: str) -> str:
        done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_the_rules_are_rules(promtool: Any) -> None:
    assert f"SUCCESS: {len(EVERY)} rules found" in promtool("check", "rules", RULES.name)


def test_alerts_fire_and_do_not(promtool: Any) -> None:
    assert "SUCCESS" in promtool("test", "rules", CASES.name)


def test_each_alert_is_tried_both_ways() -> None:
    tried = [test for case in yaml.safe_load(CASES.read_text())["tests"] for test in case["alert_rule_test"]]
    fires = {test["alertname"] for test in tried if test.get("exp_alerts")}
    silent = {test["alertname"] for test in tried if not test.get("exp_alerts")}
    assert fires == set(ALERTS)
    assert set(ALERTS) - silent == {"ParsimonyCostBurnSlow"}  # beside a sweep that does not fire it


def test_rules_use_names_of_the_catalogue_with_their_labels() -> None:
    known = {name: set(series.labels) for series in ALL for name in series.samples}
    recorded = {rule["record"] for rule in EVERY if "record" in rule}
    for rule in EVERY:
        assert set(NAME.findall(rule["expr"])) - recorded <= set(known), rule
        for name, selectors in re.findall(r"(parsimony_\w+)\{([^}]*)\}", rule["expr"]):
            assert set(re.findall(r"(\w+)=", selectors)) <= known[name], rule
    used = " ".join(rule["expr"] for rule in EVERY)
    assert [name for name in recorded if name not in used.replace(f"record: {name}", "")] == []


@pytest.mark.parametrize("alert", ALERTS)
def test_each_alert_has_a_runbook(alert: str) -> None:
    anchor = ALERTS[alert]["annotations"]["runbook_url"]
    assert anchor == f"docs/runbooks.md#{alert.lower()}"
    (section,) = re.findall(rf"^## {alert}\n(.*?)(?=^## |\Z)", RUNBOOKS, re.MULTILINE | re.DOTALL)
    for part in ("**Means**", "**Look**", "**Do**"):
        assert part in section


def test_commands_of_the_runbooks_are_there() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    named = re.findall(r"`parsimony ([a-z]+)(?: ([a-z]+))?", RUNBOOKS)
    assert len(named) > 8
    for command, second in named:
        assert command in commands
        if second and hasattr(commands[command], "commands"):
            assert second in commands[command].commands
