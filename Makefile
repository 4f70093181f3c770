# Everything a developer runs. `make test` is what CI runs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: test test-rust test-python python lint format generate bench clean

test: lint test-rust test-python

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

test-rust:
	cargo test --workspace --exclude ermine-py --quiet

# The package, built into a virtual environment of the project.
$(VENV)/ready: python/requirements-test.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -r python/requirements-test.txt
	touch $@

python: $(VENV)/ready
	$(BIN)/maturin develop --quiet --profile dev -m crates/py/Cargo.toml

test-python: python
	$(BIN)/pytest -q python/tests

generate: python
	$(BIN)/python tools/generate.py

format:
	cargo fmt --all

bench:
	$(PYTHON) bench/run.py

clean:
	rm -rf target $(VENV) bench/.venv
