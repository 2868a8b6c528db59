# Base of task images in JavaScript and TypeScript. python3 is for node-gyp and for our witness (parsimony/inimage), which
# runs on Node itself where there is no Python.
ARG BASE=node:20-bookworm-slim
FROM ${BASE}
ARG PACKAGES="bash build-essential ca-certificates git patch python3"
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ${PACKAGES} >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/* \
 && git config --system --add safe.directory '*' \
 && git config --system core.autocrlf false \
 && git config --system gc.auto 0
# No update notices and no funding notes: what a test prints must not depend on the day.
ENV LANG=C.UTF-8 TZ=UTC CI=true NO_UPDATE_NOTIFIER=1 \
    NPM_CONFIG_AUDIT=false NPM_CONFIG_FUND=false NPM_CONFIG_UPDATE_NOTIFIER=false
WORKDIR /testbed
