# Two commands do everything: `make app` runs the app, `make test` checks the project.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin

# Several processes share the tests, each with one thread, a file at a time (tests/conftest.py): one per core, or one more
# where some have a browser, since these mostly wait. One that crashes ends the run: a new one in its place may wait for ever.
CORES := $(shell nproc)
PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(or $(WORKERS),$(1)) --maxprocesses 8 --max-worker-restart 0 --dist loadscope --no-loadscope-reorder

.PHONY: app quick test test-long lint types format docs space space-check clean help

help:
	@echo "make app     create $(VENV), install, run app.py (ARGS='--port 8000' passes options)"
	@echo "make quick   lint and the tests without browser, training and processes: about a minute (ARGS='tests/core' for a part)"
	@echo "make test    lint, types and all tests that guard behaviour (ARGS as above)"
	@echo "make test-long  what takes long: whole trainings with several seeds, all recipes"
	@echo "make format  rewrite the code in the project's format"
	@echo "make docs    build the documentation as a site in build/docs, without a network; a warning is an error"
	@echo "make space   assemble the folder to push to a Hugging Face Space (ARGS='FOLDER', default build/space)"
	@echo "make space-check  the same, then run the app from that folder alone in a new environment (6 GB, for a while)"
	@echo "make clean   remove $(VENV), caches and build/"

app:
	@tools/setup.sh app
	$(BIN)/python app.py $(ARGS)

quick:
	@tools/setup.sh dev
	$(MAKE) --no-print-directory lint
	$(call PYTEST,$(CORES)) --ignore tests/browser -m "not slow and not long" $(ARGS)

test:
	@tools/setup.sh dev
	$(MAKE) --no-print-directory lint types
	$(call PYTEST,$(shell expr $(CORES) + 1)) -m "not long" $(ARGS)

test-long:
	@tools/setup.sh dev
	$(call PYTEST,$(CORES)) -m long $(ARGS)

lint:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/oxfmt --check viz/web
	$(BIN)/oxlint viz/web

types:
	$(BIN)/mypy

format:
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/oxfmt viz/web
	$(BIN)/oxlint --fix viz/web

docs:
	@tools/setup.sh dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet $(ARGS)
	@echo "build/docs/index.html"

space:
	@tools/setup.sh app
	$(BIN)/python -m tools.make_space $(ARGS)

space-check:
	@tools/setup.sh dev
	$(BIN)/python -m tools.make_space
	$(BIN)/python -m tools.check_space $(ARGS)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build
