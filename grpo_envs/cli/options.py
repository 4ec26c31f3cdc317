"""Options that several commands share, each documented once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

__all__ = [
    "Concurrency",
    "Data",
    "EnvArgs",
    "EnvId",
    "Episodes",
    "JsonFlag",
    "MinSuccess",
    "Seed",
    "Shuffle",
    "SplitName",
    "StepTimeout",
    "Suite",
    "TraceFile",
]

JsonFlag: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
]
EnvId: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="ENV",
        help="Id of an environment, as 'grpo-envs list' shows it; or MODULE:ID, where importing MODULE registers ID.",
    ),
]
Suite: TypeAlias = Annotated[str | None, typer.Option(help="Task suite of the environment.")]
Data: TypeAlias = Annotated[str | None, typer.Option(help="File of the suite's tasks, or a Hugging Face dataset name.")]
SplitName: TypeAlias = Annotated[
    Literal["all", "train", "val", "test"], typer.Option(help="Which tasks, by a hash of their content.")
]
EnvArgs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--env-arg", metavar="NAME=VALUE", help="Argument of the environment; the value is JSON, or else a text."
    ),
]
Episodes: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "-n",
        "--episodes",
        min=1,
        help="Tasks to play, each --group-size times. [default: every task of a file; 100 generated ones]",
        show_default=False,
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Seed of tasks, environments and sampling.")]
Shuffle: TypeAlias = Annotated[bool, typer.Option("--shuffle", help="Take the tasks in an order drawn from --seed.")]
Concurrency: TypeAlias = Annotated[int, typer.Option(min=1, help="Episodes in flight.")]
StepTimeout: TypeAlias = Annotated[
    float | None, typer.Option(min=0.001, help="Seconds that one reset or step may take.", show_default="none")
]
TraceFile: TypeAlias = Annotated[
    Path | None, typer.Option("--trace", dir_okay=False, help="JSONL file that a trace of each episode is appended to.")
]
MinSuccess: TypeAlias = Annotated[
    float,
    typer.Option(
        min=0.0, max=1.0, help="Share of episodes that must succeed, else exit code 1; a broken one did not succeed."
    ),
]
