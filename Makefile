# Everything a developer runs. `make test` is what CI runs.

PYTHON ?= python3
VENV := .venv

.PHONY: test lint test-rust python test-python generate bench clean

test: lint test-rust test-python

lint:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings

test-rust:
	cargo test --workspace --exclude ermine-py

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet maturin scikit-learn==1.9.1 scipy pandas polars pyarrow pytest
	touch $@

# A development build shares its dependencies with the tests of the workspace.
python: $(VENV)/ready
	. $(VENV)/bin/activate && maturin develop --profile dev --quiet

test-python: python
	$(VENV)/bin/python python/generate.py --check
	$(VENV)/bin/python -m pytest --quiet

# Classes, stubs, submodules and reference pages, from the list of models.
generate: python
	$(VENV)/bin/python python/generate.py

# Beside the peers, at equal objective or score.
bench:
	$(PYTHON) bench/run.py

clean:
	rm -rf target $(VENV) bench/.venv
