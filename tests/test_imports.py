"""Importing the packages must stay cheap: what is heavy is loaded when it is used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "accelerate",
    "datasets",
    "fastapi",
    "httpx",
    "jinja2",
    "jsonschema",
    "math_verify",
    "matplotlib",
    "mcp",
    "prometheus_client",
    "pydantic",
    "reasoning_gym",
    "rich",
    "sympy",
    "torch",
    "transformers",
    "trl",
    "typer",
    "uvicorn",
)


def loaded_by(code: str) -> set[str]:
    """Return the heavy packages that a fresh interpreter has loaded after `code`."""
    report = f"{code}\nimport json, sys; print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("package", ["sandboxes", "rewards", "grpo_envs"])
def test_importing_loads_nothing_heavy(package: str) -> None:
    assert loaded_by(f"import {package}") == set()


def test_listing_environments_loads_nothing_heavy() -> None:
    assert loaded_by("import grpo_envs; grpo_envs.env_info('grpo_envs/Math-v0'); grpo_envs.Task('t', '?')") == set()


def test_an_environment_without_tools_loads_no_schema_package() -> None:
    code = "import grpo_envs; grpo_envs.make('grpo_envs/Math-v0').reset(seed=1)"
    assert loaded_by(code) <= {"pydantic"}
