# The environment is .venv, with what constraints.txt pins. Stamp files in it tell what is installed already.

.DEFAULT_GOAL := help
SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
RUN := demo-run
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHON

# Without build isolation: the build backend is pinned like everything else. Modules are compiled when they are first used.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt
SOURCES := parsimony cluster tests benchmarks scripts

.PHONY: help demo node test test-slow fuzz check lint format types layers dependencies examples clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo ## grade the example tasks on this machine and show the scoreboard; needs no Docker
	@$(BIN)/parsimony run configs/demo.yaml --out $(RUN)

test: $(VENV)/.dev ## run the tests; those that need Docker, Ray or a cluster skip with a reason where it is not there
	@$(BIN)/python -m pytest -m "not slow" --numprocesses 2 $(PYTEST)

test-slow: $(VENV)/.dev ## the tests that take long: kills, power cuts, old Pythons, packages from registries
	@$(BIN)/python -m pytest -m slow $(PYTEST)

fuzz: $(VENV)/.dev ## the property tests with many new random examples
	@PARSIMONY_HYPOTHESIS=fuzz $(BIN)/python -m pytest -m "not slow" -k "not ray and not docker" $(PYTEST)

check: lint types layers dependencies test ## everything that CI checks

lint: $(VENV)/.dev ## style and mistakes
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check --isolated --target-version py37 --line-length 130 --select B,E,F,W --ignore B004 parsimony/inimage parsimony/audit/inimage cluster/sandboxes/kubernetes/inpod

format: $(VENV)/.dev ## mend style in place
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

types: $(VENV)/.dev ## static types, strict
	@$(BIN)/mypy

layers: $(VENV)/.dev ## who may import whom
	@$(BIN)/lint-imports

dependencies: $(VENV)/.dev ## the table of dependencies against pyproject.toml and constraints.txt
	@$(BIN)/python scripts/check_dependencies.py

examples: $(VENV)/.dev ## build the example tasks again, by running their tests
	@$(BIN)/python scripts/build_examples.py

node: $(VENV)/.node ## the parser of JavaScript and TypeScript; needs Node.js and npm

clean: ## remove the environment, caches and the demo's run
	rm -rf $(VENV) $(RUN) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis build dist *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.python: scripts/find-python
	@python=$$(scripts/find-python) && echo "environment: $(VENV), from $$python" && "$$python" -m venv --clear $(VENV)
	@touch $@

$(VENV)/.backend: $(VENV)/.python constraints.txt
	@$(INSTALL) setuptools
	@touch $@

$(VENV)/.demo: $(VENV)/.backend pyproject.toml constraints.txt
	@echo "installing what a run needs"
	@$(INSTALL) --no-build-isolation --editable ".[cluster,report]" pytest
	@touch $@

$(VENV)/.dev: $(VENV)/.demo
	@echo "installing what development needs"
	@$(INSTALL) --no-build-isolation --editable ".[cluster,languages,report,dev]"
	@touch $@

$(VENV)/.node: $(VENV)/.python parsimony/footprint/languages/node/package-lock.json
	@mkdir -p $(VENV)/node && cp parsimony/footprint/languages/node/package.json parsimony/footprint/languages/node/package-lock.json $(VENV)/node
	@npm ci --prefix $(VENV)/node --ignore-scripts --no-audit --no-fund --silent
	@touch $@
