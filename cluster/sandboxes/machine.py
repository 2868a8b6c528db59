"""What the `process` sandbox runs on, as a digest: gradings are only comparable while it stays the same."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from typing import Final

from parsimony.canonical import digest_json

TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "cargo": ("--version",),
    "git": ("--version",),
    "go": ("version",),
    "java": ("-version",),
    "node": ("--version",),
    "npm": ("--version",),
    "python": ("-VV",),
    "python3": ("-VV",),
}
_PACKAGES: Final = (
    "import importlib.metadata as m, json;"
    "print(json.dumps(sorted({f'{d.name}=={d.version}' for d in m.distributions() if d.name})))"
)
PATIENCE_S: Final = 20.0


def environment_digest(path: str, isolation: str) -> str:
    """A digest of: operating system, processor and C library; PATH; what each of `TOOLS` on it says of its version;
    the packages that its python3 sees; how far executions are isolated. Blocks for some 100 ms.

    Args:
        path: PATH of the executions.
        isolation: `Capabilities.isolation`.
    """
    return digest_json(
        {
            "system": platform.system(),
            "machine": platform.machine(),
            "libc": list(platform.libc_ver()),
            "path": path,
            "tools": {name: _says(name, *arguments, path=path) for name, arguments in TOOLS.items()},
            "packages": _packages(path),
            "isolation": isolation,
        }
    )


def _packages(path: str) -> list[str]:
    told = _says("python3", "-c", _PACKAGES, path=path)
    try:
        return [str(name) for name in json.loads(told or "[]")]
    except ValueError:
        return []


def _says(name: str, *arguments: str, path: str) -> str | None:
    """First line of what a tool prints; None when there is no such tool."""
    program = shutil.which(name, path=path)
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": path, "HOME": os.devnull, "LANG": "C.UTF-8"},
            cwd="/",
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not run: {type(error).__name__}"
    return done.stdout.decode("utf-8", "replace").partition("\n")[0]
