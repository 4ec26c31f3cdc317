"""The README's tour is run, block by block, in one namespace."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


SIZES = {
    "hidden": 32,
    "layers": 1,
    "heads": 2,
    "inner": 64,
    "skill_demos": 32,
    "skill_steps": 2,
    "mixed_demos": 32,
    "mixed_steps": 2,
}


def test_the_tour_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("GRPO_ENVS_CACHE", str(tmp_path / "cache"))
    assert len(BLOCKS) == 5
    namespace = {"__name__": "tour", "OUT": tmp_path / "run", "STEPS": 1, "SIZES": SIZES}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), namespace)
    assert (tmp_path / "run").is_dir()


def test_an_environment_of_ones_own_takes_under_forty_lines():
    code = next(block for block in BLOCKS if "class SecretEnv" in block)
    assert len([line for line in code.splitlines() if line.strip()]) < 40


def test_the_readme_opens_with_two_commands():
    first = re.search(r"```sh\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first.group(1).strip().splitlines()] == ["make train", "make test"]
