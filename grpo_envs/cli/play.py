"""`grpo-envs run`: play tasks with a policy."""

from __future__ import annotations

from typing import Annotated

import typer

from grpo_envs.cli.options import (
    Concurrency,
    Data,
    EnvArgs,
    EnvId,
    Episodes,
    JsonFlag,
    MinSuccess,
    Seed,
    Shuffle,
    SplitName,
    StepTimeout,
    Suite,
    TraceFile,
)

__all__ = ["run"]


def run(
    env: EnvId,
    policy: Annotated[
        str,
        typer.Option(
            help="oracle, random, echo, constant:TEXT, openai:MODEL, transformers:PATH, or one that a package brings."
        ),
    ] = "oracle",
    policy_arg: Annotated[
        list[str] | None,
        typer.Option("--policy-arg", metavar="NAME=VALUE", help="Argument of the policy, such as base_url=URL."),
    ] = None,
    episodes: Episodes = None,
    group_size: Annotated[int, typer.Option(min=1, help="Episodes of each task.")] = 1,
    suite: Suite = None,
    data: Data = None,
    split: SplitName = "all",
    shuffle: Shuffle = False,
    seed: Seed = 0,
    env_arg: EnvArgs = None,
    concurrency: Concurrency = 16,
    step_timeout: StepTimeout = None,
    trace: TraceFile = None,
    min_success: MinSuccess = 0.0,
    json: JsonFlag = False,
) -> None:
    """Play tasks with a policy and sum up the scores.

    The exit code is 1 if an episode broke (status infra_error) or fewer than --min-success of them succeeded. A wrong
    answer alone is no failure of the run.
    """
    from grpo_envs.cli.arguments import parse_pairs
    from grpo_envs.cli.environments import EnvRequest
    from grpo_envs.cli.faults import FAILED
    from grpo_envs.cli.output import emit_json, stdout
    from grpo_envs.cli.rounds import Round, causes, make_policy, passes, show_summary, summary_fields

    options = parse_pairs(policy_arg, "--policy-arg")
    stage = EnvRequest(env, suite, data, split, seed, env_arg or ()).open()
    stage = stage.choose(episodes, seed if shuffle else None)
    made = make_policy(policy, options, stage)
    result = Round(group_size, concurrency, seed, step_timeout, trace).play(stage, made)
    fields, broken = summary_fields(result.summary), causes(result.traces)
    passed = passes(fields, broken, min_success)
    if json:
        header = {"env": stage.info.id, "policy": made.name, "tasks": len(stage.tasks), "group_size": group_size}
        place = None if trace is None else str(trace)
        emit_json({**header, **fields, "failures": broken, "trace": place, "min_success": min_success, "ok": passed})
    else:
        show_summary(stdout(), result.summary)
    if not passed:
        raise typer.Exit(FAILED)
