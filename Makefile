# make demo   imagine the first picture
# make test   everything CI checks
# make help   the rest

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

# Tests start many interpreters: compile the modules once, not in each of them.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo studio test lint types unit test-studio docs bench clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("mindseye needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV) (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all]' $(DEV)
	@touch $@

# Kept in step with [dependency-groups] by tests/test_repository.py; old pips do not know --group.
DEV := axe-playwright-python basedpyright httpx2 hypothesis playwright pytest pytest-timeout pytest-xdist ruff safetensors schemathesis scipy zuko

demo: $(READY)  ## imagine a big 4 with the built-in model
	@$(BIN)/mindseye imagine "digit=4, size=big"

studio: $(READY)  ## open the page
	@$(BIN)/mindseye studio

test: lint types unit test-studio  ## lint, types, doctests, docs, tests, the page in Chromium

lint: $(READY)  ## check style
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(READY)  ## check types
	@$(BIN)/basedpyright --level error

unit: $(READY)  ## run the tests
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not browser"

test-studio: $(READY)  ## click through the page in a real Chromium
	@sh tests/browser/chromium.sh
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadfile -m browser tests/browser

docs: $(READY)  ## write the generated pages of docs/
	@$(BIN)/python docs/generate.py

bench: $(READY)  ## run the benchmarks
	@for script in benchmarks/*.py; do $(BIN)/python $$script || exit 1; done

clean:  ## remove what make installed
	rm -rf $(VENV)
