# Two commands for a fresh machine with Python >= 3.11 and a package index:
#   make demo    set up and see it work          make test    set up and run every test
# And one that follows README and docs with the wheel, on every Python from 3.11 to 3.14 that it finds:
#   make walk    or: make walk PYTHONS="3.12 /opt/python3.13/bin/python3"
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
UV     := $(shell command -v uv 2>/dev/null)

# What Python compiles it keeps: tests start hundreds of processes, and without it each one takes three times as long.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test walk integrations lint mutants fix docs bench report clean
.DEFAULT_GOAL := demo

demo: $(VENV)/.base
	@$(BIN)/holdfast demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto --dist worksteal

walk:
	$(PYTHON) tests/walk.py $(PYTHONS)

# Each agent framework in an environment of its own, or those named: make integrations NAMES="crewai agno"
integrations:
	$(PYTHON) tests/frameworks.py $(NAMES)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Is there a test that fails when the code is changed? Takes minutes; what came out is in tests/mutants.md.
mutants: $(VENV)/.dev
	$(BIN)/python tests/mutants.py

fix: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/typescript.py
	$(BIN)/python docs/example.py
	$(BIN)/python docs/build_site.py

bench: $(VENV)/.dev
	$(BIN)/python bench/recall.py
	$(BIN)/python bench/ingest.py
	$(BIN)/python bench/startup.py
	$(BIN)/python bench/records.py
	$(BIN)/python bench/langgraph_store.py
	$(BIN)/python bench/capture.py
	$(BIN)/python bench/hook.py
	$(BIN)/python bench/mcp_server.py
	$(BIN)/python bench/dedup.py
	$(BIN)/python bench/extraction.py
	$(BIN)/python bench/notes.py
	$(BIN)/python bench/secret_scan.py
	$(BIN)/python bench/encryption.py

# DATA is a folder with locomo10.json and longmemeval*.json; a run that was interrupted goes on where it stopped.
report: $(VENV)/.dev
	$(BIN)/python bench/report.py $(if $(DATA),--data $(DATA))

clean:
	rm -rf $(VENV) .frameworks dist build site .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Holdfast needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
ifdef UV
	$(UV) venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" $(VENV)
else
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
endif

$(VENV)/.base: pyproject.toml | $(BIN)/python
ifdef UV
	$(UV) pip install --quiet --python $(BIN)/python -e .
else
	$(BIN)/python -m pip install --quiet -e .
endif
	@touch $@

# apsw-sqlite3mc has the files of apsw, so it lies in a folder of its own: tests/test_encryption.py puts that before it.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
ifdef UV
	$(UV) pip install --quiet --python $(BIN)/python -e '.[all]' --group dev
	$(UV) pip install --quiet --python $(BIN)/python --target $(VENV)/encryption --group encryption
else
	$(BIN)/python -m pip install --quiet -e '.[all]' --group dev
	$(BIN)/python -m pip install --quiet --upgrade --target $(VENV)/encryption --group encryption
endif
	@touch $@ $(VENV)/.base
