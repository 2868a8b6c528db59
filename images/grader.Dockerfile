# The grader: driver, Ray head and Ray workers are this one image, so that every process of a sweep is the same version.
#
#   docker build --file images/grader.Dockerfile --tag parsimony-grader:0.1.0 .
#
# Any builder will do. Where packages come from is its business: `--build-arg PIP_INDEX_URL=…` (only the first stage sees
# it, so that no credential is in a layer or in the history of the image), and `--build-arg BASE=…` for a mirrored base
# image, by digest in production.
ARG BASE=python:3.11-slim-bookworm

FROM ${BASE} AS build
ARG EXTRAS=cluster,languages,report
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
RUN python -m venv /opt/parsimony
ENV PATH=/opt/parsimony/bin:$PATH
WORKDIR /build
# What changes seldom comes first: a change of our own code does not install the dependencies again.
COPY constraints.txt pyproject.toml ./
COPY images/requirements.py images/
RUN pip install --quiet --constraint constraints.txt setuptools \
 && python images/requirements.py "${EXTRAS}" > requirements.txt \
 && pip install --quiet --constraint constraints.txt --requirement requirements.txt
COPY README.md LICENSE ./
COPY cluster cluster
COPY parsimony parsimony
RUN pip install --quiet --no-index --no-deps --no-build-isolation . \
 && pip check

FROM ${BASE}
# git and patch apply and measure patches; tini reaps what Ray's workers leave; KubeRay's probes call wget,
# and it starts Ray from a login shell, which sets PATH anew.
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ca-certificates git patch tini wget >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/* \
 && groupadd --gid 10001 parsimony \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin parsimony \
 && install -d -o parsimony -g parsimony /data \
 && echo 'PATH=/opt/parsimony/bin:$PATH' > /etc/profile.d/parsimony.sh
COPY --from=build /opt/parsimony /opt/parsimony
# Nothing is written outside of /tmp and /data: the root file system may be read-only.
ENV PATH=/opt/parsimony/bin:$PATH \
    HOME=/tmp \
    LANG=C.UTF-8 \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MPLCONFIGDIR=/tmp/matplotlib \
    RAY_USAGE_STATS_ENABLED=0
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="parsimony-grader" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
USER 10001:10001
WORKDIR /data
ENTRYPOINT ["/usr/bin/tini", "--"]
CMD ["parsimony", "--help"]
