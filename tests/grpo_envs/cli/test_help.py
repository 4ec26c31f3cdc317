"""The help: every command and option is documented, and nothing heavy is loaded to show it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from grpo_envs.cli.app import command

COMMANDS = dict(command().commands)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name):
    found = COMMANDS[name]
    assert found.help
    assert [p.name for p in found.params if not getattr(p, "help", None)] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_speaks_json(name):
    assert any("--json" in parameter.opts for parameter in COMMANDS[name].params)


def test_help_lists_train_and_loads_no_training_stack():
    program = (
        "import sys\nfrom grpo_envs.cli import invoke\ncode = invoke(['--help'])\n"
        "heavy = {'torch', 'transformers', 'trl', 'sympy', 'math_verify', 'httpx', 'trainers.cli'} & set(sys.modules)\n"
        "sys.exit(code or ','.join(sorted(heavy)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "train" in done.stdout
    assert "Exit codes: 0" in done.stdout
