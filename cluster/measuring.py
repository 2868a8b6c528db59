"""The footprint of a grading, measured where the grading is read: by the agent."""

from __future__ import annotations

from dataclasses import replace

from parsimony import runner
from parsimony.execution import Execution, SandboxResult
from parsimony.footprint.graded import measure_graded, track_for
from parsimony.runner import FootprintWanted, GradingOrder, source_language
from parsimony.tasks import Task


def wanted(task: Task, track: str) -> FootprintWanted | None:
    """What is measured of the candidates of a task; None where nothing is wanted or its language has no track.

    Args:
        track: of a sweep: a name of a track, or `off`.
    """
    language = source_language(task)
    name = track_for(track, language)
    return None if name is None else FootprintWanted(name, language, task.patch)


def read(order: GradingOrder, result: SandboxResult, /, *, sandbox: str) -> Execution:
    """The execution of a result, with its footprint where one is wanted. Runs where the agent is."""
    return measured(runner.read(order, result, sandbox=sandbox), order.reading.footprint)


def measured(execution: Execution, how: FootprintWanted | None) -> Execution:
    """The execution with its footprint. A patch that was not applied leaves none."""
    if how is None or execution.apply.strategy is None or not execution.applied_patch:
        return execution
    found = measure_graded(
        execution.base_files, execution.applied_patch, how.fix, track=how.track, language=how.language
    )
    return replace(execution, footprint=found)
