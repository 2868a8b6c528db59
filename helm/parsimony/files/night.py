"""Which night it is, and starting it: `night.py date`, `night.py start RAYJOB.json`.

A night has the date (UTC) of the time at which its CronJob meant it to start, also when the pod came later or a second
time. That time is in the name of the CronJob's Job, in minutes since 1970. The RayJob is named by the date, so that a
night that is there already is waited for and not made twice.

Exit status of `start`: 0 the night passed; 1 it failed; 3 it cannot be told yet (try again: nothing is done twice).
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

POLL_S = 30.0
PASSED, FAILED = "Complete", "Failed"


def date_of(job_name: str, now: datetime) -> str:
    """The date of the night that a Job is for; a Job made by hand, without minutes in its name, is for today."""
    found = re.search(r"-(\d{7,9})$", job_name)
    at = datetime.fromtimestamp(int(found[1]) * 60, UTC) if found else now
    return at.date().isoformat()


def start(
    template: dict[str, Any],
    date: str,
    ask: Callable[[str, str, dict[str, Any] | None], tuple[int, dict[str, Any]]],
    *,
    sleep: Callable[[float], None] = time.sleep,
    say: Callable[[str], None] = print,
) -> int:
    """Make the RayJob of a date if it is not there, and wait for its end.

    Args:
        template: the RayJob, with DATE in its name and entrypoint.
        ask: one call of the API: method, path and body to status and answer; status 0 when nobody answered.
    """
    job = json.loads(json.dumps(template).replace("DATE", date))
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    path = f"/apis/ray.io/v1/namespaces/{namespace}/rayjobs"
    status, answer = ask("POST", path, job)
    if status not in {200, 201, 202, 409}:
        say(f"night {date}: the RayJob {name} cannot be made: {status} {answer.get('message', '')}")
        return 3
    say(f"night {date}: RayJob {name} " + ("is there already" if status == 409 else "made"))
    silent = 0
    while True:
        status, answer = ask("GET", f"{path}/{name}", None)
        if status == 404:
            say(f"night {date}: the RayJob {name} was deleted before its end")
            return 3
        silent = 0 if status == 200 else silent + 1
        if silent > 20:
            say(f"night {date}: nobody tells how {name} is: {status} {answer.get('message', '')}")
            return 3
        found = answer.get("status", {}) if status == 200 else {}
        if found.get("jobDeploymentStatus") in {PASSED, FAILED}:
            passed = found["jobDeploymentStatus"] == PASSED and found.get("jobStatus", "SUCCEEDED") == "SUCCEEDED"
            say(f"night {date}: {'passed' if passed else 'failed'} {found.get('message', '')}".strip())
            return 0 if passed else 1
        sleep(POLL_S)


def _api() -> Callable[[str, str, dict[str, Any] | None], tuple[int, dict[str, Any]]]:
    from kubernetes import client, config
    from kubernetes.client.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    config.load_incluster_config()
    api = client.ApiClient()

    def ask(method: str, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        kinds = {"Accept": "application/json", "Content-Type": "application/json"}
        asked = api.param_serialize(method, path, header_params=kinds, body=body, auth_settings=["BearerToken"])
        try:
            answer = api.call_api(*asked, _request_timeout=(10, 60))
            data = answer.read()
        except (HTTPError, ApiException, OSError) as error:
            return 0, {"message": str(error)}
        try:
            return answer.status, json.loads(data)
        except ValueError:
            return answer.status, {"message": data.decode("utf-8", "replace")[:300]}

    return ask


def main(words: list[str]) -> int:
    """See the module."""
    date = date_of(os.environ.get("JOB_NAME", ""), datetime.now(UTC))
    if words == ["date"]:
        print(date)
        return 0
    if len(words) == 2 and words[0] == "start":
        return start(json.loads(Path(words[1]).read_text(encoding="utf-8")), date, _api())
    print("usage: night.py date | night.py start RAYJOB.json", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
