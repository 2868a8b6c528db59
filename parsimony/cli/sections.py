"""`parsimony --help` in sections: what one does in what order, not thirty names in a row."""

from __future__ import annotations

from typing import Any, Final

from typer.core import TyperGroup

SECTIONS: Final[dict[str, dict[str, str]]] = {
    "Grade": {
        "plan": "What a sweep would take: jobs, hours, pulls, dollars.",
        "run": "Grade a sweep: tasks × arms × seeds × repeats.",
        "grade": "Grade predictions against tasks, without a sweep file.",
        "calibrate": "What every test does under gold and base, n times each.",
        "regrade": "Verdicts again from the stored executions, by today's scorer.",
        "replay": "One grading again, kept open for a look.",
    },
    "Look at a run": {
        "status": "How far it is: census, outcomes, rates per arm.",
        "show": "One candidate: the verdict and why, each test, log, patch.",
        "why": "What a job waits for, or what became of it.",
        "report": "Write the report page again.",
        "export": "Results for other tools: tables, reports as SWE-bench writes them.",
        "upload": "A whole copy of a run in an object store.",
    },
    "Steer a run": {
        "pause": "Start nothing more until it is resumed.",
        "resume": "Go on after a pause.",
        "drain": "Let running jobs finish, then end resumably.",
        "concurrency": "Change how many jobs run at once.",
        "reap": "Remove what dead runs left behind.",
    },
    "Measure": {
        "compare": "Did the change help? How much, how sure, at what cost.",
        "scorecard": "Where in the coding loop each candidate was won or lost.",
        "diagnose": "Which stage a change moved, and which is the bottleneck.",
        "cost": "What each arm cost, per resolved task, and who is worth it.",
        "value": "Dollars that each arm earned by resolving paid tasks.",
        "horizon": "How long the tasks are that an arm solves half the time.",
        "difficulty": "How hard tasks are, and how much each of them tells.",
        "matrix": "Models × benchmarks × scaffolds, and what a task costs.",
        "medals": "Medals by the leaderboards of competitions.",
    },
    "Footprints of patches": {
        "dataset": "Download the tasks of SWE-bench Verified.",
        "analyze": "Import submissions and measure what their patches touch.",
        "leaderboard": "Compare measured footprints: table, JSON or page.",
        "footprint-report": "A page of footprint scores.",
    },
    "Keep tasks honest": {
        "audit": "Standing audits: canaries, own fixes, flakes, leaks.",
        "sets": "Development, regression and holdout sets of tasks.",
        "contamination": "What a model may have seen: date gate, decay, leaks.",
        "refresh": "New tasks from folders and URLs into a store and a live set.",
        "ablate": "What each mechanism is worth: one taken away at a time.",
        "invariants": "What must always hold, on the code and on a run.",
    },
    "Operate": {
        "doctor": "What is wrong with this machine, with the mend.",
        "nightly": "The regression set against the last accepted run; a gate for CI.",
        "metrics": "Serve or write the metrics of a run for Prometheus.",
        "images": "Build, pin, verify, prefetch and evict task images.",
        "schema": "Print a JSON Schema, for editors and checks.",
    },
}
"""Commands by section, in the order of the help text, with what they do in a line. One that is in no section stands at
the end with the first sentence of its own help text."""


class Sections(TyperGroup):
    """A group of commands whose help text lists them by section."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the sections that have commands. `ctx` and `formatter` are those of click."""
        left = {name: command for name in self.list_commands(ctx) if (command := self.get_command(ctx, name))}
        for title, texts in SECTIONS.items():
            rows = [(name, text) for name, text in texts.items() if left.pop(name, None) is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=20)
        if left:
            with formatter.section("Other commands"):
                formatter.write_dl([(name, command.get_short_help_str()) for name, command in left.items()])
