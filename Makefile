# Two commands matter: `make run` (the whole system on the embedded sample world) and `make test`.
# Settings are read by `ldg`, never by make or a shell: a variable of the shell, then the home's .env, then ./.env.
PYTHON ?= $(or $(shell command -v python3.11),python3)
PORT ?= 3000
BIN := .venv/bin
# More workers than processors: many tests wait for a server, a daemon or a deadline. tests/conftest.py puts the
# longest first, so the order of collection is the order of work. Code is compiled once, not by every process.
# A worker that dies ends the run: where another takes its place, xdist waits for ever for tests of its groups.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist loadgroup --no-loadscope-reorder --max-worker-restart 0
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# $(call step,what,command): a step of the setup, with the seconds it took.
define step
@printf '%s ... ' '$(1)'; began=$$(date +%s); $(2) && echo "$$(($$(date +%s) - began)) s"
endef
INSTALL := $(BIN)/pip install --quiet

.PHONY: run test test-fast golden coverage dev lint bench reproduce postgres cluster s3

run: .venv/.ready-run
	export LDG_HOME="$${LDG_HOME:-data/sample}"; $(BIN)/ldg sample && exec $(BIN)/ldg run

# The paper's tables on the paper's data: make reproduce DATA=<folder with github_2013 and social_evolution>.
reproduce: .venv/.ready-run
	$(if $(DATA),,$(error DATA names the folder with github_2013 and social_evolution: make reproduce DATA=…))
	export LDG_HOME="$${LDG_HOME:-data/paper}"; exec $(BIN)/ldg reproduce "$$DATA"

test: lint
	$(PYTEST)

# What needs no run of the whole system, no browser and no real data.
test-fast: .venv/.ready-dev
	$(PYTEST) --ignore=tests/end_to_end --ignore=tests/browser -m "not (real_data or slow)"

# Every result of the sample world, of a followed fortnight and of real data, compared with stored digests: for
# refactorings. `make golden UPDATE=--update` stores them.
golden: .venv/.ready-dev
	$(BIN)/python -m tests.golden $(UPDATE)

# Measured apart: it makes the suite slower.
coverage: .venv/.ready-dev
	$(PYTEST) --cov --cov-report=term

# What LDG_STORE=postgresql://… needs: runs and schedules in a database instead of SQLite files.
postgres: .venv/.ready-postgres

# What LDG_CLUSTER=tcp://… needs: days read and models trained on several machines.
cluster: .venv/.ready-cluster

# What LDG_STORAGE=s3://… needs: storage that several machines share.
s3: .venv/.ready-s3

dev: .venv/.ready-run
	exec $(BIN)/ldg dev --port "$(PORT)"

lint: .venv/.ready-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/ty check

bench: .venv/.ready-dev
	$(BIN)/python -m benchmarks

# Everything comes with a hash that must fit, except torch: machines have builds of their own of it (for processors
# alone, say), whose hash is not the registry's. A stamp is touched last: an installation that was cut short is
# done again.
.venv/.ready-run: pyproject.toml constraints.txt requirements-run.txt
	@found=$$($(PYTHON) -c 'import sys; print("Python %d.%d" % sys.version_info[:2])' 2>/dev/null); \
	case "$$found" in "Python 3.11" | "Python 3.12") ;; *) echo "$(PYTHON) is $${found:-no Python}; the project needs \
	Python 3.11 or 3.12. Name one: make $(or $(MAKECMDGOALS),run) PYTHON=python3.11" >&2; exit 1;; esac
	@echo 'Setting up .venv, once; downloads aside, this takes two to three minutes.'
	$(call step,Creating .venv,$(PYTHON) -m venv .venv)
	$(call step,Installing packages,$(INSTALL) --require-hashes --no-deps -r requirements-run.txt)
	$(call step,Installing torch,$(INSTALL) -c constraints.txt torch)
	$(call step,Installing the project,$(INSTALL) --no-deps --no-build-isolation -e .)
	$(call step,Compiling the statistics of REM (about 50 s),$(BIN)/python -m model.history)
	$(call step,Compiling the engine for large networks (about 40 s),$(BIN)/python -m model.large)
	$(call step,Compiling the waiting times (about 10 s),$(BIN)/python -m model.when)
	@touch $@

.venv/.ready-postgres: .venv/.ready-run requirements-postgres.txt
	$(call step,Installing the PostgreSQL driver,$(INSTALL) --require-hashes --no-deps -r requirements-postgres.txt)
	@touch $@

.venv/.ready-cluster: .venv/.ready-run requirements-cluster.txt
	$(call step,Installing Dask,$(INSTALL) --require-hashes --no-deps -r requirements-cluster.txt)
	@touch $@

.venv/.ready-s3: .venv/.ready-run requirements-s3.txt
	$(call step,Installing the S3 client,$(INSTALL) --require-hashes --no-deps -r requirements-s3.txt)
	@touch $@

.venv/.ready-dev: .venv/.ready-postgres .venv/.ready-cluster .venv/.ready-s3 requirements-dev.txt
	$(call step,Installing the tools of developers,$(INSTALL) --require-hashes --no-deps -r requirements-dev.txt)
	@touch $@
