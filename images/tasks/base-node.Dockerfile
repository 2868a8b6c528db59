# Base of task images in JavaScript and TypeScript. python3 is for node-gyp and for our witness
# (parsimony/inimage), which runs on Node itself where there is no Python.
#
# VERSION is the language's; REGISTRY is a mirror, with a slash at its end; BASE is any other image, by digest in
# production; APT_MIRROR is where packages come from. It runs as root, because a witness of another user than the
# tests needs that; sandboxes drop root's capabilities. Written by `scripts/write_task_bases.py`.
ARG REGISTRY
ARG VERSION=20
ARG BASE=${REGISTRY}node:${VERSION}-bookworm-slim
FROM ${BASE}
ARG PACKAGES="bash build-essential ca-certificates git patch python3"
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
# No update notices and no funding notes: what a test prints must not depend on the day.
ENV LANG=C.UTF-8 \
    TZ=UTC \
    CI=true \
    NO_UPDATE_NOTIFIER=1 \
    NPM_CONFIG_AUDIT=false \
    NPM_CONFIG_FUND=false \
    NPM_CONFIG_UPDATE_NOTIFIER=false
WORKDIR /testbed
