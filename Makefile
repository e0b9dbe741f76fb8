# Everything below sets itself up: a virtual environment in .venv, and Java where Spark needs it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help demo test test-all lint format bench docs clean java

help:  ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(STAMP)  ## Watch Rheostat hold an SLA while the load rises, spikes and falls
	$(BIN)/rheostat demo

test: $(STAMP)  ## The tests that CI runs, in two processes: one has the Spark cluster
	$(BIN)/pytest -m "not slow" --numprocesses 2

test-all: $(STAMP)  ## Every test, the slow ones too
	$(BIN)/pytest

lint: $(STAMP)  ## Formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(STAMP)  ## Let ruff mend what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(STAMP)  ## The benchmarks, as ratios between alternatives
	$(BIN)/python -m bench

docs: $(STAMP)  ## The documentation as a site, in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

java:
	@scripts/ensure-java

$(STAMP): pyproject.toml | java
	@scripts/make-venv "$(PYTHON)" "$(VENV)"
	@touch $(STAMP)

clean:  ## Remove the virtual environment and everything built
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
