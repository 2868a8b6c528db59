# The template of a task image: copy it, or build it as it is from a context of three folders.
#
#   docker build --file images/tasks/task.Dockerfile --build-arg BASE=parsimony-task-python:1 \
#     --build-arg INSTANCE=org__name-123 --build-arg BASE_COMMIT=… --tag org__name-123:1 CONTEXT
#
#   CONTEXT/locks/      what dependencies.sh needs: lock files, with hashes
#   CONTEXT/tree/       the repository at BASE_COMMIT, as files: without its history, so that no fix can be found in it
#   CONTEXT/scripts/    dependencies.sh (installs from locks) and project.sh (installs the project itself, offline)
#
# Layers, from what many tasks share to what one has: base, dependencies, tree. Tasks with the same lock files share the
# first two, byte for byte, so that a node pulls them once.
ARG BASE=parsimony-task-python:1
FROM ${BASE}

COPY locks /opt/task/locks
COPY scripts/dependencies.sh /opt/task/
# Where packages come from is the builder's business, and is not kept in the image.
ARG PIP_INDEX_URL
ARG NPM_CONFIG_REGISTRY
ARG GOPROXY
RUN sh -eu /opt/task/dependencies.sh

COPY tree /testbed
COPY scripts/project.sh /opt/task/
# One commit with a fixed date: the image hides the future of the repository, and building it again makes the same commit.
# Last, the tree must be clean: what a build leaves behind would be in every candidate's patch.
RUN git init -q -b main && git add -A -f . \
 && GIT_AUTHOR_DATE=2020-01-01T00:00:00Z GIT_COMMITTER_DATE=2020-01-01T00:00:00Z \
    git -c user.name=base -c user.email=base@localhost commit -q -m base \
 && sh -eu /opt/task/project.sh \
 && git reset -q --hard \
 && test -z "$(git status --porcelain)" \
 && test "$(git rev-list --all --count)" = 1

ARG INSTANCE
ARG BASE_COMMIT
LABEL parsimony.dev/instance="${INSTANCE}" parsimony.dev/base-commit="${BASE_COMMIT}"
