# Base of task images in Rust. Crates are fetched and built while the task image is built (`cargo test --no-run`); graded
# code has no network, and CARGO_NET_OFFLINE=true in the task image makes a missing crate an error at once.
ARG BASE=rust:1.89-slim-bookworm
FROM ${BASE}
ARG PACKAGES="bash build-essential ca-certificates git libssl-dev patch pkg-config python3"
RUN apt-get update -qq \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ${PACKAGES} >/dev/null \
 && rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/* \
 && git config --system --add safe.directory '*' \
 && git config --system core.autocrlf false \
 && git config --system gc.auto 0
ENV LANG=C.UTF-8 TZ=UTC CARGO_INCREMENTAL=0 CARGO_TERM_COLOR=never RUST_BACKTRACE=1
WORKDIR /testbed
