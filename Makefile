.DEFAULT_GOAL := help
.PHONY: help demo test lint types contracts unit format tools

# The first interpreter of a tested version; `make PYTHON=… test` chooses another.
in_range := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,\
	$(shell $(p) -c '$(in_range)' 2>/dev/null && echo $(p))) python3)
BIN := .venv/bin

help:  ## show this list
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: .venv/.stamp  ## build the sample project, twice, and look at its lake
	@$(BIN)/python scripts/demo.py

test: lint types contracts unit  ## everything that CI checks

lint: .venv/.stamp  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.stamp  ## static types
	$(BIN)/mypy

contracts: .venv/.stamp  ## who may import whom
	$(BIN)/lint-imports --no-logo

unit: .venv/.stamp  ## the tests alone
	$(BIN)/python -m pytest -q -n 2 --dist loadgroup

format: .venv/.stamp  ## rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.venv/.stamp: pyproject.toml | tools
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

tools:
	@$(PYTHON) scripts/check_tools.py
