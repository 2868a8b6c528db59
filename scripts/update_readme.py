"""Put the scoreboard of a finished run into README.md, between its two marks.

make demo && .venv/bin/python scripts/update_readme.py demo-run
"""

from __future__ import annotations

import argparse
import io
import json
import re
from pathlib import Path

from rich.console import Console

from parsimony.cli import screen

README = Path(__file__).resolve().parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- scoreboard:begin[^\n]*-->\n).*?(<!-- scoreboard:end -->)", re.DOTALL)


def scoreboard(run: Path) -> str:
    """What `parsimony run` prints at its end, without colours."""
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    text = io.StringIO()
    console = Console(file=text, width=screen.WIDTH, color_system=None, highlight=False)
    console.print(screen.scoreboard(summary))
    console.print()
    for line in (screen.census_line(summary), *screen.spent_lines(summary)):
        console.print(line)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def main() -> int:
    """Rewrite the block; 2 when there is no run or no block."""
    parser = argparse.ArgumentParser(description="Put the scoreboard of a run into README.md.")
    parser.add_argument("run", type=Path, help="the folder of a finished run, such as demo-run")
    run = parser.parse_args().run
    if not (run / "summary.json").exists():
        parser.error(f"{run} holds no summary.json; run `make demo` first")
    text = README.read_text(encoding="utf-8")
    if BLOCK.search(text) is None:
        parser.error("README.md has no marks for the scoreboard")
    board = scoreboard(run)
    README.write_text(BLOCK.sub(lambda marks: f"{marks[1]}\n```\n{board}\n```\n\n{marks[2]}", text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
