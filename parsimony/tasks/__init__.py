"""Tasks and candidates: what they are, and how they come out of files.

    tasks = read_tasks("tasks.jsonl", defaults={"timeout_s": 600}, formats=FORMATS)
    found = read_predictions(["predictions.jsonl"], known={task.instance_id for task in tasks.tasks})

What a file holds that cannot be used comes back as `rejected`, one `Rejected` a row, each with its place and mend.
"""

from parsimony.tasks.model import Candidate, Rejected, Task, Trace, Usage
from parsimony.tasks.predictions import CandidateFile, read_predictions
from parsimony.tasks.rows import TaskFile, read_tasks
from parsimony.tasks.tables import read_rows

__all__ = [
    "Candidate",
    "CandidateFile",
    "Rejected",
    "Task",
    "TaskFile",
    "Trace",
    "Usage",
    "read_predictions",
    "read_rows",
    "read_tasks",
]
