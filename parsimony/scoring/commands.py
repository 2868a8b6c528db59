"""The experimental footprint score (80 % net units, 20 % churn) from results that were measured before.

Reads files and writes files; nothing is fetched, applied or executed. A panel is frozen once and never overwritten;
scores of any number of candidates are then computed against it. What is not known gives bounds, never a made-up value.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from parsimony.errors import InputError
from parsimony.measurements import Population
from parsimony.modulecommand import DONE, RECORDS_HELP, count, create_json, parser, read_all, read_json, write_json
from parsimony.scoring.panel import Panel, freeze
from parsimony.scoring.ranks import rank_intervals
from parsimony.scoring.rule import SCORE_VERSION
from parsimony.scoring.score import score

_EXAMPLES = """\
  python -m parsimony.scoring freeze results.jsonl --name my-panel --output panel.json
  python -m parsimony.scoring score panel.json results.jsonl --output scores.json
  python -m parsimony.scoring ranks panel.json results.jsonl"""


def main(words: Sequence[str]) -> int:
    """The commands."""
    options = _parser().parse_args(words)
    handler = {"freeze": _freeze, "score": _score, "ranks": _ranks}[options.command]
    handler(options)
    return DONE


def _parser() -> argparse.ArgumentParser:
    root = parser("parsimony.scoring", __doc__, _EXAMPLES)
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)

    told = "make a reference panel of the successful, measured, in-scope records"
    frozen = commands.add_parser("freeze", help=told, description=f"{told[0].upper()}{told[1:]}.")
    frozen.add_argument("records", metavar="RECORDS", nargs="+", help=RECORDS_HELP)
    frozen.add_argument("--name", required=True, help="of the panel; a changed panel gets a new one")
    frozen.add_argument("--output", metavar="FILE", required=True, help="the panel; must not be there yet")
    frozen.add_argument(
        "--population",
        metavar="MANIFEST",
        help="tasks fixed beforehand (`python -m parsimony.release freeze`): all stay, also those that nobody solved",
    )

    told = "score candidates against a panel"
    scored = commands.add_parser("score", help=told, description=f"{told[0].upper()}{told[1:]}.")
    _add_panel_and_records(scored)

    told = "rank intervals of the scores by a paired bootstrap over tasks"
    ranked = commands.add_parser("ranks", help=told, description=f"{told[0].upper()}{told[1:]}.")
    _add_panel_and_records(ranked)
    ranked.add_argument("--draws", type=count, default=2000, help="draws of tasks (default 2000)")
    ranked.add_argument("--seed", type=int, default=42, help="of the draws (default 42)")
    return root


def _add_panel_and_records(command: argparse.ArgumentParser) -> None:
    command.add_argument("panel", metavar="PANEL", help="a panel of `freeze`")
    command.add_argument("records", metavar="RECORDS", nargs="+", help=RECORDS_HELP)
    command.add_argument("--output", metavar="FILE", help="where the JSON goes (default: stdout)")


def read_panel(path: str) -> tuple[Panel, str]:
    """A panel and the SHA-256 (hex) of its file.

    Raises:
        InputError: it cannot be read, or is no panel of this rule.
    """
    value, sha256 = read_json(path)
    try:
        return Panel.from_json(value), sha256
    except InputError as error:
        raise error.at(file=path) from None


def _freeze(options: argparse.Namespace) -> None:
    population = None
    if options.population is not None:
        value, _ = read_json(options.population)
        try:
            population = Population.from_json(value)
        except InputError as error:
            raise error.at(file=options.population) from None
    records, digests = read_all(options.records)
    panel = freeze(records, options.name, population)
    create_json({**panel.to_json(), "source_sha256": digests}, options.output)


def _score(options: argparse.Namespace) -> None:
    panel, sha256 = read_panel(options.panel)
    records, _ = read_all(options.records)
    told = {
        "panel_sha256": sha256,
        "score_version": SCORE_VERSION,
        "scope": panel.scope,
        "leaderboard": [row.to_json() for row in score(panel, records)],
    }
    write_json(told, options.output)


def _ranks(options: argparse.Namespace) -> None:
    panel, sha256 = read_panel(options.panel)
    records, _ = read_all(options.records)
    told = {
        "draws": options.draws,
        "panel_sha256": sha256,
        "ranking": rank_intervals(score(panel, records), draws=options.draws, seed=options.seed),
        "score_version": SCORE_VERSION,
        "seed": options.seed,
        "task_count": len(panel.tasks),
    }
    write_json(told, options.output)
