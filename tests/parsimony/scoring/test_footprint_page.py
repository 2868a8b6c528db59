"""The footprint page: complete in one file, true to the scores, and safe with odd names."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from parsimony import cli
from parsimony.measurements import Base, Population, Record
from parsimony.scoring import Panel, freeze, score

pytest.importorskip("jinja2", reason="the page needs the extra `report`")
pytest.importorskip("matplotlib", reason="the page needs the extra `report`")

from parsimony.report.footprint_page import MATRIX, TOLD, footprint_page, shown_rate

MakeRecord = Callable[..., dict[str, Any]]
Typed = Callable[..., tuple[Record, ...]]
Write = Callable[[str, Iterable[dict[str, Any]]], str]

ODD = "<b>odd & 'quoted'</b>"


class Cells(HTMLParser):
    """The text of each cell of the page's tables, and all tags."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.rows.append([])
        self._inside = tag in {"td", "th"} or (self._inside and tag in {"b", "span"})
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.rows[-1][-1] += data


def read(page: str) -> Cells:
    cells = Cells()
    cells.feed(page)
    return cells


@pytest.fixture
def records(record: MakeRecord, typed: Typed) -> tuple[Record, ...]:
    both = enumerate((ODD, "b"))
    rows = [record(agent, f"t{task:02}", task - at, 10 + task + at) for at, agent in both for task in range(30)]
    rows += [record("part", "t00", 1, 1), record("part", "t01", metrics=None, analysis_status="fetch_error")]
    rows += [record("b", "beside the panel", 1, 1)]
    return typed(*rows)


@pytest.fixture
def panel(records: tuple[Record, ...]) -> Panel:
    return freeze([record for record in records if record.agent != "part" and record.task_id.startswith("t")], "p")


def test_the_scoreboard_shows_the_scores(panel: Panel, records: tuple[Record, ...]) -> None:
    page = read(footprint_page(panel, records, panel_sha256="f" * 64, draws=100))
    first, second, last = score(panel, records)
    shown = {row[2]: row for row in page.rows if len(row) == 11}
    for rank, row in enumerate((first, second), start=1):
        assert shown[row.agent][0] == str(rank)
        assert shown[row.agent][3] == f"{row.score:.2f}"
        assert shown[row.agent][10] == "30/30"
    assert shown[last.agent][0] == "–"
    assert shown[last.agent][3] == f"{last.lower:.1f} to {last.upper:.1f}"
    assert shown[last.agent][6] == "1/30"
    assert list(shown)[1:] == [first.agent, second.agent, last.agent]


def test_the_parts_of_a_task_are_told_at_both_ends(panel: Panel, records: tuple[Record, ...]) -> None:
    page = footprint_page(panel, records, panel_sha256="f" * 64, draws=100)
    parts = [row for row in read(page).rows if len(row) == 8 and re.fullmatch(r"t\d\d", row[0])]
    assert len(parts) == 2 * 2 * TOLD + 1
    assert page.count(f"{30 - 2 * TOLD} tasks between these") == 2
    assert all(float(row[7]) == pytest.approx(float(row[6]) / 30, abs=1e-3) for row in parts)


def test_bounds_are_explained(panel: Panel, records: tuple[Record, ...]) -> None:
    page = " ".join(footprint_page(panel, records, panel_sha256="f" * 64, draws=100).split())
    assert "1 of 3 scores are bounds" in page
    assert "29 tasks have bounds only" in page
    assert "t01 (missing metrics, 1 to 100; fetch_error)" in page


def test_tasks_that_nobody_solved_are_explained(record: MakeRecord, typed: Typed) -> None:
    records = typed(record("a", "t1", 1, 1), record("a", "t2", 1, 1, resolved=False))
    tasks = {task: Base("o/r", f"{task:0<8}") for task in ("t1", "t2")}
    panel = freeze(records, "p", Population("pop", "d" * 64, "c" * 40, "3.12.1", None, tasks))
    assert "1 task has no reference" in footprint_page(panel, records, panel_sha256="f" * 64, draws=10)


def test_names_stay_text_and_nothing_comes_from_outside(panel: Panel, records: tuple[Record, ...]) -> None:
    page = footprint_page(panel, records, panel_sha256="f" * 64, draws=100)
    assert ODD not in page
    tags = read(page).tags
    assert {"script", "link", "img", "iframe"}.isdisjoint(tag for tag, _ in tags)
    assert all(not value for _, attrs in tags for name, value in attrs.items() if name in {"src", "onclick"})
    assert not re.search(r"url\((?!#)", page)
    assert page.count("<svg role=") == 4


def test_a_page_of_nobody(panel: Panel) -> None:
    assert "No agent has a record" in footprint_page(panel, (), panel_sha256="f" * 64)


def test_large_panels_are_shown_in_part(record: MakeRecord, typed: Typed) -> None:
    records = typed(*(record("a", f"t{task}", 1, 1) for task in range(MATRIX + 3)))
    page = footprint_page(freeze(records, "p"), records, panel_sha256="f" * 64, draws=10)
    assert "3 more tasks are in the score file" in page


def test_equal_input_gives_an_equal_page(panel: Panel, records: tuple[Record, ...]) -> None:
    pages = {footprint_page(panel, records, panel_sha256="f" * 64, draws=50) for _ in range(2)}
    assert len(pages) == 1


def test_the_command(
    record: MakeRecord,
    write: Write,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = write("r.jsonl", [record("a", "t", 1, 1), record("b", "t", 2, 2)])
    (tmp_path / "p.json").write_text(json.dumps(freeze(typed_of(results), "panel of two").to_json()))
    words = [
        "footprint-report",
        str(tmp_path / "p.json"),
        results,
        "--out",
        str(tmp_path / "page.html"),
        "--draws",
        "10",
    ]
    monkeypatch.setattr(sys, "argv", ["parsimony", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code in {0, None}
    assert "panel of two" in (tmp_path / "page.html").read_text()
    assert "wrote" in capsys.readouterr().err


def typed_of(path: str) -> tuple[Record, ...]:
    from parsimony.measurements import read_results

    return read_results(path).records


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_a_browser_lays_it_out(panel: Panel, records: tuple[Record, ...], tmp_path: Path) -> None:
    """The page as a browser sees it: tables and plots there, and nothing wider than the page."""
    path = tmp_path / "page.html"
    probe = "<script>document.title = document.documentElement.scrollWidth + ' ' + innerWidth</script>"
    path.write_text(footprint_page(panel, records, panel_sha256="f" * 64, draws=50) + probe)
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,900", "--dump-dom"]
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, check=True, timeout=120)
    title = re.search(r"<title>(\d+) (\d+)</title>", done.stdout)
    assert title is not None
    assert int(title[1]) <= int(title[2])


def test_agents_without_a_published_rate_are_in_the_plots(record: MakeRecord, typed: Typed) -> None:
    """By what is known of the panel's tasks: an empty plot tells nothing."""
    rows = [
        record("a", "t1", 1, 1),
        record("a", "t2", 1, 1),
        record("b", "t1", 2, 2),
        record("b", "t2", resolved=False),
    ]
    records = typed(*({**row, "resolve_rate": None} for row in rows))
    panel = freeze(records, "p")
    rates = {row.agent: shown_rate(row) for row in score(panel, records)}
    assert rates["a"] == 1.0
    assert rates["b"] in {0.5, 1.0}  # whether the failure counts is a question of its evidence
    assert footprint_page(panel, records, panel_sha256="f" * 64, draws=10).count(">a<") >= 2
