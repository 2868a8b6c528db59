# Base of task images in Python. The interpreter is the task's (`--build-arg BASE=python:3.9-slim-bookworm`); our own
# reporter runs on 3.6 and newer, and nothing of ours is installed here.
ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}
# The same tools in every base (images/tasks/README.md): git and patch apply patches, a C compiler builds wheels.
ARG PACKAGES="bash build-essential ca-certificates git patch"
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ${PACKAGES} >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/* \
 && git config --system --add safe.directory '*' \
 && git config --system core.autocrlf false \
 && git config --system gc.auto 0
ENV LANG=C.UTF-8 TZ=UTC \
    PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
    PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
WORKDIR /testbed
