# Every target works from a clean checkout on a machine with Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# A strict editable install links files one by one, so a new file needs a new install.
SOURCES := $(shell find cli checker schemas reproducers templates -type f -not -path '*/__pycache__/*' 2>/dev/null)
INSTALLED := $(VENV)/.installed
WORKFLOWS := $(wildcard .github/workflows/*.yml examples/ci/reports*.yml)

.PHONY: demo test check format docs bench bench-client clean
.DEFAULT_GOAL := test

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

# The list of names is remade at each call and its time stamp moves only when it changes.
.PHONY: FORCE
$(VENV)/.sources: FORCE | $(VENV)/bin/python
	@echo $(sort $(SOURCES)) | cmp -s - $@ || echo $(sort $(SOURCES)) > $@

$(INSTALLED): pyproject.toml $(VENV)/.sources | $(VENV)/bin/python
	@echo "installing benchlint and its development tools into $(VENV)"
	@$(BIN)/python -m pip install --config-settings editable_mode=strict -e ".[yaml]" --group dev \
	  > $(VENV)/install.log 2>&1 || { cat $(VENV)/install.log; exit 1; }
	@$(BIN)/python -m compileall -q build/__editable__.benchlint-*  # as pip does with a wheel
	@touch $@

DEMO := build/demo
demo: $(INSTALLED)  ## lint the examples, then run one of them again
	@$(BIN)/benchlint check examples/*.json examples/faulty || true
	@rm -rf $(DEMO)
	@echo "running examples/tiny-pair/cpu.json again, on this machine"
	@$(BIN)/benchlint reproduce examples/tiny-pair/cpu.json \
	  --target-model tests/models/target-q8_0.gguf --draft-model tests/models/draft-q8_0.gguf \
	  --threads 1 --budget 50s --out $(DEMO) || [ $$? -eq 3 ]  # 3: speeds of another machine stay open
	@echo "open $(DEMO)/verdict.html; for the engine in process, which counts exactly:"
	@echo "  $(BIN)/pip install '.[llama]' (compiles for some minutes), then --engine llama-cpp"

test: $(INSTALLED)  ## run the tests
	$(BIN)/python -m pytest

check: $(INSTALLED)  ## format, lint and type-check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet .
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-actions action.yml comment/action.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows $(WORKFLOWS)
	$(BIN)/jactionlint --shellcheck= --pyflakes= --no-online --ignore 'workflow "reports-again"' \
	  action.yml comment/action.yml $(WORKFLOWS)  # that workflow is an example beside another

format: $(INSTALLED)  ## rewrite the code in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(INSTALLED)  ## regenerate what is generated from the code
	$(BIN)/python -m docs.generate

bench: $(INSTALLED)  ## CPU time beside validators of the schema
	$(BIN)/python benchmarks/check_speed.py

bench-client: $(INSTALLED)  ## cost and precision of the streaming client, beside its peers
	$(BIN)/python benchmarks/client_overhead.py

include engines.mk

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
