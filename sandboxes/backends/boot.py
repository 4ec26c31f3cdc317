"""Carry the jail's own code to where no copy of this package is: a container's interpreter, a service's."""

from __future__ import annotations

from pathlib import Path

__all__ = ["IMPORTER", "jail_sources"]

_PACKAGE = Path(__file__).parents[1]

IMPORTER = """
import importlib.abc, importlib.util, sys

class _Loader(importlib.abc.Loader):
    def __init__(self, source):
        self.source = source

    def exec_module(self, module):
        exec(compile(self.source, module.__name__, "exec"), module.__dict__)

class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, sources):
        self.sources = sources

    def find_spec(self, name, path=None, target=None):
        if name not in self.sources:
            return None
        package = any(other.startswith(name + ".") for other in self.sources)
        return importlib.util.spec_from_loader(name, _Loader(self.sources[name]), is_package=package)
"""
"""Python source that defines `_Finder(sources)`, an importer of modules from a mapping of name to text."""


def jail_sources() -> dict[str, str]:
    """Return the text of every module that runs inside, by its name."""
    sources = {f"sandboxes.jail.{path.stem}": path.read_text() for path in (_PACKAGE / "jail").glob("[a-z]*.py")}
    return {"sandboxes": "", "sandboxes.jail": "", "sandboxes.values": (_PACKAGE / "values.py").read_text(), **sources}
