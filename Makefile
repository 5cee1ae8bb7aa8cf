# Attractor: every job of the repository, one target each.

# Another Python beside this one: make test VENV=.venv-3.14 PYTHON=python3.14
VENV ?= .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.attractor-setup
DEMO := $(VENV)/.attractor-demo
export VENV
export PYTHONDONTWRITEBYTECODE :=

COMPILED := $(shell sed -n '/^compiled = \[/,/^]/s/^ *"\(.*\)",$$/\1/p' pyproject.toml)

.DEFAULT_GOAL := help
.PHONY: help setup demo test coverage static check docs bench nightly interpreted lock sbom release format clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | awk -F'|' '{printf "  make %-11s %s\n", $$1, $$2}'

setup: $(STAMP) ## Create .venv, install pinned dependencies, build the native parts
$(STAMP): pyproject.toml constraints.txt requirements.lock setup.py tools/setup $(wildcard src/attractor/check/engine/kernel/*.[ch]) $(COMPILED)
	@bash tools/setup
	@touch $(STAMP)

$(DEMO): pyproject.toml requirements.lock setup.py tools/setup
	@bash tools/setup demo
	@touch $(DEMO)

demo: $(if $(wildcard $(STAMP)),setup,$(DEMO)) ## Run an operator, break its naive version, prove the right one
	@$(PY) -m attractor demo

test: setup ## Run every test
	$(PY) -m pytest -q -n 2 --dist worksteal tests -m "not nightly"

coverage: setup interpreted ## Measure coverage, on interpreted modules (make setup compiles them again)
	@rm -f $(STAMP)
	$(PY) -m pytest -q -n 2 --dist worksteal --cov --cov-report=term tests -m "not nightly"

static: setup ## Check format, lint, types and import contracts; CI and check run it
	$(VENV)/bin/ruff format --check -q
	$(VENV)/bin/ruff check -q
	$(VENV)/bin/mypy
	$(VENV)/bin/pyright
	$(VENV)/bin/lint-imports

check: static ## Quick gate: static, tidy and the fast tests
	$(PY) -m pytest -q -n 2 -m "not slow and not nightly" tests

docs: setup ## Build the documentation as a site, strictly: build/site/index.html
	@PYTHONPATH=src NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

bench: setup ## Run the benchmarks; JSON on stdout
	@$(PY) benchmarks/run.py

nightly: setup ## Run the long tests too
	$(PY) -m pytest -n 2 --timeout 3600 tests

interpreted: ## Remove the compiled Python: what you edit runs at once (make setup compiles what you edited)
	find src -name '*.so*' ! -name '_kernel*' ! -name '_closure*' -delete

lock: setup ## Write requirements.lock: the digests of all pinned dependencies
	$(PY) tools/lock.py

sbom: setup ## Write dist/attractor.cdx.json: a CycloneDX bill of materials of a release
	$(PY) tools/sbom.py dist/attractor.cdx.json

release: setup ## Build sdist, manylinux wheel, bill of materials and digests into dist (VENV names the Python)
	$(PY) tools/release.py

format: setup ## Format and fix what can be fixed
	$(VENV)/bin/ruff format
	$(VENV)/bin/ruff check --fix

clean: ## Remove what the other targets made
	rm -rf .venv .venv-* build dist .coverage .hypothesis .pytest_cache .mypy_cache .ruff_cache src/*.egg-info
	find src -name '*.so*' -delete
