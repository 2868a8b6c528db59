# Base of task images in Python. The interpreter is the task's (`--build-arg VERSION=3.9`); our own
# reporter runs on 3.6 and newer, and nothing of ours is installed here. A C compiler builds wheels.
#
# VERSION is the language's; REGISTRY is a mirror, with a slash at its end; BASE is any other image, by digest in
# production; APT_MIRROR is where packages come from. It runs as root, because a witness of another user than the
# tests needs that; sandboxes drop root's capabilities. Written by `scripts/write_task_bases.py`.
ARG REGISTRY
ARG VERSION=3.11
ARG BASE=${REGISTRY}python:${VERSION}-slim-bookworm
FROM ${BASE}
ARG PACKAGES="bash build-essential ca-certificates git patch"
ARG APT_MIRROR
RUN lacking=; for name in ${PACKAGES}; do dpkg -s "$name" >/dev/null 2>&1 || lacking="$lacking $name"; done; \
    if [ -n "$lacking" ]; then \
      [ -z "${APT_MIRROR}" ] || sed -i -E "s#https?://[^/ ]+#${APT_MIRROR}#" \
        $(find /etc/apt -name '*.list' -o -name '*.sources'); \
      apt-get update -qq \
      && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $lacking >/dev/null \
      && rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/* || exit 1; \
    fi; \
    git config --system --replace-all safe.directory '*' \
    && git config --system core.autocrlf false \
    && git config --system gc.auto 0
ENV LANG=C.UTF-8 \
    TZ=UTC \
    PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONHASHSEED=0
WORKDIR /testbed
