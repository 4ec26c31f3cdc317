# `make train` and `make test` do all the set-up they need from a bare machine with Python 3.11 to 3.13.

PYTHON ?= $(firstword $(foreach p,python3.11 python3.12 python3.13 python3,$(if $(shell $(p) -c 'import sys; print(1 if (3,11) <= sys.version_info < (3,14) else "")' 2>/dev/null),$(p))))
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --no-input -q
SOURCES := sandboxes rewards grpo_envs trainers tests benchmarks examples
ARGS   ?=

.PHONY: train test test-sandboxes lint unit bench clean constraints help
.DEFAULT_GOAL := help

help: ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/'

train: $(VENV)/.train ## install, then train a policy with GRPO on CPU and show its reward rising (ARGS="…" is passed on)
	$(BIN)/grpo-envs train grpo_envs/MathTools-v0 $(ARGS)

test: lint unit ## install, then run every check: ruff, mypy, import order, tests, doctests

lint: $(VENV)/.dev ## ruff, mypy --strict, import order
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(VENV)/.dev ## tests and doctests only
	$(BIN)/python -m pytest -q $(ARGS)

test-sandboxes: $(VENV)/.dev ## tests that run untrusted programs and attack the sandboxes (unfinished: issue 3)
	GRPO_ENVS_SANDBOX_TESTS=1 $(BIN)/python -m pytest -q tests/sandboxes tests/rewards/code tests/grpo_envs/code $(ARGS)

bench: $(VENV)/.dev ## every benchmark, one JSON line each
	@for b in benchmarks/[a-z]*.py; do echo "== $$b"; $(BIN)/python $$b | tail -n 1; done

constraints: ## write constraints.txt from a fresh resolution
	rm -rf .venv-fresh && $(PYTHON) -m venv .venv-fresh
	.venv-fresh/bin/python -m pip install -q torch==2.13.0
	.venv-fresh/bin/python -m pip install -q -e '.[server,mcp,docker,train,gym,dev]'
	{ echo '# Exact versions that `make train` and `make test` install. Refresh with `make constraints`.'; \
	  .venv-fresh/bin/python -m pip freeze --exclude-editable | sed 's/^torch==.*/torch==2.13.0/' | grep -v '^certifi=='; } > constraints.txt
	rm -rf .venv-fresh

clean: ## remove what the build made
	rm -rf $(VENV) .venv-fresh build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache runs

$(VENV)/.base: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed; name it with PYTHON=/path/to/python"; exit 3; }
	@echo "setting up $(VENV) with $(PYTHON)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@# torch first and pinned: left to the resolver, it brings gigabytes of accelerator libraries
	@$(PIP) install -c constraints.txt torch==2.13.0
	@touch $@

$(VENV)/.train: $(VENV)/.base
	@$(PIP) install -c constraints.txt -e '.[train]'
	@touch $@

$(VENV)/.dev: $(VENV)/.base
	@$(PIP) install -c constraints.txt -e '.[train,server,mcp,gym,dev]'
	@touch $@ $(VENV)/.train
