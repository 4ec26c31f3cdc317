"""`new`: what it writes works as it is."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.fixture
def made(cli, tmp_path):
    done = cli("new", "tea-shop", "--folder", str(tmp_path), "--json")
    assert done.code == 0
    assert done.data["id"] == "tea_shop/TeaShop-v0"
    return tmp_path / "tea_shop"


def test_the_generated_test_passes(made):
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=made, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout


def test_its_files_are_short_and_clean(made):
    for path in made.glob("*.py"):
        assert len(path.read_text().splitlines()) <= 40, path.name
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--line-length", "120", "."]
    done = subprocess.run(command, cwd=made, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_it_runs_by_module_and_id(made):
    command = [sys.executable, "-c", "from grpo_envs.cli import main; main()"]
    arguments = ["run", "tea_shop:tea_shop/TeaShop-v0", "--policy", "oracle", "-n", "20", "--json"]
    done = subprocess.run([*command, *arguments], cwd=made, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["successes"] == 20


def test_a_folder_is_never_overwritten(cli, made, tmp_path):
    done = cli("new", "tea_shop", "--folder", str(tmp_path))
    assert done.code == 2
    assert "exists already" in done.err


def test_it_says_what_to_do_next(cli, tmp_path):
    done = cli("new", "corner_shop", "--folder", str(tmp_path))
    assert done.code == 0
    assert "grpo-envs run corner_shop:corner_shop/CornerShop-v0 --policy oracle" in done.out
