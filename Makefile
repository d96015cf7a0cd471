# Every target makes its own virtual environment; run twice, the second time is quick.
PYTHON ?= python3
VENV := .venv
PEER := .venv-peer
RUN := $(VENV)/bin/python

.PHONY: setup demo test lint bench study clean

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

demo: setup            ## a simulated world, its map and a report in demo/
	$(RUN) -m tercet.demo --out demo

test: setup            ## all tests
	$(RUN) -m pytest

lint: setup            ## style and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

$(PEER)/.installed:
	$(PYTHON) -m venv $(PEER)
	$(PEER)/bin/pip install --quiet --disable-pip-version-check "cblearn==0.4.0" "numpy<2"
	touch $@

bench: setup $(PEER)/.installed   ## ours beside cblearn, in one table
	$(RUN) -m benchmarks --out docs/benchmarks.md

study: setup           ## slow statistical studies: which start finds the best one-dimensional scale
	$(RUN) -m benchmarks line

clean:
	rm -rf $(VENV) $(PEER) demo
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
