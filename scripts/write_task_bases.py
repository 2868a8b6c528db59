"""Write `images/tasks/base-*.Dockerfile` from the table in `cluster/images/languages.py`."""

from __future__ import annotations

from pathlib import Path

from cluster.images.languages import BASES, base_dockerfile

FOLDER = Path(__file__).resolve().parent.parent / "images" / "tasks"


def main() -> None:
    """Write each file anew."""
    for language in BASES:
        (FOLDER / f"base-{language}.Dockerfile").write_text(base_dockerfile(language), encoding="utf-8")


if __name__ == "__main__":
    main()
