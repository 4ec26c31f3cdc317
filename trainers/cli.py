"""`grpo-envs train`: the command that this package brings to the command line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from trainers.train.options import TrainOptions

__all__ = ["train"]


def train(
    env: Annotated[
        str | None,
        typer.Argument(
            metavar="[ENV]", help="Id of an environment, or MODULE:ID; not with --resume.", show_default=False
        ),
    ] = None,
    model: Annotated[
        str, typer.Option(help="embedded, smollm2-135m, a folder, or a Hub id; embedded is made for ENV in minutes.")
    ] = "embedded",
    steps: Annotated[
        int | None, typer.Option(min=1, help="Optimiser steps. [default: 100]", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the run: order of tasks and sampling.")] = 0,
    group_size: Annotated[int, typer.Option(min=2, help="Rollouts of each prompt.")] = 8,
    batch: Annotated[
        int | None,
        typer.Option(min=2, help="Rollouts of each step. [default: 64 for embedded, else 8]", show_default=False),
    ] = None,
    lr: Annotated[
        float | None,
        typer.Option(min=0.0, help="Learning rate. [default: 1e-4 for embedded, else 1e-6]", show_default=False),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(min=8, help="Most tokens of a rollout. [default: 128 for embedded, else 512]", show_default=False),
    ] = None,
    temperature: Annotated[float, typer.Option(min=0.01, help="Sampling temperature of rollouts.")] = 1.0,
    suite: Annotated[str | None, typer.Option(help="Task suite of the environment.")] = None,
    data: Annotated[str | None, typer.Option(help="File of the suite's tasks, or a Hugging Face dataset name.")] = None,
    env_arg: Annotated[
        list[str] | None,
        typer.Option("--env-arg", metavar="NAME=VALUE", help="Argument of the environment; JSON, or else a text."),
    ] = None,
    eval_tasks: Annotated[
        int | None,
        typer.Option(
            min=0, help="Held-out tasks; 0 for none. [default: 200; 8 for a large model on a CPU]", show_default=False
        ),
    ] = None,
    eval_samples: Annotated[
        int | None, typer.Option(min=1, help="Samples of each at temperature 1. [default: 4, or 1]", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Folder of the run. [default: runs/ENV-TIME]", show_default=False),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", file_okay=False, help="Go on with an interrupted run, with its options."),
    ] = None,
    save_every: Annotated[int, typer.Option(min=1, help="Steps between checkpoints.")] = 25,
    use_vllm: Annotated[bool, typer.Option("--use-vllm", help="Generate with vLLM.")] = False,
    vllm_mode: Annotated[
        str, typer.Option(help="vLLM in this process (colocate) or behind an address (server).")
    ] = "colocate",
    vllm_server: Annotated[str | None, typer.Option(help="Address of the vLLM server.")] = None,
    vllm_memory: Annotated[float, typer.Option(min=0.0, max=1.0, help="Share of GPU memory for colocated vLLM.")] = 0.3,
    trl_arg: Annotated[
        list[str] | None,
        typer.Option(
            "--trl-arg", metavar="NAME=VALUE", help="Further argument of trl.GRPOConfig; JSON, or else a text."
        ),
    ] = None,
    min_gain: Annotated[
        float | None, typer.Option(help="Least rise of held-out success, else exit code 1.", show_default="none")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else there.")
    ] = False,
) -> None:
    """Train a policy with GRPO and measure it on held-out tasks before and after.

    An interrupt (Ctrl-C) saves a checkpoint after the current step; --resume DIR goes on from it.
    """
    _check_extra()
    from grpo_envs.cli.faults import BadUsage

    if (env is None) == (resume is None):
        raise BadUsage("name an environment to train on, or a run to go on with by --resume, and not both")
    if resume is not None:
        options, folder = _resumed(resume, steps), resume
    else:
        vllm = (
            {"use_vllm": True, "vllm_mode": vllm_mode, "vllm_gpu_memory_utilization": vllm_memory} if use_vllm else {}
        )
        if use_vllm and vllm_server is not None:
            vllm["vllm_server_base_url"] = vllm_server
        given = {"steps": steps, "batch": batch, "lr": lr, "max_tokens": max_tokens}
        given |= {"eval_tasks": eval_tasks, "eval_samples": eval_samples}
        fixed = {"seed": seed, "group_size": group_size, "temperature": temperature, "save_every": save_every}
        options = _options(str(env), model, suite, data, env_arg, trl_arg, vllm, {**given, **fixed})
        folder = out or Path("runs") / f"{str(env).split('/')[-1].lower()}-{time.strftime('%Y%m%d-%H%M%S')}"
    _run(options, folder, resume is not None, min_gain, quiet, json)


def _options(
    env: str,
    model: str,
    suite: str | None,
    data: str | None,
    env_arg: list[str] | None,
    trl_arg: list[str] | None,
    vllm: dict[str, Any],
    given: dict[str, Any],
) -> TrainOptions:
    """Read the options, filling in what suits the model."""
    from grpo_envs.cli.arguments import parse_pairs
    from grpo_envs.cli.environments import EnvRequest
    from grpo_envs.cli.faults import BadUsage
    from trainers.train.options import TrainOptions, defaults_for

    stage = EnvRequest(env, suite, data, pairs=env_arg or ()).open()
    stage.env.close()
    chosen = {**defaults_for(model), **{key: value for key, value in given.items() if value is not None}}
    trl = {**vllm, **parse_pairs(trl_arg, "--trl-arg")}
    try:
        return TrainOptions(env, dict(stage.arguments), model, trl=trl, **chosen)
    except ValueError as error:
        raise BadUsage(str(error)) from error


def _resumed(folder: Path, steps: int | None) -> TrainOptions:
    from dataclasses import replace

    from trainers.train.options import TrainOptions

    options = TrainOptions.load(folder)
    return options if steps is None else replace(options, steps=steps)


def _run(options: TrainOptions, folder: Path, resume: bool, min_gain: float | None, quiet: bool, json: bool) -> None:
    from grpo_envs.cli.faults import FAILED
    from grpo_envs.cli.output import complain, emit_json, stderr, stdout
    from trainers.train import run_training
    from trainers.train.progress import display_for
    from trainers.train.summary import show

    with display_for(stderr(), quiet=quiet or json) as display:
        result = run_training(options, folder, display, resume=resume)
    missed = min_gain is not None and not result.interrupted and (result.gain is None or result.gain < min_gain)
    if json:
        emit_json({**result.to_dict(), "min_gain": min_gain, "ok": not missed})
    else:
        show(stdout(), result)
    if missed:
        complain(f"held-out success rose by {result.gain or 0.0:.3f}, less than --min-gain {min_gain:g}")
        raise typer.Exit(FAILED)


def _check_extra() -> None:
    """Say how to get what training needs, before anything takes time.

    Raises:
        MissingExtra: If a package is not installed.
    """
    import importlib.util

    from grpo_envs.errors import MissingExtra

    missing = [
        name for name in ("torch", "transformers", "trl", "matplotlib") if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise MissingExtra(f"training needs {', '.join(missing)}: pip install 'grpo-envs[train]'")
