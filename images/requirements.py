"""The requirements of this distribution and some extras, a line each: what the image installs before our own code.

python images/requirements.py cluster,report
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def requirements(extras: str, pyproject: Path = ROOT / "pyproject.toml") -> list[str]:
    """Requirements of the distribution itself and of `extras` (names with commas).

    Raises:
        SystemExit: an extra that the distribution does not have.
    """
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    known: dict[str, list[str]] = project["optional-dependencies"]
    names = [name.strip() for name in extras.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise SystemExit(f"{pyproject.name} has no extra {name!r}; it has {', '.join(sorted(known))}")
    return [*project["dependencies"], *(line for name in names for line in known[name])]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1] if len(sys.argv) > 1 else "")))
