"""Write the Grafana dashboards: grading, cost, nightly. Their queries name only what docs/metrics.md has.

    python scripts/write_dashboards.py            write configs/grafana/*.json
    python scripts/write_dashboards.py --check    exit status 1 and a line each where a file differs

Import them into Grafana, or let the chart do it (`metrics.dashboards.enabled`; `scripts/update_chart.py` copies them).
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parents[1] / "configs" / "grafana"
SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
WIDTH, HEIGHT = 8, 8
"""Of a panel, in units of Grafana's grid, which is 24 wide."""


@dataclass(frozen=True)
class Panel:
    """One picture.

    Attributes:
        queries: PromQL by legend.
        unit: Grafana's name of it. about: what a reader should know.
        kind: `timeseries`, `stat` or `table`.
        stacked: lines are parts of a whole.
    """

    title: str
    about: str
    unit: str
    queries: dict[str, str]
    kind: str = "timeseries"
    stacked: bool = False


def by(*labels: str, name: str, window: str = "") -> str:
    """A sum by labels over what is exported, once: a run may be exported by its driver and from its folder."""
    every = ", ".join(("sweep", *labels))
    inner = f"increase({name}[{window}])" if window else name
    return f"max by ({every}) ({inner})"


ONE: Final = '{sweep=~"$sweep"}'

DOLLARS: Final = by("arm", "kind", name=f"parsimony_cost_dollars_total{ONE}")
RESOLVED: Final = by("arm", name='parsimony_candidates{sweep=~"$sweep", outcome="resolved"}')

GRADING: Final = (
    Panel(
        "Jobs by state",
        "Distinct executions of the newest plan. Running is told by the driver alone.",
        "short",
        {"{{sweep}} {{state}}": by("state", name=f"parsimony_queue_jobs{ONE}")},
        stacked=True,
    ),
    Panel(
        "Jobs that ended, per hour",
        "By outcome; missing was given up after faults of infrastructure.",
        "short",
        {"{{sweep}} {{outcome}}": by("outcome", name=f"parsimony_jobs_total{ONE}", window="1h")},
        stacked=True,
    ),
    Panel(
        "Candidates by verdict",
        "Newest verdict of every candidate and repeat, by arm.",
        "short",
        {"{{arm}} {{outcome}}": by("arm", "outcome", name=f"parsimony_candidates{ONE}")},
        kind="table",
    ),
    Panel(
        "Attempts that infrastructure ended",
        "Share of the last half hour; above a tenth there is an alert.",
        "percentunit",
        {"{{sweep}}": f"parsimony:faults:ratio30m{ONE}"},
    ),
    Panel(
        "Faults per hour",
        "By class. A fault is never a verdict.",
        "short",
        {"{{sweep}} {{fault}}": by("fault", name=f"parsimony_faults_total{ONE}", window="1h")},
        stacked=True,
    ),
    Panel(
        "Median of each phase",
        "Seconds per job over the last hour; a long pull or queue is time that no test runs.",
        "s",
        {
            "{{phase}}": "histogram_quantile(0.5, sum by (phase, le) "
            f"(increase(parsimony_job_phase_seconds_bucket{ONE}[1h])))"
        },
    ),
    Panel(
        "Since the last job ended",
        "A sweep that stands still is paged after half an hour.",
        "s",
        {"{{sweep}}": f"time() - max by (sweep) (parsimony_last_progress_timestamp_seconds{ONE})"},
        kind="stat",
    ),
    Panel(
        "Images pulled per hour",
        "Seeds and arms of a task run where its image is.",
        "short",
        {"{{sweep}}": by(name=f"parsimony_image_pulls_total{ONE}", window="1h")},
    ),
    Panel(
        "Orphans removed, last day",
        "Sandboxes of drivers and agents that were killed.",
        "short",
        {"{{sweep}}": by(name=f"parsimony_orphans_removed_total{ONE}", window="1d")},
        kind="stat",
    ),
)

COST: Final = (
    Panel(
        "Dollars so far",
        "Spent and known, producing (llm) and grading (compute).",
        "currencyUSD",
        {"{{sweep}} {{kind}}": f"sum by (sweep, kind) ({DOLLARS})"},
        kind="stat",
    ),
    Panel(
        "Dollars per hour",
        "By arm and kind.",
        "currencyUSD",
        {"{{arm}} {{kind}}": by("arm", "kind", name=f"parsimony_cost_dollars_total{ONE}", window="1h")},
        stacked=True,
    ),
    Panel(
        "Dollars per resolved candidate",
        "What was spent on an arm over what it resolved.",
        "currencyUSD",
        {"{{sweep}} {{arm}}": f"sum by (sweep, arm) ({DOLLARS}) / {RESOLVED}"},
        kind="table",
    ),
    Panel(
        "Share of the budget",
        "Dollars that count against the cap.",
        "percentunit",
        {
            "{{sweep}}": by(name=f"parsimony_budget_spent_dollars{ONE}")
            + " / "
            + by(name=f"parsimony_budget_limit_dollars{ONE}")
        },
    ),
    Panel(
        "Budget an hour takes",
        "Over ten minutes, an hour and six; alerts compare the first two, and the last two.",
        "percentunit",
        {
            "{{sweep}} 10 m": f"parsimony:budget_dollars_burn:per_hour10m{ONE}",
            "{{sweep}} 1 h": f"parsimony:budget_dollars_burn:per_hour1h{ONE}",
            "{{sweep}} 6 h": f"parsimony:budget_dollars_burn:per_hour6h{ONE}",
        },
    ),
    Panel(
        "What it will have cost",
        "Spent, and what is left at the last half hour's price per job, beside the cap and the forecast.",
        "currencyUSD",
        {
            "{{sweep}} predicted": f"parsimony:budget_dollars:predicted{ONE}",
            "{{sweep}} cap": by(name=f"parsimony_budget_limit_dollars{ONE}"),
            "{{sweep}} forecast of grading": by(name=f"parsimony_forecast_dollars{ONE}"),
        },
    ),
    Panel(
        "CPU per hour",
        "Processor seconds that an hour took, grading and producing.",
        "s",
        {"{{arm}} {{kind}}": by("arm", "kind", name=f"parsimony_cpu_seconds_total{ONE}", window="1h")},
        stacked=True,
    ),
    Panel(
        "Tokens per hour",
        "Of producing the candidates: nothing that grades calls a model.",
        "short",
        {"{{arm}} {{kind}}": by("arm", "kind", name=f"parsimony_tokens_total{ONE}", window="1h")},
        stacked=True,
    ),
    Panel(
        "Costs that nobody can price",
        "They are in no sum above.",
        "short",
        {"{{arm}} {{kind}}": by("arm", "kind", name=f"parsimony_unpriced_costs_total{ONE}")},
        kind="stat",
    ),
)

NIGHTLY: Final = (
    Panel(
        "Since the last night",
        "Of any outcome; more than 26 hours is paged.",
        "s",
        {"{{sweep}}": f"time() - max by (sweep) (parsimony_nightly_timestamp_seconds{ONE})"},
        kind="stat",
    ),
    Panel(
        "Since each outcome",
        "A regression that is newer than the last pass is not accepted yet.",
        "s",
        {"{{sweep}} {{outcome}}": f"time() - {by('outcome', name=f'parsimony_nightly_timestamp_seconds{ONE}')}"},
        kind="table",
    ),
    Panel(
        "Resolve rate of the newest night",
        "By arm; `parsimony compare` says how sure a difference is.",
        "percentunit",
        {"{{arm}}": RESOLVED + f" / sum by (sweep, arm) ({by('arm', 'outcome', name=f'parsimony_candidates{ONE}')})"},
    ),
    Panel(
        "Jobs of the newest night",
        "By state.",
        "short",
        {"{{state}}": by("state", name=f"parsimony_queue_jobs{ONE}")},
        stacked=True,
    ),
    Panel(
        "Dollars of the newest night",
        "Producing and grading.",
        "currencyUSD",
        {"{{kind}}": f"sum by (sweep, kind) ({DOLLARS})"},
        kind="stat",
    ),
)

DASHBOARDS: Final = {"grading": GRADING, "cost": COST, "nightly": NIGHTLY}


def dashboard(name: str, panels: tuple[Panel, ...]) -> dict[str, Any]:
    """A dashboard as Grafana imports it."""
    return {
        "uid": f"parsimony-{name}",
        "title": f"Parsimony: {name}",
        "tags": ["parsimony"],
        "schemaVersion": 39,
        "editable": True,
        "time": {"from": "now-6h" if name != "nightly" else "now-7d", "to": "now"},
        "refresh": "30s",
        "templating": {
            "list": [
                {"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"},
                {
                    "name": "sweep",
                    "label": "Sweep",
                    "type": "query",
                    "datasource": SOURCE,
                    "query": {"query": "label_values(parsimony_ledger_readable, sweep)", "refId": "sweeps"},
                    "refresh": 2,
                    "multi": True,
                    "includeAll": True,
                    "allValue": ".*",
                },
            ]
        },
        "panels": [panel(number, one) for number, one in enumerate(panels)],
    }


def panel(number: int, one: Panel) -> dict[str, Any]:
    """A panel at its place: three in a row."""
    defaults: dict[str, Any] = {"unit": one.unit}
    if one.kind == "timeseries":
        mode = "normal" if one.stacked else "none"
        defaults["custom"] = {"stacking": {"mode": mode}, "fillOpacity": 20 if one.stacked else 0}
    return {
        "id": number + 1,
        "type": one.kind,
        "title": one.title,
        "description": one.about,
        "datasource": SOURCE,
        "gridPos": {"x": number % 3 * WIDTH, "y": number // 3 * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": SOURCE,
                "expr": query,
                "legendFormat": legend,
                **({"instant": True, "format": "table"} if one.kind == "table" else {}),
            }
            for place, (legend, query) in enumerate(one.queries.items())
        ],
    }


def texts() -> dict[str, str]:
    """Every file by its name."""
    made = {name: dashboard(name, panels) for name, panels in DASHBOARDS.items()}
    return {f"parsimony-{name}.json": json.dumps(one, indent=2) + "\n" for name, one in made.items()}


def main() -> int:
    """Write, or compare."""
    wrong = 0
    for name, text in texts().items():
        path = FOLDER / name
        if "--check" not in sys.argv:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            wrong += 1
            print(f"{path.name} differs; mend: python scripts/write_dashboards.py")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
