"""Scaffold an environment of one's own: a module with its reward, a test, and a project file."""

from __future__ import annotations

import importlib.resources
import importlib.util
import keyword
from dataclasses import dataclass
from pathlib import Path
from string import Template

from grpo_envs.errors import GrpoEnvsError

__all__ = ["FolderTaken", "InvalidName", "Scaffold", "write"]


class InvalidName(GrpoEnvsError, ValueError):
    """Raised when a name cannot be that of a new module."""


class FolderTaken(GrpoEnvsError, FileExistsError):
    """Raised when the folder of a new environment exists already."""


@dataclass(frozen=True, slots=True)
class Scaffold:
    """What was written.

    Attributes:
        id: Id of the environment.
        module: Module that registers it.
        folder: Its folder.
        files: What is in it.
    """

    id: str
    module: str
    folder: Path
    files: tuple[Path, ...]


def write(name: str, parent: str | Path = ".") -> Scaffold:
    """Write the files of a new environment into a folder of its own.

    Args:
        name: Name of its module; dashes and spaces become underscores.
        parent: Where the folder is made.

    Raises:
        InvalidName: If the name cannot be that of a new module.
        FolderTaken: If the folder exists.
    """
    module = name.strip().replace("-", "_").replace(" ", "_").lower()
    _check(name, module)
    folder = Path(parent) / module
    if folder.exists():
        raise FolderTaken(f"{str(folder)!r} exists already; choose another name or remove it")
    words = {"module": module, "title": "".join(word.capitalize() for word in module.split("_"))}
    words["id"] = f"{module}/{words['title']}-v0"
    texts = {
        f"{module}.py": "environment.txt",
        f"test_{module}.py": "test.txt",
        "pyproject.toml": "project.txt",
    }
    folder.mkdir(parents=True)
    files: list[Path] = []
    for file_name, template in texts.items():
        source = (importlib.resources.files(__name__) / "templates" / template).read_text("utf-8")
        files.append(folder / file_name)
        files[-1].write_text(Template(source).substitute(words), "utf-8")
    return Scaffold(words["id"], module, folder, tuple(files))


def _check(name: str, module: str) -> None:
    if not module.isidentifier() or not module.isascii() or not module[0].isalpha() or keyword.iskeyword(module):
        raise InvalidName(f"{name!r} is not a name for a module; use letters, digits and underscores, such as tea_shop")
    if importlib.util.find_spec(module) is not None:
        raise InvalidName(f"{module!r} is the name of a module that is installed already; choose another")
