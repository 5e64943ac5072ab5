# `make demo` and `make test` need Python 3.11 or newer and make, nothing else.
PYTHON ?= python3
VENV := .venv
EXTRAS := .venv-extras
BIN := $(VENV)/bin
PARALLEL := -n 2 --dist worksteal
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo demo-classifier demo-vlm docs wheel-check check test test-extras coverage campaign \
	lint types pytest clean

$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(INSTALL) --editable '.[dev]'
	touch $@

demo: $(VENV)/.core  ## hunt a model that comes with the package and say where the report is
	$(BIN)/failscape demo

demo-classifier demo-vlm: demo-%: $(VENV)/.core  ## the same for an image classifier, or a vision-language model
	$(BIN)/failscape demo $*

docs: $(VENV)/.dev  ## the site, from the pages in docs/ and the code; a link that leads nowhere is an error
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_site

wheel-check: $(VENV)/.dev  ## build the wheel and run all demos from it, by pipx or in a bare environment
	rm -rf dist
	$(BIN)/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	$(BIN)/python -m tools.wheel_check dist/failscape-*.whl

check: lint types $(VENV)/.dev  ## the fast part: lint, types, unit tests
	$(BIN)/pytest $(PARALLEL) tests/unit

test: lint types pytest  ## everything that must pass

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

pytest: $(VENV)/.dev
	$(BIN)/pytest $(PARALLEL) --durations=15

coverage: $(VENV)/.dev  ## which lines the unit tests run; measuring doubles their time
	$(BIN)/pytest $(PARALLEL) --cov --cov-report=term:skip-covered tests/unit

campaign: $(VENV)/.dev  ## play many planted worlds and compare what is found with the committed table; not in CI
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.campaign

$(EXTRAS)/.all: pyproject.toml constraints.txt
	test -x $(EXTRAS)/bin/python || $(PYTHON) -m venv $(EXTRAS)
	$(EXTRAS)/bin/pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[dev,diffusers,transformers,rl,ray,export,repair,train,ocr,video]'
	touch $@

# One torch thread a process: two processes share two cores.
test-extras: $(EXTRAS)/.all  ## the tests that need an extra, in an environment that has all of them
	$(EXTRAS)/bin/python -c "import torch, transformers, diffusers, trl, peft, ray, pyarrow, onnx, rapidocr, av"
	OMP_NUM_THREADS=1 $(EXTRAS)/bin/pytest -m extra -n 2 --dist loadgroup --durations=15

clean:
	rm -rf $(VENV) $(EXTRAS) docs/_site build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
