# Every target sets up what it needs; a fresh clone needs only Python (3.11 or newer) and make.

PYTHON ?= python3
PYTEST_ARGS ?=

BIN := .venv/bin
BENCH := .venv-bench/bin

# A stamp file says that its extra is installed. It is older than pyproject.toml when the
# dependencies may have changed; then pip runs again.
PACKAGE := .venv/package.stamp
TEST := .venv/test.stamp
LINT := .venv/lint.stamp
PEERS := .venv-bench/bench.stamp
DOORS := .venv-doors/doors.stamp
DOCS := .venv-docs/docs.stamp

# Installing compiles the kernels. When one was changed, they are compiled again.
MACHINE := src/calibrant/engine/machine/index.json

# Two installs into one environment at a time would break it.
.NOTPARALLEL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
.PHONY: help docs search demo test test-all test-versions test-doors fuzz faults lint bench peers conventions paper release-check sbom clean package-env test-env lint-env bench-env

help: ## Say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(PACKAGE) $(MACHINE) ## Evaluate predictions that come with the package: a table here, and a report
	$(BIN)/calibrant demo

# Several processes with one thread each: threads of their own would wait for each other. Tests of
# what threads change choose their number. Tests of a file share what it makes, and a cluster, so they
# run in one process. PYTEST_ARGS="-n 0" chooses one.
ONE_THREAD := CALIBRANT_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 POLARS_MAX_THREADS=1
test: $(TEST) $(MACHINE) ## Run the tests and the examples in docstrings
	$(ONE_THREAD) $(BIN)/python -m pytest -n auto --maxprocesses=4 --dist loadfile $(PYTEST_ARGS)

test-all: export TESTS := all
test-all: test ## Do so with all recorded bits, and more data sets in tests of chance

# PYTHONS="3.11 3.13" chooses some.
PYTHONS ?= 3.11 3.12 3.13 3.14
test-versions: $(PACKAGE) ## Test with each Python that is here, with the oldest and the newest dependencies
	$(BIN)/python .ci/versions.py --pythons $(PYTHONS)

# Frameworks are large, and nobody needs them for anything else: an environment of their own.
test-doors: $(DOORS) $(MACHINE) ## Test doors with the real packages: torchmetrics, Lightning, transformers, logs, Excel
	$(ONE_THREAD) .venv-doors/bin/python -m pytest tests/doors $(PYTEST_ARGS)

# SEED=7 COUNT=1000 gives the same files and calls again; each kind of file has so many.
SEED ?= $(shell date +%s)
COUNT ?= 1000
fuzz: $(TEST) $(MACHINE) ## Load mutated files, write odd ones again, make odd calls, and say the same in other words
	@echo "SEED=$(SEED) COUNT=$(COUNT)"
	$(BIN)/python -W ignore tests/loading/fuzzing.py $(SEED) $(COUNT) 2>fuzz.log || (tail -n 3 fuzz.log; exit 1)
	$(BIN)/python -W ignore tests/loading/round_trips.py $(SEED) $(COUNT) 2>fuzz.log || (tail -n 3 fuzz.log; exit 1)
	$(BIN)/python -W ignore tests/odd_calls.py $(SEED) $(COUNT) 2>fuzz.log || (tail -n 3 fuzz.log; exit 1)
	LAWS_SEED=$(SEED) LAWS_SETS=100 $(BIN)/python -m pytest -q tests/test_metamorphic.py

# Linux only: a library before that of C lets operations fail.
faults: $(TEST) $(MACHINE) ## Let every file operation of the command fail in turn, and every large allocation
	$(BIN)/python tests/faults/inject.py
	$(BIN)/python tests/faults/inject.py --lasting
	$(BIN)/python tests/faults/inject.py --memory

lint: $(LINT) ## Check style, types, layers and spelling
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/codespell

bench: $(PEERS) $(MACHINE) ## Measure speed and memory against other libraries; writes docs/benchmarks.md
	$(BENCH)/python -m benchmarks

peers: $(PEERS) ## Show where other software differs from its definition; writes docs/peers.md
	$(BENCH)/python -m benchmarks.definitions

conventions: $(PEERS) $(MACHINE) ## Compare conventions with the software that they are named after; writes docs/conventions.md
	$(BENCH)/python -m benchmarks.conventions

paper: $(PACKAGE) $(MACHINE) ## Redo the paper from the committed predictions; writes docs/paper.md
	$(BIN)/python -m experiments.paper

docs: $(DOCS) $(MACHINE) ## Build the site, which works offline: build/docs/index.html
	.venv-docs/bin/python -m sphinx -W --keep-going -b html docs build/docs

search: docs $(TEST) ## Search that site in a browser for what docs/questions.md lists
	$(BIN)/python tests/searches.py build/docs

# What goes to an index: the wheel's tag must be true, and it must work where nothing else is installed.
RELEASE := build/release
release-check: ## Build the source archive and the wheel, and try them in empty environments
	rm -rf $(RELEASE) && $(PYTHON) -m venv $(RELEASE)/tools && $(PYTHON) -m venv $(RELEASE)/empty
	$(RELEASE)/tools/bin/python -m pip install --quiet build auditwheel twine 'readme-renderer[md]'
	$(RELEASE)/tools/bin/python -m build --outdir $(RELEASE)
	$(RELEASE)/tools/bin/twine check --strict $(RELEASE)/*.whl $(RELEASE)/*.tar.gz
	$(RELEASE)/tools/bin/auditwheel show $(RELEASE)/*.whl | tee $(RELEASE)/audit.txt
	$(PYTHON) .ci/tag.py $(RELEASE)
	$(RELEASE)/empty/bin/python -m pip install --quiet $(RELEASE)/*.whl
	cd $(RELEASE) && empty/bin/calibrant demo && empty/bin/calibrant --version
	cd $(RELEASE) && MPLBACKEND=agg empty/bin/python -m doctest -o NORMALIZE_WHITESPACE -o ELLIPSIS \
		../../README.md ../../docs/start.md ../../docs/guide/*.md
	$(RELEASE)/empty/bin/python .ci/sbom.py $(RELEASE)/calibrant.cdx.json

sbom: $(PACKAGE) ## Write which distributions, loops and predictions the environment has: build/calibrant.cdx.json
	mkdir -p build && $(BIN)/python .ci/sbom.py build/calibrant.cdx.json

clean: ## Remove environments, caches and build outputs
	rm -rf .venv .venv-bench .venv-doors .venv-docs docs/gallery docs/reference .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -rf .import_linter_cache build dist src/calibrant/engine/machine
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

package-env: $(PACKAGE)
test-env: $(TEST)
lint-env: $(LINT)
bench-env: $(PEERS)

# $(1): the environment. A version check first, since pip's own message comes late.
define create
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed; make PYTHON=/path/to/python chooses one.")'
	test -x $(1)/bin/pip || $(PYTHON) -m venv $(1)
endef

$(PACKAGE): pyproject.toml
	$(call create,.venv)
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(TEST): pyproject.toml
	$(call create,.venv)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@ $(PACKAGE)

$(LINT): pyproject.toml
	$(call create,.venv)
	$(BIN)/python -m pip install --quiet --editable '.[lint]'
	@touch $@ $(PACKAGE)

$(MACHINE): $(wildcard src/calibrant/engine/*.py)
	$(firstword $(wildcard $(BIN)/python $(BENCH)/python .venv-doors/bin/python .venv-docs/bin/python)) -m pip install --quiet --no-deps --editable .
	@touch $@

$(DOORS): pyproject.toml
	$(call create,.venv-doors)
	.venv-doors/bin/python -m pip install --quiet --editable '.[doors]'
	@touch $@

$(DOCS): pyproject.toml
	$(call create,.venv-docs)
	.venv-docs/bin/python -m pip install --quiet --editable '.[docs]'
	@touch $@

# An environment of its own, so that other libraries never decide which versions we are tested with.
$(PEERS): pyproject.toml
	$(call create,.venv-bench)
	$(BENCH)/python -m pip install --quiet --editable '.[bench]'
	@touch $@
