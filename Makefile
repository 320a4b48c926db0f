# Two commands matter: `make run` (the whole system on the embedded sample world) and `make test`.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export DAGSTER_DISABLE_TELEMETRY := 1

$(VENV)/.ready-run: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet -c constraints.txt -e .
	touch $@

$(VENV)/.ready-dev: $(VENV)/.ready-run
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@

.PHONY: lint
lint: $(VENV)/.ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/ty check
