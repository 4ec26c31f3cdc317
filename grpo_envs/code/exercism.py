"""Exercism-style folders: instructions, a `unittest` program and an example solution in each."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from grpo_envs.errors import InvalidTask
from grpo_envs.tasks import Task, TaskSet

__all__ = ["load_exercism"]

_INSTRUCTIONS = ("introduction.md", "instructions.md", "instructions.append.md")


def load_exercism(folder: str | Path) -> TaskSet:
    """Load every exercise under a folder: each directory that holds a `*_test.py`.

    Raises:
        InvalidTask: If there is none.
    """
    tasks = list(_exercises(Path(folder)))
    if not tasks:
        raise InvalidTask(f"no exercise under {str(folder)!r}: no directory there holds a *_test.py")
    return TaskSet(tasks, name="exercism")


def _exercises(folder: Path) -> Iterator[Task]:
    for test in sorted(folder.rglob("*_test.py")):
        home = test.parent
        example = home / ".meta" / "example.py"
        module = _module(home, test)
        source = test.read_text()
        skipped = {test.name, f"{module}.py"}
        files = {path.name: path.read_text() for path in sorted(home.glob("*.py")) if path.name not in skipped}
        data = {"kind": "unit_tests", "module": module, "test": source, "files": files}
        if example.is_file():
            data["solution"] = example.read_text()
        stub = home / f"{module}.py"
        yield Task(home.name, _prompt(home, module, source, stub), None, data)


def _module(home: Path, test: Path) -> str:
    config = home / ".meta" / "config.json"
    if config.is_file():
        solution = json.loads(config.read_text()).get("files", {}).get("solution") or [""]
        if solution[0].endswith(".py"):
            return Path(solution[0]).stem
    return test.name.removesuffix("_test.py")


def _prompt(home: Path, module: str, test: str, stub: Path) -> str:
    texts = [(home / ".docs" / name).read_text().strip() for name in _INSTRUCTIONS if (home / ".docs" / name).is_file()]
    wanted = _imported(module, test)
    names = f" It must define {', '.join(f'`{name}`' for name in wanted)}." if wanted else ""
    texts.append(f"Write the Python module `{module}`.{names}")
    if stub.is_file():
        texts.append(f"Begin with this:\n```python\n{stub.read_text()}\n```")
    return "\n\n".join(texts)


def _imported(module: str, test: str) -> list[str]:
    """Return the names that the tests take from the module."""
    found: list[str] = []
    for node in ast.walk(ast.parse(test)):
        if isinstance(node, ast.ImportFrom) and node.module == module:
            found += [alias.name for alias in node.names if alias.name != "*"]
    return list(dict.fromkeys(found))
