# Every target makes its own virtual environment; run twice, the second time is quick.
PYTHON ?= python3
VENV := .venv
PEER := .venv-peer
SAMPLERS := .venv-samplers
RUN := $(VENV)/bin/python

.PHONY: setup demo test quick lint docs bench study reproduce clean

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

demo: setup            ## a simulated world, its answers and a report about them in demo/
	$(RUN) -m tercet demo --out demo

test: setup            ## all tests, on two processes; each file stays on one
	$(RUN) -m pytest -n 2 --dist loadfile --no-loadscope-reorder

quick: setup           ## the tests that are not marked slow: what to run after every edit
	$(RUN) -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow"

lint: setup            ## style and types
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

docs: setup            ## the documentation site in build/docs, its examples run
	$(VENV)/bin/sphinx-build -W --keep-going -q -b html docs build/docs
	@echo "The site: build/docs/index.html"

$(PEER)/.installed:
	$(PYTHON) -m venv $(PEER)
	$(PEER)/bin/pip install --quiet --disable-pip-version-check "cblearn==0.4.0" "numpy<2"
	touch $@

$(SAMPLERS)/.installed:
	$(PYTHON) -m venv $(SAMPLERS)
	$(SAMPLERS)/bin/pip install --quiet --disable-pip-version-check "numpyro==0.22.0" "blackjax==1.7.1" "arviz-stats>=0.6"
	touch $@

bench: setup $(PEER)/.installed $(SAMPLERS)/.installed   ## ours beside the peers, in one table
	$(RUN) -m benchmarks --out docs/benchmarks.md

study: setup           ## slow statistical studies: are the uncertainties true, and which start is best
	$(RUN) -m studies calibration coverage recommended human sbc --out docs/calibration.md
	$(RUN) -m studies choices ties models published --out docs/choices.md
	$(RUN) -m studies abstain dimension active --out docs/uses.md
	$(RUN) -m studies convergence music sparse --out docs/convergence.md
	$(RUN) -m studies kills
	$(RUN) -m benchmarks line

reproduce: setup       ## every figure and claim of the paper, and the page about them; an hour or two
	$(VENV)/bin/tercet reproduce --full --out reproduction
	mkdir -p docs/images/reproduction
	cp reproduction/*.png docs/images/reproduction/
	sed 's#](\([a-z0-9_]*\.png\))#](images/reproduction/\1)#' reproduction/reproduction.md > docs/reproduction.md

clean:
	rm -rf $(VENV) $(PEER) $(SAMPLERS) demo build docs/examples
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
