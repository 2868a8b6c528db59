"""`parsimony upload`: a copy of a run's folder in an object store."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from cluster.upload import upload as bring
from parsimony.cli import DONE, screen


def upload(folder: Path, url: str, *, as_json: bool) -> int:
    """Copy `folder` to `url` and say what was sent."""
    done = bring(folder, url)
    if as_json:
        screen.print_json({"url": url, **asdict(done)})
    else:
        size = f"{done.sent_bytes / 1e6:.1f} MB" if done.sent_bytes >= 100_000 else f"{done.sent_bytes} bytes"
        gone = f", {done.removed} removed" if done.removed else ""
        screen.console().print(f"{done.files} files, {done.sent} sent ({size}){gone}: {url}", soft_wrap=True)
    return DONE
