"""The Typer app: which commands there are, and those that other packages bring."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer

from grpo_envs.cli.output import Settings, configure_logging
from grpo_envs.cli.plugins import PluginGroup

__all__ = ["command"]

_EPILOG = (
    "Exit codes: 0 all is well; 1 episodes failed or a threshold was missed; 2 bad usage; 3 this machine lacks "
    "something ('grpo-envs doctor' says what)."
)


@cache
def command() -> Any:
    """Return the whole command line as one command."""
    from grpo_envs.cli import describe, diagnose, evaluate, lint, listing, new, play, score, version

    app = typer.Typer(
        cls=PluginGroup,
        help="Environments and rewards for GRPO training that never lie.",
        epilog=_EPILOG,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_before)
    app.command("list")(listing.list_environments)
    app.command("describe")(describe.describe)
    app.command("run")(play.run)
    app.command("eval")(evaluate.evaluate)
    app.command("score")(score.score)
    app.command("lint")(lint.lint)
    app.command("new")(new.new)
    app.command("doctor")(diagnose.doctor)
    app.command("version")(version.version)
    return typer.main.get_command(app)


def _before(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of every error.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show what is logged.")] = False,
) -> None:
    settings = context.obj if isinstance(context.obj, Settings) else Settings()
    settings.debug, settings.verbose = debug, verbose
    configure_logging(settings)
