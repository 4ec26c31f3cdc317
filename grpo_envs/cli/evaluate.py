"""`grpo-envs eval`: measure a model on an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

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

if TYPE_CHECKING:
    from grpo_envs.rollouts import RolloutResult

__all__ = ["evaluate"]


def evaluate(
    env: EnvId,
    model: Annotated[
        str,
        typer.Option(
            help="Model at --base-url; else a local folder or Hub id for transformers; else POLICY or POLICY:ARGUMENT, "
            "such as oracle or openai:NAME."
        ),
    ],
    base_url: Annotated[
        str | None, typer.Option(help="OpenAI-compatible endpoint, up to and including /v1; OPENAI_API_KEY is sent.")
    ] = None,
    samples: Annotated[int, typer.Option(min=1, help="Samples of each task.")] = 1,
    k: Annotated[
        list[int] | None,
        typer.Option("--k", min=1, help="Report pass@K; may be repeated. [default: 1 and --samples]"),
    ] = None,
    temperature: Annotated[float, typer.Option(min=0.0, help="Sampling temperature.")] = 1.0,
    greedy: Annotated[bool, typer.Option("--greedy", help="Temperature 0, one sample.")] = False,
    max_tokens: Annotated[int, typer.Option(min=1, help="Most tokens of one turn.")] = 1024,
    model_arg: Annotated[
        list[str] | None,
        typer.Option("--model-arg", metavar="NAME=VALUE", help="Further argument of the model's policy."),
    ] = None,
    episodes: Episodes = None,
    suite: Suite = None,
    data: Data = None,
    split: SplitName = "all",
    shuffle: Shuffle = False,
    seed: Seed = 0,
    env_arg: EnvArgs = None,
    concurrency: Concurrency = 32,
    step_timeout: StepTimeout = None,
    trace: TraceFile = None,
    min_success: MinSuccess = 0.0,
    json: JsonFlag = False,
) -> None:
    """Measure a model: pass@1, pass@k, each part's mean, and 95 % intervals over tasks.

    Episodes that broke (status infra_error) are left out of the figures and counted beside them; the exit code is then
    1, as it is when fewer than --min-success of the episodes succeeded.
    """
    from grpo_envs.cli.environments import EnvRequest
    from grpo_envs.cli.faults import FAILED
    from grpo_envs.cli.models import ModelRequest
    from grpo_envs.cli.rounds import Round

    ks = _ks(k, samples, greedy)
    stage = EnvRequest(env, suite, data, split, seed, env_arg or ()).open()
    stage = stage.choose(episodes, seed if shuffle else None)
    heat = 0.0 if greedy else temperature
    policy = ModelRequest(model, base_url, heat, max_tokens, model_arg or ()).make(stage)
    result = Round(samples, concurrency, seed, step_timeout, trace).play(stage, policy)
    header = {"env": stage.info.id, "model": policy.name, "tasks": len(stage.tasks), "samples": samples}
    header |= {"temperature": heat, "trace": None if trace is None else str(trace), "min_success": min_success}
    if not _report(result, ks, header, seed=seed, min_success=min_success, json=json):
        raise typer.Exit(FAILED)


def _ks(k: list[int] | None, samples: int, greedy: bool) -> list[int]:
    from grpo_envs.cli.faults import BadUsage

    if greedy and samples > 1:
        raise BadUsage(f"--greedy gives one answer, so --samples {samples} would repeat it; leave one of them out")
    wanted = sorted(set(k or (1, samples)))
    if wanted[-1] > samples:
        raise BadUsage(f"pass@{wanted[-1]} needs at least {wanted[-1]} samples of each task; raise --samples")
    return wanted


def _report(
    result: RolloutResult, ks: list[int], header: dict[str, Any], *, seed: int, min_success: float, json: bool
) -> bool:
    from grpo_envs.cli.measures import measure, show_measures
    from grpo_envs.cli.output import emit_json, stdout
    from grpo_envs.cli.rounds import causes, passes, show_summary, summary_fields

    measures, broken = measure(result.traces, ks, seed), causes(result.traces)
    fields = summary_fields(result.summary)
    passed = passes(fields, broken, min_success)
    if json:
        emit_json({**header, **fields, **measures.to_dict(), "failures": broken, "ok": passed})
    else:
        show_measures(stdout(), measures)
        show_summary(stdout(), result.summary)
    return passed
