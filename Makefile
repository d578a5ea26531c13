# Two commands do everything: `make app` runs the app, `make test` checks the project.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin

.PHONY: app test lint types format clean help

help:
	@echo "make app     create $(VENV), install, run app.py (ARGS='--port 8000' passes options)"
	@echo "make test    the same plus test tools; lint, types, tests"
	@echo "make format  rewrite the code in the project's format"
	@echo "make clean   remove $(VENV) and caches"

app:
	@tools/setup.sh app
	$(BIN)/python app.py $(ARGS)

test:
	@tools/setup.sh dev
	$(MAKE) --no-print-directory lint types
	$(BIN)/python -m pytest $(ARGS)

lint:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types:
	$(BIN)/mypy

format:
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
