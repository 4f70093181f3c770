# The Python door: its own environment, a development build, the checks.
PYTHON ?= python3
VENV := .venv

.PHONY: python test-python generate

$(VENV)/ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet maturin scikit-learn==1.9.1 scipy pandas polars pyarrow pytest
	touch $@

# A development build shares its dependencies with the tests of the workspace.
python: $(VENV)/ready
	. $(VENV)/bin/activate && maturin develop --profile dev --quiet

# Classes, stubs, submodules and reference pages, from the list of models.
generate: python
	$(VENV)/bin/python python/generate.py

test-python: python
	$(VENV)/bin/python python/generate.py --check
	$(VENV)/bin/python -m pytest --quiet
