"""docs/bibliography.md states the facts about sources that the build spec pins (§7.1), and none of the usual errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "bibliography.md").read_text(encoding="utf-8")

PINS = {
    "EvoEval": ("2403.19114", "Chunqiu Steven Xia", "Yinlin Deng", "Lingming Zhang", "828 problems", "39.4 %",
                "51 models", "19.6 % to 47.7 %", "not 2407.01461"),
    "SWE-bench-Live": ("the benchmark", '"SWE-bench Goes Live!"', "2505.23419", "NeurIPS 2025", "1,319 tasks",
                       "93 repositories", "Docker image per task"),
    "METR": ('"Measuring AI Ability to Complete Long Software Tasks"', "2503.14499", "50 % time horizon", "RE-Bench",
             "HCAST", "66 novel tasks"),
    "SWE-bench Verified": ("not a paper", "500 instances", "OpenAI", "2310.06770"),
    "HAL": ("2510.11977", "2025", "21,730 rollouts", "9 models", "9 benchmarks", "40,000"),
    "SWE-bench+": ("2410.06992", "32.67 %", "31.08 %", "94 %", "12.47 % to 3.97 %", "Not an audit by empty patches"),
    "SWE-bench Pro": ("Xiang Deng", "*flagged*"),
    "SWE-Lancer": ("2502.12115", "Miserendino, Wang, Patwardhan, Heidecke", "*flagged*"),
}  # fmt: skip


def row(name: str) -> str:
    found = [line for line in PAGE.splitlines() if line.startswith(f"| {name} |")]
    assert len(found) == 1, name
    return found[0]


@pytest.mark.parametrize("name", PINS)
def test_the_pinned_facts_stand(name: str) -> None:
    for fact in PINS[name]:
        assert fact in row(name), fact


def test_what_could_not_be_confirmed_is_not_asserted() -> None:
    assert "ICLR 2026" not in PAGE
    assert "Scale AI" not in PAGE
    assert "ICML 2025" not in PAGE


@pytest.mark.parametrize(
    "fact",
    [
        'Donald T. Campbell, "Assessing the Impact of Planned Social Change"',
        "*Evaluation and Program Planning* 2:67–90, 1979",
        "*European Review* 5(3):305–321, 1997",
        "measure becomes a target, it ceases to be a good measure",
        'Lee J. Cronbach and Paul E. Meehl, "Construct Validity in Psychological Tests"',
        "*Psychological Bulletin* 52(4):281–302, 1955",
    ],
)
def test_measurement_theory(fact: str) -> None:
    assert fact in " ".join(PAGE.split())


def test_wherever_a_source_is_named_by_number_it_is_one_of_these() -> None:
    """A number in code or prose that is not on this page is a slip, or a source that is missing here."""
    known = set(re.findall(r"\b\d{4}\.\d{5}\b", PAGE))
    named: dict[str, str] = {}
    for folder in ("parsimony", "cluster", "docs"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".md"}:
                text = path.read_text(encoding="utf-8")
                named |= dict.fromkeys(re.findall(r"arXiv:(\d{4}\.\d{5})", text), str(path.relative_to(ROOT)))
    assert {number: place for number, place in named.items() if number not in known} == {}
