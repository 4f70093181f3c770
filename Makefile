# Everything a developer runs. `make test` is what CI runs.

PYTHON ?= python3
VENV := .venv

.PHONY: test mpi lint test-rust python test-python conformance conformance-fast generate bench clean

test: lint test-rust test-python

# Tests run fits on several processes.
mpi:
	tools/install-mpi.sh

# With and without MPI: the program must build where there is none.
lint: mpi
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cargo clippy --package ermine-cli --all-targets --features mpi --quiet -- -D warnings

test-rust: mpi
	cargo test --workspace --exclude ermine-py --features ermine-cli/mpi

$(VENV)/ready: pyproject.toml Makefile
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet maturin scikit-learn==1.9.1 scipy pandas polars pyarrow pytest pytest-timeout mpi4py
	touch $@

# A development build shares its dependencies with the tests of the workspace.
python: $(VENV)/ready
	. $(VENV)/bin/activate && maturin develop --profile dev --quiet

test-python: python mpi
	$(VENV)/bin/python python/generate.py --check
	$(VENV)/bin/python -m pytest --quiet
	$(VENV)/bin/python python/tests/peer/run.py --fast

# scikit-learn's own tests with Ermine's classes in the place of scikit-learn's; what fails is in python/tests/peer/failures.txt with its reason.
conformance: python
	$(VENV)/bin/python python/tests/peer/run.py

conformance-fast: python
	$(VENV)/bin/python python/tests/peer/run.py --fast

# Classes, stubs, submodules and reference pages, from the list of models.
generate: python
	$(VENV)/bin/python python/generate.py

# Beside the peers, at equal objective or score.
bench:
	$(PYTHON) bench/run.py

clean:
	rm -rf target $(VENV) bench/.venv
