# Every target sets up what it needs in .venv: the exact versions in requirements/, which `make lock`
# writes, and again only when these change.
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
# More options of pytest for `make unit`.
OPTIONS :=
# Tests of pages in a browser, of speed measurements, documents, wheels and gates: only in `make test-all`.
REST := $(addprefix tests/,benchmarks browser docs gates notebooks packaging)
PIP := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check
UV := $(BIN)/python -m uv pip
RESOLVE := $(UV) compile --quiet --no-header --no-annotate --no-emit-index-url
LOCK := $(RESOLVE) --universal --python-version 3.11 --upgrade

# $(call install,FILE): installs the versions that a file names, then the package for whoever edits it.
# uv does in seconds what takes pip a minute. It does not read pip's configuration: where it fails, e.g.
# because only that names a package index, pip does it. All cores compile what many processes import.
define install
	@$(PIP) install --requirement requirements/install.txt
	@$(UV) install --quiet --python $(BIN)/python --requirement $(1) || { \
		echo "uv could not install it; now with pip"; $(PIP) install --no-compile --requirement $(1); }
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib extractbench_nb || true
	@touch $@
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

.PHONY: help demo lab test test-all test-newest test-lowest lint types imports unit rest notebooks docs bench \
	format lock clean

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(VENV)/.demo  ## evaluate the sample dataset's model outputs and print the scores
	@$(BIN)/python examples/demo.py

# JupyterLab removes style sheets and pictures from notebooks that nobody on this machine has trusted.
lab: $(VENV)/.lab  ## trust the notebooks of this repository and open them in JupyterLab
	@$(BIN)/jupyter trust notebooks/*.ipynb
	@$(BIN)/jupyter lab notebooks/00_quickstart.ipynb

test: $(VENV)/.test  ## lint, types, imports, tests, and all notebooks; the short ones beside the tests
	@$(MAKE) --keep-going --jobs=2 lint types imports unit
	@$(MAKE) notebooks

test-all:  ## every check: `make test`, then `make rest`
	@$(MAKE) --keep-going test rest

# Each in a new environment, on the interpreter that PYTHON names.
test-newest:  ## tests and notebooks with the newest versions that pyproject.toml allows
	rm -rf .venv-newest
	@$(MAKE) --keep-going unit notebooks VENV=.venv-newest RESOLUTION=highest

# Pages of older front ends, and printed frames of older pandas, look otherwise.
test-lowest:  ## tests, without browser and notebooks, with the lowest versions that pyproject.toml allows
	rm -rf .venv-lowest
	@$(MAKE) unit VENV=.venv-lowest RESOLUTION=lowest-direct

lint: $(VENV)/.test  ## ruff: rules and formatting
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(VENV)/.test  ## mypy, strict, on the package
	$(BIN)/mypy

imports: $(VENV)/.test  ## the walls between the rooms
	$(BIN)/lint-imports

PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart=2 \
	--benchmark-disable -p no:nbval

unit: $(VENV)/.test  ## tests and doctests, without those of `make rest`
	$(PYTEST) $(addprefix --ignore=,$(REST)) $(OPTIONS)

rest: $(VENV)/.test docs  ## the documentation; tests of pages, documents, wheels and gates; benchmarks, untimed
	$(PYTEST) $(REST)

notebooks: $(VENV)/.test  ## execute all notebooks again and compare every output
	env -u EXTRACTBENCH_RUNS $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --nbval --nbval-current-env \
		--nbval-cell-timeout=600 --nbval-kernel-startup-timeout=600 \
		--nbval-sanitize-with=notebooks/nbval.cfg notebooks/*.ipynb

docs: $(VENV)/.docs  ## build the documentation in build/site; a warning is an error
	$(BIN)/python -m sphinx -c docs -b html -W --keep-going -q -d build/doctrees . build/site

bench: $(VENV)/.bench  ## timed benchmarks, beside extract-bench and stickler-eval
	$(BIN)/python -m pytest tests/benchmarks --benchmark-only --benchmark-columns=min,median,rounds

format: $(VENV)/.test  ## apply ruff's fixes and formatting
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: $(VENV)/.created  ## resolve the newest versions for all targets and Pythons into requirements/
	@$(PIP) install uv
	$(LOCK) --group install --output-file requirements/install.txt
	$(LOCK) pyproject.toml --extra all --group bench --output-file requirements/bench.txt
	$(LOCK) pyproject.toml --constraint requirements/bench.txt --output-file requirements/demo.txt
	$(LOCK) pyproject.toml --extra all --group test --constraint requirements/bench.txt \
		--output-file requirements/test.txt
	$(LOCK) pyproject.toml --extra all --group docs --constraint requirements/bench.txt \
		--output-file requirements/docs.txt

clean:  ## remove environments, caches and build output
	rm -rf .venv .venv-* build dist .benchmarks .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.created:
	@"$(PYTHON)" -c '$(NEW_ENOUGH)' >/dev/null 2>&1 || { \
		found="$$("$(or $(PYTHON),python3)" --version 2>/dev/null || true)"; \
		echo "error: Python 3.11 or newer is needed, found: $${found:-none}." \
			"Install one, or name it: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Setting up $(VENV) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv $(VENV)
	@touch $@

$(VENV)/.demo $(VENV)/.docs $(VENV)/.bench: $(VENV)/.%: requirements/install.txt requirements/%.txt | $(VENV)/.created
	@echo "Installing what make $* needs"
	$(call install,requirements/$*.txt)

# The extra with the versions of `make test`.
$(VENV)/.lab: requirements/install.txt requirements/test.txt | $(VENV)/.created
	@echo "Installing what make lab needs"
	@$(PIP) install --requirement requirements/install.txt
	@$(UV) install --quiet --python $(BIN)/python --constraint requirements/test.txt \
		--no-build-isolation --editable '.[notebook]' || \
		$(PIP) install --constraint requirements/test.txt --no-build-isolation --editable '.[notebook]'
	@touch $@

ifndef RESOLUTION
$(VENV)/.test: requirements/install.txt requirements/test.txt | $(VENV)/.created
	@echo "Installing what make test needs (a minute or two the first time)"
	$(call install,requirements/test.txt)
	@touch $(VENV)/.demo $(VENV)/.docs $(VENV)/.lab
else  # `highest` or `lowest-direct` versions within the ranges, of wheels only: an old source may not build
$(VENV)/.test: pyproject.toml requirements/install.txt | $(VENV)/.created
	@$(PIP) install --requirement requirements/install.txt
	@$(RESOLVE) --resolution $(RESOLUTION) --only-binary :all: --python $(BIN)/python pyproject.toml \
		--extra all --group test --output-file $(VENV)/requirements.txt
	$(call install,$(VENV)/requirements.txt)
endif
