# Base of task images in Java, with Maven. Dependencies are resolved while the task image is built
# (`mvn dependency:go-offline` or a full test run); graded code has no network.
#
# VERSION is the language's; REGISTRY is a mirror, with a slash at its end; BASE is any other image, by digest in
# production; APT_MIRROR is where packages come from. It runs as root, because a witness of another user than the
# tests needs that; sandboxes drop root's capabilities. Written by `scripts/write_task_bases.py`.
ARG REGISTRY
ARG VERSION=21
ARG BASE=${REGISTRY}eclipse-temurin:${VERSION}-jdk-jammy
FROM ${BASE}
ARG PACKAGES="bash ca-certificates git maven patch python3"
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
# The heap is a share of the sandbox's memory, not of the machine's.
ENV LANG=C.UTF-8 \
    TZ=UTC \
    JAVA_TOOL_OPTIONS="-XX:MaxRAMPercentage=60 -Duser.timezone=UTC -Dfile.encoding=UTF-8" \
    MAVEN_ARGS="--batch-mode --no-transfer-progress"
WORKDIR /testbed
