# Base of task images in Java, with Maven. Dependencies are resolved while the task image is built
# (`mvn dependency:go-offline` or a full test run); graded code has no network.
ARG BASE=eclipse-temurin:21-jdk-jammy
FROM ${BASE}
ARG PACKAGES="bash ca-certificates git maven patch python3"
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ${PACKAGES} >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/* \
 && git config --system --add safe.directory '*' \
 && git config --system core.autocrlf false \
 && git config --system gc.auto 0
# The heap is a share of the sandbox's memory, not of the machine's.
ENV LANG=C.UTF-8 TZ=UTC \
    JAVA_TOOL_OPTIONS="-XX:MaxRAMPercentage=60 -Duser.timezone=UTC -Dfile.encoding=UTF-8" \
    MAVEN_ARGS="--batch-mode --no-transfer-progress"
WORKDIR /testbed
