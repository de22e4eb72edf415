# oneroof: `make demo` shows it, `make test` proves it, `make help` lists the rest.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# Bytecode is kept whatever the shell says: the tests start many interpreters, and each would compile all anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test fast check bench soak golden clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "oneroof needs Python 3.11 or newer; call make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable .
	$(BIN)/python -m compileall -q src
	@touch $@

demo: $(STAMP) ## an embedded PostgreSQL, a simulated estate of a million objects, oneroof on top
	$(BIN)/oneroof demo $(ARGS)

test: $(STAMP) ## every test on the newest PostgreSQL, those of SQL also on an older one
	$(BIN)/python -m pytest -n 3 --dist worksteal --pg all $(ARGS)

fast: $(STAMP) ## the tests to run while editing, in about half a minute, on PostgreSQL 18
	$(BIN)/python -m pytest -q -n 2 --dist worksteal -m "not slow" $(ARGS)

check: $(STAMP) ## ruff, mypy strict, migration lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/squawk --config .squawk.toml src/oneroof/sql/migrations/*.up.sql

bench: $(STAMP) ## ratios against the limits that PostgreSQL itself sets
	$(BIN)/python -m bench $(ARGS)

soak: $(STAMP) ## the heavy runs: the full estate, kills and races, again and again
	$(BIN)/python -m pytest -q -n 2 --pg all --soak $(ARGS)

golden: $(STAMP) ## write the golden schema dump and the reference anew, after a deliberate change
	$(BIN)/python -m pytest -q tests/migration/test_golden.py tests/docs --write-golden

clean: ## remove the environment and the caches (never the data folder)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
