"""Submissions that somebody describes in a JSON manifest: results and predictions anywhere, also on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from parsimony import strict_json
from parsimony.artifacts.download import Fetcher, NotThere
from parsimony.artifacts.layouts import MAX_PREDICTIONS
from parsimony.artifacts.submission import Submission, read_predictions, read_results, sha256
from parsimony.errors import InputError
from parsimony.measurements import read_bytes, required_text
from parsimony.tasks.fields import Fields

_FIELDS: Final = ("agent", "submission_url", "prediction_url", "results_url")


def import_manifest(path: Path, fetcher: Fetcher) -> Submission:
    """The submission that a manifest describes: an object of texts `agent`, `submission_url`, `prediction_url` and
    `results_url`. A reference that has no scheme is a file beside the manifest if there is one, else relative to
    `submission_url`.

    Raises:
        InputError: the manifest cannot be used, or what it names is not there or is malformed.
        FetchFailed: the network failed.
    """
    data = read_bytes(path)
    try:
        agent, submission_url, prediction_url, results_url = _read(data, path)
    except InputError as error:
        raise error.at(file=str(path)) from None
    fetcher.observer.stage(f"submission {agent}")
    predictions = _get(fetcher, prediction_url, path, "prediction_url")
    results = _get(fetcher, results_url, path, "results_url")
    categories, resolved = read_results(results, results_url)
    patches, model = read_predictions(predictions, prediction_url)
    return Submission(
        agent=agent,
        categories=categories,
        resolved=resolved,
        patches=patches,
        predictions_url=prediction_url,
        provenance={
            "layout": "manifest",
            "manifest_sha256": sha256(data),
            "prediction_url": prediction_url,
            "predictions_sha256": sha256(predictions),
            "ref": None,
            "reported_model": model,
            "results_sha256": sha256(results),
            "results_url": results_url,
            "submission_url": submission_url,
        },
    )


def _read(data: bytes, path: Path) -> tuple[str, str, str, str]:
    value = strict_json.loads(data)
    if not isinstance(value, dict):
        raise InputError("is no object", mend=f"a manifest has {', '.join(_FIELDS)}")
    if unknown := sorted(set(value) - set(_FIELDS)):
        raise InputError("is no field of a manifest", mend=f"it has {', '.join(_FIELDS)}", field=unknown[0])
    agent, base, predictions, results = (required_text(Fields(value), name) for name in _FIELDS)
    return agent, base, _resolve(predictions, base, path), _resolve(results, base, path)


def _resolve(reference: str, base: str, manifest: Path) -> str:
    try:
        if urlsplit(reference).scheme:
            return reference
        local = (manifest.parent / reference).resolve()
        if local.is_file():
            return local.as_uri()
        return urljoin(base.rstrip("/") + "/", reference)
    except (OSError, ValueError):
        raise InputError(f"names {reference[:80]!r}, which is no address", mend="mend it") from None


def _get(fetcher: Fetcher, url: str, manifest: Path, field: str) -> bytes:
    try:
        return fetcher.get(url, most=MAX_PREDICTIONS)
    except NotThere as error:
        raise InputError(str(error), mend="check the address", file=str(manifest), field=field) from None
