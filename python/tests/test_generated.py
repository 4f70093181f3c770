"""Generated files are those that the list gives, and the examples on the reference pages run."""

import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from conftest import CLASSES

ROOT = Path(__file__).resolve().parents[2]


def test_nothing_is_stale():
    run = subprocess.run([sys.executable, ROOT / "python" / "generate.py", "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("cls", CLASSES)
def test_example_runs(cls):
    page = (ROOT / "docs" / "models" / f"{cls.__name__}.md").read_text()
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(example, {})


@pytest.mark.parametrize("cls", CLASSES)
def test_documented(cls):
    doc = cls.__doc__
    assert "Parameters\n" in doc and "Attributes\n" in doc and "Examples\n" in doc
    for name in cls._forms:
        assert re.search(rf"^    {name} : ", doc, re.MULTILINE), name
