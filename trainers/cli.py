"""`grpo-envs train`: the command that this package brings to the command line."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from trainers import flags

if TYPE_CHECKING:
    from trainers.train.options import TrainOptions

__all__ = ["train"]


def train(
    env: flags.Env = None,
    model: flags.Model = "embedded",
    steps: flags.Steps = None,
    seed: flags.Seed = 0,
    group_size: flags.GroupSize = 8,
    batch: flags.Batch = None,
    lr: flags.LearningRate = None,
    max_tokens: flags.MaxTokens = None,
    temperature: flags.Temperature = 1.0,
    suite: flags.Suite = None,
    data: flags.Data = None,
    env_arg: flags.EnvArgs = None,
    eval_tasks: flags.EvalTasks = None,
    eval_samples: flags.EvalSamples = None,
    out: flags.Out = None,
    resume: flags.Resume = None,
    save_every: flags.SaveEvery = 25,
    use_vllm: flags.UseVllm = False,
    vllm_mode: flags.VllmMode = "colocate",
    vllm_server: flags.VllmServer = None,
    vllm_memory: flags.VllmMemory = 0.3,
    trl_arg: flags.TrlArgs = None,
    min_gain: flags.MinGain = None,
    quiet: flags.Quiet = False,
    json: flags.Json = False,
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
