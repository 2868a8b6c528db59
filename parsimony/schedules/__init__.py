"""When standing work is due, and ready texts for what starts programs: of audits, and of refreshes.

schedule = Schedule(cron=Cron.parse("30 3 * * 1"))
schedule.state(last, since, now)          current, due or overdue
crontab(schedule, Job(...))               a line that starts a program which looks whether something is due
"""

from parsimony.schedules.cron import Cron
from parsimony.schedules.schedule import DEFAULT_GRACE, Schedule, State, read_duration, read_moment, write_duration
from parsimony.schedules.timers import TIMERS, Job

__all__ = [
    "DEFAULT_GRACE",
    "TIMERS",
    "Cron",
    "Job",
    "Schedule",
    "State",
    "read_duration",
    "read_moment",
    "write_duration",
]
