"""Commands of other packages: entry points that are listed without being imported."""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["ENTRY_POINT_GROUP", "PluginGroup", "summary_of"]

ENTRY_POINT_GROUP = "grpo_envs.cli"


class PluginGroup(TyperGroup):
    """A group that also has the commands of the entry-point group; one is imported only when it is called.

    An entry point names a function with Typer annotations, or a `typer.Typer`.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the built-in commands in their order, then the others by name."""
        return [*super().list_commands(ctx), *sorted(_entries().keys() - self.commands.keys())]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a built-in command, or a stand-in that knows name and summary."""
        found = super().get_command(ctx, cmd_name)
        entry = _entries().get(cmd_name)
        if found is not None or entry is None:
            return found
        return _StandIn(name=cmd_name, help=summary_of(entry), callback=None)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command to be run, imported."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, _load(_entries()[str(name)]) if isinstance(found, _StandIn) else found, rest


class _StandIn(TyperCommand):
    """Stands in a list of commands for one that is not imported."""


def summary_of(entry: EntryPoint) -> str:
    """Return the first line of an entry point's docstring, read from its source: importing it may take seconds."""
    try:
        found = importlib.util.find_spec(entry.module)
        source = Path(found.origin).read_text("utf-8") if found is not None and found.origin else ""
        body = ast.parse(source).body
    except (ImportError, OSError, SyntaxError, ValueError):
        body = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == entry.attr:
            return (ast.get_docstring(node) or "").split("\n")[0]
    return f"Command of {entry.value}."


def _load(entry: EntryPoint) -> Any:
    loaded = entry.load()
    if isinstance(loaded, typer.Typer):
        return typer.main.get_command(loaded)
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(entry.name)(loaded)
    return typer.main.get_command(app)


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in importlib.metadata.entry_points(group=ENTRY_POINT_GROUP)}
