"""Commands of other packages: listed without being imported, and what happens when they lack something."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SOURCE = '''
"""A package's own commands."""
import typer
from typing import Annotated

def greet(name: Annotated[str, typer.Argument(help="Whom.")] = "you") -> None:
    """Greet somebody.

    At length.
    """
    typer.echo(f"hello {name}")
'''

POLICY = """
from grpo_envs.errors import MissingExtra

class Weighty:
    name = "weighty"

    def prepare(self):
        raise MissingExtra("it needs: pip install weights")
"""


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A folder with an installed package that brings commands."""
    site = tmp_path / "site"
    info = site / "greeting-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[grpo_envs.cli]\ngreet = greeting:greet\nheavy = heavy:go\ngone = no_such_module:go\n"
        "[grpo_envs.policies]\nweighty = weighty:Weighty\n"
    )
    (site / "greeting.py").write_text(SOURCE)
    (site / "heavy.py").write_text("import textworld\n\ndef go() -> None:\n    '''Walk about.'''\n")
    (site / "weighty.py").write_text(POLICY)
    return site


def test_commands_are_listed_with_their_summaries(process, plugin):
    done = process("--help", PYTHONPATH=str(plugin))
    assert done.code == 0
    assert "Greet somebody." in done.out
    assert "Walk about." in done.out
    assert "Command of no_such_module:go." in done.out


def test_a_command_runs_with_its_options(process, plugin):
    done = process("greet", "world", PYTHONPATH=str(plugin))
    assert (done.code, done.out) == (0, "hello world\n")
    assert "Whom." in process("greet", "--help", PYTHONPATH=str(plugin)).out


@pytest.mark.skipif(importlib.util.find_spec("textworld") is not None, reason="the extra 'text' is installed")
def test_a_command_whose_extra_is_missing_says_how_to_install_it(process, plugin):
    done = process("heavy", PYTHONPATH=str(plugin))
    assert (done.code, done.out) == (3, "")
    assert done.err == "grpo-envs: this needs the package textworld: pip install 'grpo-envs[text]'\n"


def test_a_policy_that_cannot_be_loaded_says_so_once(process, plugin):
    done = process("run", "grpo_envs/Math-v0", "--policy", "weighty", PYTHONPATH=str(plugin))
    assert (done.code, done.out, done.err) == (3, "", "grpo-envs: it needs: pip install weights\n")
