"""Keep what the chart has of other files in step with them: rules, dashboards, and the table of values in its README.

    python scripts/update_chart.py            write them
    python scripts/update_chart.py --check    exit status 1 and a line each where something differs

A chart cannot read outside of its own folder, so that rules and dashboards are copied: from configs/prometheus (files
with `groups`) to files/rules, and from configs/grafana to files/dashboards. The table is made of values.yaml and its
comments.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "helm" / "parsimony"
BEGIN, END = "<!-- values: made by scripts/update_chart.py -->", "<!-- end of values -->"


def copies(root: Path = ROOT) -> dict[Path, bytes]:
    """What should be in the chart, by path."""
    chart = root / "helm" / "parsimony"
    wanted = {}
    for path in sorted((root / "configs" / "prometheus").glob("*.y*ml")):
        data = path.read_bytes()
        found = yaml.safe_load(data)
        if isinstance(found, dict) and set(found) == {"groups"}:
            wanted[chart / "files" / "rules" / path.name] = data
    for path in sorted((root / "configs" / "grafana").glob("*.json")):
        wanted[chart / "files" / "dashboards" / path.name] = path.read_bytes()
    return wanted


def described(text: str) -> Iterator[tuple[str, str]]:
    """Names of values with their descriptions (`# -- …`), in the order of the file."""
    path: list[tuple[int, str]] = []
    comment: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if stripped.startswith("#"):
            if stripped.startswith("# -- "):
                comment = [stripped[5:]]
            elif comment:
                comment.append(stripped[1:].strip())
            continue
        found = re.match(r"( *)([A-Za-z0-9_.-]+):", line)
        if not found:
            continue
        indent = len(found[1])
        path = [(depth, name) for depth, name in path if depth < indent] + [(indent, found[2])]
        if comment:
            yield ".".join(name for _, name in path), " ".join(comment)
            comment = []


def default_of(values: Any, name: str) -> Any:
    """The default of a value by its dotted name."""
    for part in name.split("."):
        values = values[part]
    return values


def table(text: str) -> str:
    """The values as a Markdown table."""
    values = yaml.safe_load(text)
    lines = ["| value | default | what |", "|---|---|---|"]
    for name, what in described(text):
        default = json.dumps(default_of(values, name), ensure_ascii=False)
        lines.append(f"| `{name}` | `{default}` | {what} |".replace('| `""` |', "| |"))
    return "\n".join(lines)


def readme(text: str, values: str) -> str:
    """The README with the table of today.

    Raises:
        SystemExit: it has no place for it.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"helm/parsimony/README.md: put {BEGIN!r} and {END!r} where the table belongs")
    return f"{before}{BEGIN}\n{table(values)}\n{END}{after}"


def wanted(root: Path = ROOT) -> dict[Path, bytes]:
    """Everything this script writes, by path."""
    chart = root / "helm" / "parsimony"
    page = readme((chart / "README.md").read_text("utf-8"), (chart / "values.yaml").read_text("utf-8"))
    return {**copies(root), chart / "README.md": page.encode()}


def differences(root: Path = ROOT) -> list[str]:
    """What is not as it should be, a line each."""
    chart = root / "helm" / "parsimony"
    should = wanted(root)
    wrong = [p for p, data in should.items() if not p.is_file() or p.read_bytes() != data]
    there = [p for folder in ("rules", "dashboards") for p in sorted((chart / "files" / folder).glob("*"))]
    return [
        *(f"{path.relative_to(root)} is not in step" for path in wrong),
        *(f"{path.relative_to(root)} has no original" for path in there if path not in should),
    ]


def main() -> int:
    """See the module."""
    if sys.argv[1:] == ["--check"]:
        found = differences()
        print("\n".join(found) or "the chart is in step")
        if found:
            print("mend: python scripts/update_chart.py")
        return 1 if found else 0
    should = wanted()
    for path, data in should.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for folder in ("rules", "dashboards"):
        for path in (CHART / "files" / folder).glob("*"):
            if path not in should:
                path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
