# Two commands matter: `make run` (the whole system on the embedded sample world) and `make test`.
PYTHON ?= $(or $(shell command -v python3.11),python3)
LDG_HOME ?= data
PORT ?= 3000
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Each home keeps its own run history; dagster.yaml says so.
export DAGSTER_HOME := $(CURDIR)
export LDG_HOME
export LDG_DAGSTER_STORAGE = $(abspath $(LDG_HOME))/dagster

.PHONY: run test dev lint bench reproduce

run: LDG_HOME := data/sample
run: .venv/.ready-run
	$(BIN)/python -m pipeline.sources.sample $(LDG_HOME)
	set -a; . ./$(LDG_HOME)/.env; exec $(BIN)/python -m assets

# The paper's tables on the paper's data: make reproduce DATA=<folder with github_2013 and social_evolution>.
# The home's .env goes before the shell: what was begun with some settings goes on with them.
reproduce: LDG_HOME := data/paper
reproduce: .venv/.ready-run
	$(if $(DATA),,$(error DATA names the folder with github_2013 and social_evolution: make reproduce DATA=…))
	$(BIN)/python -m pipeline.sources.paper "$(DATA)" $(LDG_HOME)
	set -a; . $(abspath $(LDG_HOME))/.env; $(BIN)/python -m assets
	$(BIN)/python -m pipeline.show.results_page $(LDG_HOME)

test: lint
	$(BIN)/python -m pytest -n 2 --dist loadgroup

dev: .venv/.ready-run
	mkdir -p $(LDG_DAGSTER_STORAGE)
	set -a; if [ -f $(LDG_HOME)/.env ]; then . $(abspath $(LDG_HOME))/.env; fi; \
	exec $(BIN)/dagster dev --host 127.0.0.1 --port $(PORT)

lint: .venv/.ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/ty check

bench: .venv/.ready-dev
	$(BIN)/python -m benchmarks

# A stamp is touched last: an installation that was cut short is done again.
.venv/.ready-run: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt -e .
	touch $@

.venv/.ready-dev: .venv/.ready-run
	$(BIN)/pip install --quiet -c constraints.txt -e '.[dev]'
	touch $@
