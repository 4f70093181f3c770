# Everything a developer runs. `make test` is what CI runs; it sets itself up.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# One choice of packages and features for all that is built here: with another one cargo builds the dependencies again.
ALL := --workspace --all-targets --features ermine-cli/mpi,ermine-cli/sql

.PHONY: build docs test test-all setup lint test-rust test-browser python test-python conformance conformance-fast fuzz generate bench clean

test: setup lint test-rust test-browser test-python

# And what takes longer or needs more: see SECURITY.md.
test-all: test fuzz
	ERMINE_THOROUGH=1 cargo test $(ALL) --quiet --test mpi
	cargo test -p ermine-core --all-features --quiet --doc rows
	cargo deny check

# All that tests need: MPI, a browser and Node by apt where they are missing, Python packages into .venv, those of Node into
# node_modules.
setup: $(VENV)/ready
	tools/install-mpi.sh
	tools/install-browser.sh
	[ -d node_modules/playwright-core ] || npm ci --silent --no-fund --no-audit

$(VENV)/ready: pyproject.toml Makefile
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet scikit-learn==1.9.1 scipy pandas polars pyarrow pytest pytest-timeout pytest-xdist mpi4py \
		cloudpickle skops onnx onnxruntime duckdb \
		ruff mypy
	touch $@

# With and without MPI: the program must build where there is none.
lint:
	cargo fmt --all --check
	cargo clippy $(ALL) --quiet -- -D warnings
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" cargo doc --workspace --no-deps --quiet
	$(BIN)/ruff check python bench
	$(BIN)/mypy
	npx --no-install tsc --project .

test-rust: build
	cargo test $(ALL) --quiet
	cargo test --workspace --features ermine-cli/mpi,ermine-cli/sql --doc --quiet

build:
	cargo build $(ALL)

# The lab in a browser, with the program that the tests of the workspace have built.
test-browser: build
	node --test crates/web/browser/

# The development build, which the tests of the workspace use too.
python: $(VENV)/ready build
	$(BIN)/python tools/develop.py

test-python: python
	$(BIN)/python python/generate.py --check
	PYTHONHASHSEED=0 $(BIN)/python -m pytest --quiet --numprocesses 2
	$(BIN)/python python/tests/peer/run.py --fast --share 97

# scikit-learn's own tests with Ermine's classes in the place of scikit-learn's; what fails stands in
# python/tests/peer/failures.txt. The fast part must not fall below the share it has reached.
conformance: python
	$(BIN)/python python/tests/peer/run.py

conformance-fast: python
	$(BIN)/python python/tests/peer/run.py --fast

# A short run of each target; needs cargo-fuzz and a nightly compiler.
FUZZ_SECONDS ?= 20
fuzz:
	cd fuzz && for target in $$(cargo +nightly fuzz list); do \
		mkdir -p corpus/$$target && cp -n seeds/$$target/* corpus/$$target/ ; \
		case $$target in csv*) words=csv ;; parquet) words=parquet ;; *) words=text ;; esac ; \
		cargo +nightly fuzz run $$target corpus/$$target -- -dict=dictionaries/$$words.dict -max_total_time=$(FUZZ_SECONDS) \
			-rss_limit_mb=2048 -timeout=20 || exit 1 ; \
	done

# Classes, stubs, submodules and reference pages, from the list of models.
generate: python
	$(BIN)/python python/generate.py

# The documentation as a site in target/site; broken links fail.
docs: target/docs-venv/ready
	target/docs-venv/bin/mkdocs build --quiet

target/docs-venv/ready:
	$(PYTHON) -m venv target/docs-venv
	target/docs-venv/bin/pip install --quiet mkdocs-material
	touch $@

# Beside the peers, at equal objective or score.
bench:
	$(PYTHON) bench/run.py

clean:
	rm -rf target $(VENV) bench/.venv
