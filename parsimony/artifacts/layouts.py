"""Submissions as SWE-bench's repository of experiments publishes them, in both of its layouts.

Legacy: `results/results.json` on GitHub, all predictions in one file in the bucket, a report per task beside them.
Current (mini-SWE-agent): `per_instance_details.json` and `metadata.yaml` on GitHub, and a patch per task in the folder
of logs that the metadata names. A submission without the predictions of the first layout has the second.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import quote

from parsimony.artifacts.download import Fetcher, FetchFailed, NotThere, Offline
from parsimony.artifacts.metadata import scalars
from parsimony.artifacts.places import Places
from parsimony.artifacts.submission import (
    FAILED,
    NO_ATTEMPT,
    NO_LOGS,
    NO_REPORT,
    RESOLVED,
    Submission,
    read_details,
    read_predictions,
    read_report,
    read_results,
    sha256,
)
from parsimony.errors import InputError

MAX_PREDICTIONS: Final = 2**30
"""Bytes. Submissions of 500 tasks have some 100 MB where an agent added data files to its patches."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")
_FOLDER: Final = "https://github.com/SWE-bench/experiments/tree/{ref}/evaluation/verified/{name}"
_PAGE = re.compile(
    r"https://github\.com/swe-bench/experiments/tree/[^/]+/evaluation/verified/([^/?#]+)/?", re.IGNORECASE
)
_REPO = re.compile(r"(?:https://github\.com/)?([A-Za-z0-9-]+/[A-Za-z0-9._-]+?)(?:\.git)?/?")
_BUCKET: Final = "s3://swe-bench-submissions/"
_CONNECTIONS: Final = 8


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a submission is asked for.

    Attributes:
        ref: commit, branch or tag of the repository of experiments.
        failures: whether evidence of failures is needed, which may take a download per task.
        tasks: those that such evidence is needed for; None for all that the submission names.
    """

    ref: str = "main"
    failures: bool = False
    tasks: Sequence[str] | None = None


def import_submission(named: str, wanted: Wanted, fetcher: Fetcher, places: Places) -> Submission:
    """A published submission to SWE-bench Verified.

    Args:
        named: the name of its folder, or the address of that on GitHub.

    Raises:
        InputError: no such submission, or one that contradicts itself or has neither layout.
        FetchFailed: the network failed.
    """
    page = _PAGE.fullmatch(named)
    name = page[1] if page else named
    if not _NAME.fullmatch(name):
        raise InputError.wrong("submission", named, "the name of a folder of evaluation/verified, or its address")
    return _Importer(name, wanted, fetcher, places).submission()


@dataclass(frozen=True, slots=True)
class _Importer:
    """One import."""

    name: str
    wanted: Wanted
    fetcher: Fetcher
    places: Places

    def submission(self) -> Submission:
        url = self.places.stored(f"verified/{self.name}/all_preds.jsonl")
        self.fetcher.observer.stage(f"predictions of {self.name}")
        try:
            predictions = self.fetcher.get(url, most=MAX_PREDICTIONS)
        except NotThere:
            return self._current()
        except Offline:
            if not self.fetcher.cache.has(self._address("per_instance_details.json")):
                raise
            return self._current()
        return self._legacy(url, predictions)

    def _address(self, path: str) -> str:
        return self.places.submission(self.wanted.ref, self.name, path)

    def _legacy(self, predictions_url: str, predictions: bytes) -> Submission:
        results_url = self._address("results/results.json")
        self.fetcher.observer.stage(f"results of {self.name}")
        try:
            results = self.fetcher.get(results_url)
        except NotThere:
            return self._current()  # which says what is missing, if that layout is not there either
        categories, resolved = read_results(results, results_url)
        patches, model = read_predictions(predictions, predictions_url)
        submission = Submission(
            agent=self.name,
            categories=categories,
            resolved=resolved,
            patches=patches,
            predictions_url=predictions_url,
            provenance={
                "layout": "legacy",
                "prediction_url": predictions_url,
                "predictions_sha256": sha256(predictions),
                "reported_model": model,
                **self._provenance(results_url, results),
            },
        )
        listed = any(not set(FAILED).isdisjoint(names) for names in categories.values())
        return submission if listed or not self.wanted.failures else self._with_reports(submission)

    def _provenance(self, results_url: str, results: bytes) -> dict[str, object]:
        return {
            "ref": self.wanted.ref,
            "results_sha256": sha256(results),
            "results_url": results_url,
            "submission_url": _FOLDER.format(ref=self.wanted.ref, name=self.name),
        }

    def _with_reports(self, submission: Submission) -> Submission:
        """The submission with what the reports of its tasks say. They are small and many: several come at a time."""
        base = self.places.stored(f"verified/{self.name}/logs")
        settled = {RESOLVED, NO_LOGS, *NO_ATTEMPT}
        known = submission.categories
        asked = submission.tasks if self.wanted.tasks is None else sorted(set(self.wanted.tasks))
        open_tasks = [task for task in asked if settled.isdisjoint(known.get(task, ()))]
        self.fetcher.observer.stage(f"{len(open_tasks)} reports of {self.name}")
        categories: dict[str, tuple[str, ...]] = dict(known)
        unfetched: dict[str, str] = {}
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            futures = [(task, pool.submit(self._report, task, base)) for task in open_tasks]
            try:
                for task, future in futures:
                    try:
                        categories[task] = (*known.get(task, ()), future.result())
                    except FetchFailed as error:
                        unfetched[task] = f"{type(error).__name__}: {error}"
            finally:
                pool.shutdown(cancel_futures=True)
        provenance = {**submission.provenance, "reports_url": base}
        return replace(submission, categories=categories, unfetched=unfetched, provenance=provenance)

    def _report(self, task: str, base: str) -> str:
        url = f"{base}/{quote(task, safe='')}/report.json"
        try:
            return read_report(self.fetcher.get(url), task, url)
        except NotThere:
            return NO_REPORT

    def _current(self) -> Submission:
        details_url, metadata_url = self._address("per_instance_details.json"), self._address("metadata.yaml")
        self.fetcher.observer.stage(f"results of {self.name}")
        details, metadata = self._required(details_url), self._required(metadata_url)
        categories, resolved = read_details(details, details_url)
        # A task that must have logs if any has: the first that was solved.
        probe = min(resolved, default=None) or min(categories, default=None)
        try:
            told = scalars(metadata)
            logs, source, listings = self._logs(told, probe)
        except InputError as error:
            raise error.at(file=metadata_url) from None
        return Submission(
            agent=self.name,
            categories=categories,
            resolved=resolved,
            patch_url=f"{logs}/{{task}}/patch.diff",
            provenance={
                "layout": "mini-swe-agent",
                "listing_urls": listings,
                "logs_source": source,
                "logs_url": logs,
                "metadata_sha256": sha256(metadata),
                "metadata_url": metadata_url,
                "reported_model": told.get("tags.model") or told.get("info.name") or told.get("name"),
                **self._provenance(details_url, details),
            },
        )

    def _logs(self, told: dict[str, str], probe: str | None) -> tuple[str, str, list[str]]:
        """The address of the folder of logs, where it was learned, and the listings that were asked for."""
        stated = told.get("assets.logs")
        if stated is None and (trajectories := told.get("assets.trajs")) is not None:
            stated = re.sub(r"/trajs/?$", "/logs", trajectories)
        repo = told.get("assets.repo")
        if repo is not None and (stated is None or not stated.startswith("s3:")):
            return self.places.file(*_in_repository(repo, stated or "logs", told)), "repository", []
        if stated is None or not stated.startswith(_BUCKET):
            mend = f"only folders of {_BUCKET} and repositories of GitHub are supported"
            raise InputError(f"names no folder of logs that can be read: {stated}", mend=mend, field="assets.logs")
        folder = stated.removeprefix(_BUCKET).rstrip("/")
        standard = f"bash-only/{self.name}/logs"
        if probe is None or folder == standard:
            return self.places.stored(folder), "metadata", []
        # Some submissions name a folder that was moved; the standard one is taken only where it has this task.
        listings = [self.places.listing(f"{one}/{probe}/") for one in (folder, standard)]
        if not self._has_objects(listings[0]) and self._has_objects(listings[1]):
            return self.places.stored(standard), "standard", listings
        return self.places.stored(folder), "metadata", listings

    def _has_objects(self, url: str) -> bool:
        try:
            return b"<Key>" in self.fetcher.get(url)
        except Offline:
            return True  # nobody can look, and what is stated is the best guess
        except NotThere:
            return False

    def _required(self, url: str) -> bytes:
        try:
            return self.fetcher.get(url)
        except NotThere:
            mend = "check the name and --ref; submissions of neither layout can be given by --manifest"
            raise InputError(f"submission {self.name} has no such file", mend=mend, file=url) from None


def _in_repository(repo: str, folder: str, told: dict[str, str]) -> tuple[str, str, str]:
    """Repository, commit and folder of logs that a submitter keeps."""
    match = _REPO.fullmatch(repo)
    ref = told.get("assets.commit") or told.get("assets.ref") or told.get("info.commit")
    if match is None:
        raise InputError.wrong("assets.repo", repo, "a repository of GitHub, owner/name")
    if ref is None:
        mend = "its commit must stand in assets.commit, assets.ref or info.commit"
        raise InputError("names a repository without a commit", mend=mend, field="assets.repo")
    if ".." in folder.split("/") or "://" in folder:
        raise InputError.wrong("assets.logs", folder, "a folder of the repository")
    return match[1], ref, folder.strip("/")
