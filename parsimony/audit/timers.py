"""Ready texts for what starts programs: crontab, systemd, Kubernetes. They start `parsimony audit run --if-due`, which
looks at the schedule and does nothing before an audit is due."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from parsimony.audit.schedule import Schedule

HOURLY: Final = "17 * * * *"
"""For an interval: look every hour, at a minute at which not everybody looks."""


def crontab(schedule: Schedule, folder: Path) -> str:
    """A line for a crontab. Times are in UTC: where the machine's are not, put `CRON_TZ=UTC` above it."""
    when = schedule.cron.text if schedule.cron else HOURLY
    return f"{when} {_command(folder).replace('%', chr(92) + '%')}\n"


def systemd(schedule: Schedule, folder: Path) -> str:
    """A service and a timer, for two files in a folder of units."""
    command = _command(folder).replace("%", "%%")
    return f"""# parsimony-audit.service
[Unit]
Description=Audit of tasks ({schedule.words})

[Service]
Type=oneshot
ExecStart=/bin/sh -c {shlex.quote(command)}
# 0 done or not due, 1 a task failed (an answer, not a fault of the service), 3 partly
SuccessExitStatus=1 3

# parsimony-audit.timer
[Unit]
Description=Look every hour whether an audit is due

[Timer]
OnCalendar=*-*-* *:17:00 UTC
Persistent=true

[Install]
WantedBy=timers.target
"""


def kubernetes(schedule: Schedule, folder: Path) -> str:
    """A CronJob. The folder must lie on a volume that stays, with the schedule and the task file in it."""
    when = schedule.cron.text if schedule.cron else HOURLY
    return f"""apiVersion: batch/v1
kind: CronJob
metadata:
  name: parsimony-audit
spec:
  schedule: "{when}"
  timeZone: Etc/UTC
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: audit
              image: parsimony  # your image of the grader
              args: [audit, run, --if-due, --out, {_quoted(str(folder))}]
              volumeMounts:
                - {{name: tasks, mountPath: {_quoted(str(folder.parent))}}}
          volumes:
            - name: tasks
              persistentVolumeClaim: {{claimName: parsimony-tasks}}
"""


def _command(folder: Path) -> str:
    return f"parsimony audit run --if-due --out {shlex.quote(str(folder))}"


def _quoted(text: str) -> str:
    """A YAML text in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
