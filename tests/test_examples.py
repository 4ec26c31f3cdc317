"""Every example runs as a person would run it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs(path):
    run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout


def test_the_oracle_of_the_example_solves_every_task():
    path = EXAMPLES[[p.name for p in EXAMPLES].index("own_environment.py")]
    out = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300, check=True).stdout
    assert "oracle: 100/100" in out
    assert "random: 0/100" in out
