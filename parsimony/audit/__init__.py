"""Standing audits of tasks: canaries that must not be resolved, the task's own fix that must be, flakes, leaks in the
image, weak tests, and the Agentic Benchmark Checklist (docs/audit.md).

quarantined(path)              tasks that an audit takes out of denominators, with the reasons
audit_file(reference)          the audit that stands beside a reference
canaries(layout), mutants(layout, n)   patches against a task, written mechanically
judge(seen), checklist(…)      what was seen becomes checks
"""

from parsimony.audit.canaries import Canary, canaries
from parsimony.audit.checklist import checklist, reporting
from parsimony.audit.files import SCHEMA, Audit, audit_file, quarantined
from parsimony.audit.judging import Graded, Seen, judge
from parsimony.audit.layout import Layout
from parsimony.audit.model import Check, Group, TaskAudit, Verdict
from parsimony.audit.mutants import Mutant, Mutants, mutants

__all__ = [
    "SCHEMA",
    "Audit",
    "Canary",
    "Check",
    "Graded",
    "Group",
    "Layout",
    "Mutant",
    "Mutants",
    "Seen",
    "TaskAudit",
    "Verdict",
    "audit_file",
    "canaries",
    "checklist",
    "judge",
    "mutants",
    "quarantined",
    "reporting",
]
