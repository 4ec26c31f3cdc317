"""The flags of `grpo-envs train`: what each is called, takes and means."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

__all__ = [
    "Batch",
    "Data",
    "Env",
    "EnvArgs",
    "EvalSamples",
    "EvalTasks",
    "GroupSize",
    "Json",
    "LearningRate",
    "MaxTokens",
    "MinGain",
    "Model",
    "Out",
    "Quiet",
    "Resume",
    "SaveEvery",
    "Seed",
    "Steps",
    "Suite",
    "Temperature",
    "TrlArgs",
    "UseVllm",
    "VllmMemory",
    "VllmMode",
    "VllmServer",
]

Env: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="[ENV]", help="Id of an environment, or MODULE:ID; not with --resume.", show_default=False),
]
Model: TypeAlias = Annotated[
    str, typer.Option(help="embedded, smollm2-135m, a folder, or a Hub id; embedded is made for ENV in minutes.")
]
Steps: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Optimiser steps. [default: 100]", show_default=False)
]
Seed: TypeAlias = Annotated[int, typer.Option(min=0, help="Seed of the run: order of tasks and sampling.")]
GroupSize: TypeAlias = Annotated[int, typer.Option(min=2, help="Rollouts of each prompt.")]
Batch: TypeAlias = Annotated[
    int | None,
    typer.Option(min=2, help="Rollouts of each step. [default: 64 for embedded, else 8]", show_default=False),
]
LearningRate: TypeAlias = Annotated[
    float | None,
    typer.Option(min=0.0, help="Learning rate. [default: 1e-4 for embedded, else 1e-6]", show_default=False),
]
MaxTokens: TypeAlias = Annotated[
    int | None,
    typer.Option(min=8, help="Most tokens of a rollout. [default: 128 for embedded, else 512]", show_default=False),
]
Temperature: TypeAlias = Annotated[float, typer.Option(min=0.01, help="Sampling temperature of rollouts.")]
Suite: TypeAlias = Annotated[str | None, typer.Option(help="Task suite of the environment.")]
Data: TypeAlias = Annotated[str | None, typer.Option(help="File of the suite's tasks, or a Hugging Face dataset name.")]
EnvArgs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--env-arg", metavar="NAME=VALUE", help="Argument of the environment; JSON, or else a text."),
]
EvalTasks: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0, help="Held-out tasks; 0 for none. [default: 200; 8 for a large model on a CPU]", show_default=False
    ),
]
EvalSamples: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Samples of each at temperature 1. [default: 4, or 1]", show_default=False)
]
Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(file_okay=False, help="Folder of the run. [default: runs/ENV-TIME]", show_default=False),
]
Resume: TypeAlias = Annotated[
    Path | None,
    typer.Option(metavar="DIR", file_okay=False, help="Go on with an interrupted run, with its options."),
]
SaveEvery: TypeAlias = Annotated[int, typer.Option(min=1, help="Steps between checkpoints.")]
UseVllm: TypeAlias = Annotated[bool, typer.Option("--use-vllm", help="Generate with vLLM.")]
VllmMode: TypeAlias = Annotated[
    str, typer.Option(help="vLLM in this process (colocate) or behind an address (server).")
]
VllmServer: TypeAlias = Annotated[str | None, typer.Option(help="Address of the vLLM server.")]
VllmMemory: TypeAlias = Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of GPU memory for colocated vLLM.")]
TrlArgs: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--trl-arg", metavar="NAME=VALUE", help="Further argument of trl.GRPOConfig; JSON, or else a text."),
]
MinGain: TypeAlias = Annotated[
    float | None, typer.Option(help="Least rise of held-out success, else exit code 1.", show_default="none")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", help="No progress.")]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
]
