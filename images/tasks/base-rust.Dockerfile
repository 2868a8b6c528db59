# Base of task images in Rust. Crates are fetched and built while the task image is built
# (`cargo test --no-run`); graded code has no network, and CARGO_NET_OFFLINE=true in the task image makes a
# missing crate an error at once.
#
# VERSION is the language's; REGISTRY is a mirror, with a slash at its end; BASE is any other image, by digest in
# production; APT_MIRROR is where packages come from. It runs as root, because a witness of another user than the
# tests needs that; sandboxes drop root's capabilities. Written by `scripts/write_task_bases.py`.
ARG REGISTRY
ARG VERSION=1.89
ARG BASE=${REGISTRY}rust:${VERSION}-slim-bookworm
FROM ${BASE}
ARG PACKAGES="bash build-essential ca-certificates git libssl-dev patch pkg-config python3"
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
    CARGO_INCREMENTAL=0 \
    CARGO_TERM_COLOR=never \
    RUST_BACKTRACE=1
WORKDIR /testbed
