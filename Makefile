.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
UV_VERSION := 0.13.8
STAMP := .venv/.installed

help: ## what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: $(STAMP) ## start everything and keep it running; Ctrl-C ends it
	@exec $(BIN)/python manage.py up

test: $(STAMP) ## the gate: format, lint, types, import rules, migrations, tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	BATCHBOARD_DATA_DIR=.data/check $(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python -m pytest -n 2 -m "not processes"
	$(BIN)/python -m tests.on_postgres -n 2 -m "not processes" tests/domain tests/engine
	$(BIN)/python -m pytest -n 3 --dist worksteal -m "processes and not timed" tests/acceptance
	$(BIN)/python -m pytest -n 2 --dist worksteal -m browser tests/browser
	$(BIN)/python -m pytest -m "processes and timed" tests/acceptance

accept: $(STAMP) ## every acceptance test at full size, on both kinds of servers (about an hour)
	$(BIN)/python -m tests.on_postgres -n 2 -m "not processes" tests/face
	FULL=1 $(BIN)/python -m pytest -m processes -s

bench: $(STAMP) ## throughput, rate limits, ingest, pages, live updates (about 40 minutes)
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.pages embedded
	$(BIN)/python -m tests.bench.pages postgres
	$(BIN)/python -m tests.bench.live

screenshots: $(STAMP) ## every page, in both schemes, wide and narrow, into .data/screenshots
	$(BIN)/python -m tests.screenshots .data/screenshots

format: $(STAMP) ## format and mend what a machine can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lock: $(STAMP) ## pin all dependencies anew, with hashes, for all platforms
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--group dev pyproject.toml --output-file requirements.lock

clean: ## forget the installation and the data of this checkout
	rm -rf .venv .data

$(STAMP): requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed: make PYTHON=python3.12 run"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing …"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(BIN)/uv pip sync --quiet --require-hashes --python $(BIN)/python requirements.lock
	@touch $@

.PHONY: help run test accept bench screenshots format lock clean
