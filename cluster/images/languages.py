"""What a base of task images needs, by language: which tools, which settings, and the Dockerfile that installs them.

The files `images/tasks/base-*.Dockerfile` are this table, written by `scripts/write_task_bases.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

Language = Literal["python", "node", "go", "java", "rust"]

TOOLS: Final = ("bash", "ca-certificates", "git", "patch")
"""In every base: git and patch apply patches, and our script and many builds are bash or need certificates."""


@dataclass(frozen=True, slots=True)
class Base:
    """A language's base.

    Attributes:
        image: with `${VERSION}` for the language's version. packages: beside `TOOLS`.
        environment: what a test must not depend on is fixed here.
        notes: lines at the head of the Dockerfile. why: lines before the settings.
    """

    image: str
    version: str
    packages: tuple[str, ...]
    environment: Mapping[str, str]
    notes: tuple[str, ...]
    why: tuple[str, ...] = ()


COMMON: Final = {"LANG": "C.UTF-8", "TZ": "UTC"}

BASES: Final[Mapping[Language, Base]] = {
    "python": Base(
        "python:${VERSION}-slim-bookworm",
        "3.11",
        ("build-essential",),
        {
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_ROOT_USER_ACTION": "ignore",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
        },
        (
            "Base of task images in Python. The interpreter is the task's (`--build-arg VERSION=3.9`); our own",
            "reporter runs on 3.6 and newer, and nothing of ours is installed here. A C compiler builds wheels.",
        ),
    ),
    "node": Base(
        "node:${VERSION}-bookworm-slim",
        "20",
        ("build-essential", "python3"),
        {
            "CI": "true",
            "NO_UPDATE_NOTIFIER": "1",
            "NPM_CONFIG_AUDIT": "false",
            "NPM_CONFIG_FUND": "false",
            "NPM_CONFIG_UPDATE_NOTIFIER": "false",
        },
        (
            "Base of task images in JavaScript and TypeScript. python3 is for node-gyp and for our witness",
            "(parsimony/inimage), which runs on Node itself where there is no Python.",
        ),
        ("No update notices and no funding notes: what a test prints must not depend on the day.",),
    ),
    "go": Base(
        "golang:${VERSION}-bookworm",
        "1.24",
        ("gcc", "libc6-dev", "python3"),
        {"GOTOOLCHAIN": "local", "GOCACHE": "/opt/go-build", "GOMODCACHE": "/opt/go-mod"},
        (
            "Base of task images in Go. Modules are downloaded while the task image is built (`go mod download`);",
            "graded code has no network, and GOPROXY=off in the task image makes a missing module an error at once.",
        ),
        ("The toolchain is the image's: a go.mod that asks for another must not fetch one.",),
    ),
    "java": Base(
        "eclipse-temurin:${VERSION}-jdk-jammy",
        "21",
        ("maven", "python3"),
        {
            "JAVA_TOOL_OPTIONS": "-XX:MaxRAMPercentage=60 -Duser.timezone=UTC -Dfile.encoding=UTF-8",
            "MAVEN_ARGS": "--batch-mode --no-transfer-progress",
        },
        (
            "Base of task images in Java, with Maven. Dependencies are resolved while the task image is built",
            "(`mvn dependency:go-offline` or a full test run); graded code has no network.",
        ),
        ("The heap is a share of the sandbox's memory, not of the machine's.",),
    ),
    "rust": Base(
        "rust:${VERSION}-slim-bookworm",
        "1.89",
        ("build-essential", "libssl-dev", "pkg-config", "python3"),
        {"CARGO_INCREMENTAL": "0", "CARGO_TERM_COLOR": "never", "RUST_BACKTRACE": "1"},
        (
            "Base of task images in Rust. Crates are fetched and built while the task image is built",
            "(`cargo test --no-run`); graded code has no network, and CARGO_NET_OFFLINE=true in the task image makes a",
            "missing crate an error at once.",
        ),
    ),
}


def packages_of(language: Language, more: Iterable[str] = ()) -> tuple[str, ...]:
    """The Debian packages of a base, sorted."""
    return tuple(sorted({*TOOLS, *BASES[language].packages, *more}))


INSTALL: Final = """\
RUN lacking=; for name in ${PACKAGES}; do dpkg -s "$name" >/dev/null 2>&1 || lacking="$lacking $name"; done; \\
    if [ -n "$lacking" ]; then \\
      [ -z "${APT_MIRROR}" ] || sed -i -E "s#https?://[^/ ]+#${APT_MIRROR}#" \\
        $(find /etc/apt -name '*.list' -o -name '*.sources'); \\
      apt-get update -qq \\
      && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $lacking >/dev/null \\
      && rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/* || exit 1; \\
    fi; \\
    git config --system --replace-all safe.directory '*' \\
    && git config --system core.autocrlf false \\
    && git config --system gc.auto 0
"""
"""Installs what is not there yet (so that a base on a base needs no network), from the mirror where one is given."""


def settings(environment: Mapping[str, str]) -> str:
    """An ENV instruction."""
    pairs = [f"{name}={_quoted(value)}" for name, value in environment.items()]
    return "ENV " + " \\\n    ".join(pairs) + "\n"


def _quoted(value: str) -> str:
    plain = value and all(c.isalnum() or c in "._-/:=+," for c in value)
    return value if plain else '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$") + '"'


ARGUMENTS: Final = (
    "VERSION is the language's; REGISTRY is a mirror, with a slash at its end; BASE is any other image, by digest in",
    "production; APT_MIRROR is where packages come from. It runs as root, because a witness of another user than the",
    "tests needs that; sandboxes drop root's capabilities. Written by `scripts/write_task_bases.py`.",
)


def base_dockerfile(language: Language) -> str:
    """The Dockerfile of a language's base."""
    base = BASES[language]
    return "".join(
        [
            *(f"# {line}\n" for line in base.notes),
            "#\n",
            *(f"# {line}\n" for line in ARGUMENTS),
            "ARG REGISTRY\n",
            f"ARG VERSION={base.version}\n",
            f"ARG BASE=${{REGISTRY}}{base.image}\n",
            "FROM ${BASE}\n",
            f'ARG PACKAGES="{" ".join(packages_of(language))}"\n',
            "ARG APT_MIRROR\n",
            INSTALL,
            *(f"# {line}\n" for line in base.why),
            settings({**COMMON, **base.environment}),
            "WORKDIR /testbed\n",
        ]
    )
