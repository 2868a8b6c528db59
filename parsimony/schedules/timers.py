"""Ready texts for what starts programs: crontab, systemd, Kubernetes. They start a command with `--if-due`, which looks
at the schedule and does nothing before something is due."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from parsimony.schedules.schedule import Schedule

HOURLY: Final = "17 * * * *"
"""For an interval: look every hour, at a minute at which not everybody looks."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is started.

    Attributes:
        name: of units and of the CronJob: lower case letters and `-`.
        title: what it does, in words.
        words: the command, word by word; the first is `parsimony`.
        folder: absolute; what the command needs lies in it.
        volume: name of the volume that holds the folder, for Kubernetes.
    """

    name: str
    title: str
    words: tuple[str, ...]
    folder: Path
    volume: str

    @property
    def command(self) -> str:
        """For a shell."""
        return shlex.join(self.words)


def crontab(schedule: Schedule, job: Job) -> str:
    """A line for a crontab. Times are in UTC: where the machine's are not, put `CRON_TZ=UTC` above it."""
    return f"{_when(schedule)} {job.command.replace('%', chr(92) + '%')}\n"


def systemd(schedule: Schedule, job: Job) -> str:
    """A service and a timer, for two files in a folder of units."""
    command = job.command.replace("%", "%%")
    return f"""# {job.name}.service
[Unit]
Description={job.title} ({schedule.words})

[Service]
Type=oneshot
ExecStart=/bin/sh -c {shlex.quote(command)}
# 0 done or not due, 1 the answer is no (an answer, not a fault of the service), 3 partly
SuccessExitStatus=1 3

# {job.name}.timer
[Unit]
Description=Look every hour: {job.title}

[Timer]
OnCalendar=*-*-* *:17:00 UTC
Persistent=true

[Install]
WantedBy=timers.target
"""


def kubernetes(schedule: Schedule, job: Job) -> str:
    """A CronJob. The folder must lie on a volume that stays, with all that the command needs in it."""
    arguments = ", ".join(word if word.replace("-", "").isalnum() else _quoted(word) for word in job.words[1:])
    return f"""apiVersion: batch/v1
kind: CronJob
metadata:
  name: {job.name}
spec:
  schedule: "{_when(schedule)}"
  timeZone: Etc/UTC
  concurrencyPolicy: Forbid
  jobTemplate:
    spec:
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: {job.name.removeprefix("parsimony-")}
              image: parsimony  # your image of the grader
              args: [{arguments}]
              volumeMounts:
                - {{name: {job.volume}, mountPath: {_quoted(str(job.folder))}}}
          volumes:
            - name: {job.volume}
              persistentVolumeClaim: {{claimName: parsimony-{job.volume}}}
"""


TIMERS: Final[Mapping[str, Callable[[Schedule, Job], str]]] = {
    "crontab": crontab,
    "systemd": systemd,
    "kubernetes": kubernetes,
}
"""By the name that people ask for."""


def _when(schedule: Schedule) -> str:
    return schedule.cron.text if schedule.cron else HOURLY


def _quoted(text: str) -> str:
    """A YAML text in double quotes, which are JSON's."""
    return json.dumps(text, ensure_ascii=False)
