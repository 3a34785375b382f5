# Every target sets up what it needs in .venv, and does so again only when pyproject.toml changes.
# Another interpreter: make test PYTHON=/path/to/python3.12

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

VENV := .venv
BIN := $(VENV)/bin
# Processes that run tests. Some tests wait for a page or another process: three keep two cores busy.
WORKERS := 3
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check

# Installs the package with its `extras`, for whoever edits it.
# uv does in seconds what takes pip a minute. It does not read pip's configuration: where it fails, e.g.
# because only that names a package index, pip does it. All cores compile what many processes import.
define install
	@$(PIP) install uv && $(BIN)/python -m uv pip install --quiet --python $(BIN)/python --editable '.$(extras)' || { \
		echo "uv could not install it; now with pip"; $(PIP) install --no-compile --editable '.$(extras)'; }
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib extractbench_nb || true
endef

# The first interpreter that is new enough, unless one is given.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
ifndef PYTHON
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	"$$p" -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
endif

# Checks on the real dataset, recorded runs and conformance cases and texts use these folders where they exist.
ifneq ($(wildcard ../shared/extract-bench/.),)
export EXTRACTBENCH_DATASET ?= $(abspath ../shared/extract-bench)
endif
ifneq ($(wildcard ../shared/runs/.),)
export EXTRACTBENCH_RUNS ?= $(abspath ../shared/runs)
endif
ifneq ($(wildcard ../shared/conformance/.),)
export EXTRACTBENCH_CONFORMANCE ?= $(abspath ../shared/conformance)
endif
ifneq ($(wildcard ../shared/seeds/.),)
export EXTRACTBENCH_SEEDS ?= $(abspath ../shared/seeds)
endif
# litellm (installed with the published extract-bench) would fetch its price list when imported.
export LITELLM_LOCAL_MODEL_COST_MAP := True
# The checks start hundreds of interpreters: none of them should compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test lint types imports unit notebooks docs bench format clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.installed  ## evaluate the sample dataset's model outputs and print the scores
	@$(BIN)/python examples/demo.py

test: $(VENV)/.installed-dev  ## run every check; the short ones beside the tests
	@$(MAKE) --keep-going --jobs=2 lint types imports unit
	@$(MAKE) --keep-going docs notebooks

lint: $(VENV)/.installed-dev  ## ruff: rules and formatting
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.installed-dev  ## mypy, strict, on the package
	$(BIN)/mypy

imports: $(VENV)/.installed-dev  ## the order of imports between the packages
	$(BIN)/lint-imports

unit: $(VENV)/.installed-dev  ## tests and doctests; benchmarks run once, untimed
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --benchmark-disable -p no:nbval

notebooks: $(VENV)/.installed-dev  ## execute all notebooks again and compare every output
	env -u EXTRACTBENCH_RUNS $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --nbval --nbval-current-env \
		--nbval-cell-timeout=1800 --nbval-kernel-startup-timeout=1800 \
		--nbval-sanitize-with=notebooks/nbval.cfg notebooks

docs: $(VENV)/.installed-dev  ## build the documentation in build/site; a warning is an error
	$(BIN)/python -m sphinx -c docs -b html -W --keep-going -q -d build/doctrees . build/site

bench: $(VENV)/.installed-bench  ## timed benchmarks, beside extract-bench and stickler-eval
	$(BIN)/python -m pytest tests/benchmarks --benchmark-only --benchmark-columns=min,median,rounds

format: $(VENV)/.installed-dev  ## apply ruff's fixes and formatting
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:  ## remove .venv, caches and build output
	rm -rf $(VENV) build dist .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@"$(PYTHON)" -c '$(NEW_ENOUGH)' >/dev/null 2>&1 || { \
		found="$$("$(or $(PYTHON),python3)" --version 2>/dev/null || true)"; \
		echo "error: Python 3.11 or newer is needed, found: $${found:-none}." \
			"Install one, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml | $(VENV)/.created
	@echo "Installing extractbench-nb"
	$(install)
	@touch $@

$(VENV)/.installed-dev: extras := [dev,notebook]
$(VENV)/.installed-dev: pyproject.toml | $(VENV)/.created
	@echo "Installing extractbench-nb with what the checks need (a minute or two the first time)"
	$(install)
	@touch $(VENV)/.installed $@

$(VENV)/.installed-bench: extras := [dev,notebook,bench]
$(VENV)/.installed-bench: pyproject.toml | $(VENV)/.created
	@echo "Installing extractbench-nb with what the benchmarks compare against"
	$(install)
	@touch $(VENV)/.installed $(VENV)/.installed-dev $@
