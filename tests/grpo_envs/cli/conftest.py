"""Run the command line in this process, or as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grpo_envs.cli import invoke


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The one JSON object on stdout; anything beside it fails the test."""
        assert self.out.count("\n") == 1, self.out
        return json.loads(self.out)


Cli = Callable[..., Done]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run in this process."""

    def run(*arguments: str) -> Done:
        capsys.readouterr()
        code = invoke(arguments)
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture
def process(tmp_path: Path) -> Cli:
    """Run as a process of its own, in a folder of its own."""

    def run(*arguments: str, **environment: str) -> Done:
        command = [sys.executable, "-c", "from grpo_envs.cli import main; main()", *arguments]
        env = {**os.environ, **environment}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, timeout=120, check=False)
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def own_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """An environment in a module of the working directory, whose tool breaks and which has no oracle."""
    name = "own_" + "".join(c if c.isalnum() else "_" for c in request.node.name).lower()
    source = f'''
from grpo_envs import LanguageEnv, Task, TaskSet, register, tool
from rewards import reward

@reward
def right(completion: str, answer: str) -> bool:
    return completion == answer

class Own(LanguageEnv):
    def __init__(self, broken: bool = False):
        super().__init__(TaskSet([Task(str(i), f"say {{i}}", str(i)) for i in range(10)]), right, max_turns=2)
        self.broken = broken

    def _prompt(self, task):
        if self.broken and task.id == "3":
            raise RuntimeError("the shelf fell down")
        return task.prompt

register("{name}/Own-v0", Own, description="Say a number.")
'''
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    return f"{name}:{name}/Own-v0"
