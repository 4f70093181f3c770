"""The Python of docs/tour.md runs as it stands; its commands are run by crates/cli/tests/tour.rs."""

import re
from pathlib import Path

import pytest

TOUR = (Path(__file__).parents[2] / "docs/tour.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TOUR, re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=[block.splitlines()[-1][:40] for block in BLOCKS])
def test_the_tour_runs(code):
    assert "assert" in code
    exec(compile(code, "docs/tour.md", "exec"), {})


def test_there_is_python_in_the_tour():
    assert len(BLOCKS) >= 5
