"""Dockerfiles of task images, in three stages that are images of their own, so that tasks share what they can:

1. the environment: base, tools, system packages, dependencies, shared by all tasks of a specification;
2. the past that all its tasks have in common, as a pack;
3. the task: what its own commit adds to that past, the checkout, and the project's installation.

No stage holds an object that is later than a task's commit, in any layer. The last step of a task's image fails where
its repository would tell more than it may.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cluster.images.languages import BASES, COMMON, INSTALL, packages_of, settings
from cluster.images.spec import EnvironmentSpec

PLACE: Final = "/opt/parsimony-build"
"""Where the files of a build are in the image."""

GIT_CONFIG: Final = (
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = false\n"
)

SEAL: Final = """\
# Check out the commit $1, install the project with $2, and see that the repository tells nothing but the commit's past.
cd "$WORKDIR"
git -c advice.detachedHead=false checkout -q --force --detach "$1"
sh -eu "$2"
git reset -q --hard
left=$(git status --porcelain | head -n 5)
[ -z "$left" ] || { echo "the installation leaves files that git does not ignore: $left" >&2; exit 1; }
rm -rf .git/logs .git/ORIG_HEAD .git/FETCH_HEAD .git/refs/remotes
T=$(mktemp -d)
[ "$(git rev-parse HEAD)" = "$1" ]
[ -z "$(git for-each-ref --no-merged HEAD)" ] || { echo "a name leads to a later commit" >&2; exit 1; }
git cat-file --batch-all-objects --batch-check='%(objectname)' | sort -u > "$T/all"
git rev-list --objects HEAD | cut -d' ' -f1 | sort -u > "$T/own"
[ -z "$(comm -23 "$T/all" "$T/own")" ] || { echo "the repository holds objects that $1 does not reach" >&2; exit 1; }
rm -rf "$T"
"""


def environment(spec: EnvironmentSpec, *, files: bool) -> str:
    """The Dockerfile of the first stage. `files`: there is a folder `environment` of files in its context."""
    packages = " ".join(packages_of(spec.language, spec.packages))
    fixed = {**COMMON, **BASES[spec.language].environment, **spec.environment}
    return "".join(
        [
            f'FROM {spec.base}\nARG PACKAGES="{packages}"\nARG APT_MIRROR\n{INSTALL}{settings(fixed)}',
            f"COPY environment/ {PLACE}/environment/\n" if files else "",
            f"WORKDIR {PLACE}/environment\n" if spec.dependencies.run else "",
            _arguments(spec),
            *(f"RUN {_one_line(command)}\n" for command in spec.dependencies.run),
            f"WORKDIR {spec.workdir}\n",
        ]
    )


def past(spec: EnvironmentSpec, parent: str) -> str:
    """The Dockerfile of the second stage, on the image `parent`; its context has the folder `repository`."""
    return f"FROM {parent}\nCOPY repository/ {spec.workdir}/.git/\n"


def task(spec: EnvironmentSpec, parent: str, commit: str) -> str:
    """The Dockerfile of the third stage, on the image `parent`; its context has `repository` and `build`."""
    seal = f"WORKDIR={spec.workdir} sh -eu {PLACE}/seal.sh {commit} {PLACE}/install.sh"
    return (
        f"FROM {parent}\nCOPY build/ {PLACE}/\nCOPY repository/ {spec.workdir}/.git/\n"
        f"{_arguments(spec)}RUN {seal}\nWORKDIR {spec.workdir}\n"
    )


def script(commands: Sequence[str]) -> str:
    """A script of commands, each of which must succeed."""
    return "".join(f"{command}\n" for command in commands) or ":\n"


def _arguments(spec: EnvironmentSpec) -> str:
    return "".join(f"ARG {name}\n" for name in spec.arguments)


def _one_line(command: str) -> str:
    """A command of several lines as an instruction that goes on."""
    lines = [line.rstrip() for line in command.strip().splitlines()]
    return " \\\n    && ".join(lines) if len(lines) > 1 else lines[0]
