"""Play episodes with live progress; shared by `run` and `eval`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grpo_envs.cli.environments import Stage
from grpo_envs.cli.faults import BadUsage, one_sentence
from grpo_envs.cli.output import complain, number, stderr, table
from rewards.sync import run_sync

if TYPE_CHECKING:
    from rich.console import Console

    from grpo_envs.policies.base import Policy
    from grpo_envs.rollouts import RolloutResult, Summary
    from grpo_envs.traces import Trace

__all__ = ["Round", "causes", "make_policy", "passes", "show_summary", "summary_fields"]

_CAUSES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Round:
    """How to play.

    Attributes:
        group_size: Episodes of each task.
        concurrency: Episodes in flight.
        seed: Seed of the round.
        step_timeout_s: Seconds one reset or step may take.
        trace: Where traces go.
    """

    group_size: int = 1
    concurrency: int = 16
    seed: int = 0
    step_timeout_s: float | None = None
    trace: Path | None = None

    def play(self, stage: Stage, policy: Policy) -> RolloutResult:
        """Play every task of `stage` with `policy`, which is closed at the end."""
        from grpo_envs.rollouts import AsyncRollouts, run_rollouts
        from grpo_envs.traces import TraceWriter

        total = len(stage.tasks) * self.group_size
        with ExitStack() as stack:
            stack.callback(lambda: run_sync(policy.aclose()))
            stack.callback(stage.env.close)
            rollouts = AsyncRollouts(
                stage.another,
                policy,
                env_id=stage.info.id,
                concurrency=min(self.concurrency, total),
                seed=self.seed,
                step_timeout_s=self.step_timeout_s,
                writer=None if self.trace is None else stack.enter_context(TraceWriter(self.trace)),
            )
            report = stack.enter_context(_progress(total, f"{policy.name} on {stage.info.id}"))
            return run_rollouts(rollouts, stage.tasks, group_size=self.group_size, progress=report)


def make_policy(spec: str, options: Mapping[str, Any], stage: Stage) -> Policy:
    """Make a policy that plays in the environment of `stage`.

    Raises:
        BadUsage: If there is no such policy, or it does not take the options.
        MissingExtra: If it needs a package that is not installed.
    """
    from grpo_envs.policies import resolve

    if spec.partition(":")[0] == "transformers":
        # An embedded model is made for one environment: it must be told which.
        options = {"env_id": stage.info.id, "env_args": dict(stage.arguments), **options}
    try:
        policy = resolve(spec, **options)
        # One that loads a model may offer to do so now: what is wrong with it is then said once, not by every episode.
        prepare = getattr(policy, "prepare", None)
        if prepare is not None:
            prepare()
        return policy
    except (TypeError, ValueError) as error:
        raise BadUsage(f"policy {spec!r} cannot be made: {one_sentence(error)}") from error


def causes(traces: list[Trace]) -> dict[str, int]:
    """Return what broke episodes, with how many each, most first."""
    return dict(Counter(one_sentence(trace.error) for trace in traces if trace.error).most_common())


def passes(fields: Mapping[str, Any], broken: Mapping[str, int], min_success: float) -> bool:
    """Return whether a round is one for exit code 0, and say on stderr why it is not."""
    for cause, count in list(broken.items())[:_CAUSES_SHOWN]:
        complain(f"{count} of {fields['episodes']} episodes broke: {cause}")
    if fields["success_rate"] < min_success:
        complain(f"success {fields['success_rate']:.3f} is below --min-success {min_success:g}")
    return not broken and fields["success_rate"] >= min_success


def summary_fields(summary: Summary) -> dict[str, Any]:
    """Return a summary as JSON data."""
    return {
        "episodes": summary.episodes,
        "successes": summary.successes,
        "success_rate": summary.successes / summary.episodes,
        "mean_reward": summary.mean_reward,
        "parts": dict(summary.parts),
        "statuses": dict(summary.statuses),
        "turns": summary.turns,
        "seconds": summary.seconds,
        "steps_per_s": summary.turns / summary.seconds if summary.seconds else None,
    }


def show_summary(console: Console, summary: Summary) -> None:
    """Print the parts, the statuses, and the line that ends with how many succeeded."""
    parts = table("part", "mean", right=("mean",))
    for name, mean in summary.parts.items():
        parts.add_row(name, number(mean))
    parts.add_row("[bold]reward[/bold]", f"[bold]{number(summary.mean_reward)}[/bold]")
    console.print(parts)
    console.print("status   " + ", ".join(f"{count} {name}" for name, count in summary.statuses.items()))
    rate = f"{summary.turns / summary.seconds:.1f} steps/s" if summary.seconds else ""
    console.print(f"time     {summary.seconds:.1f} s, {summary.turns} turns, {rate}")
    console.print(f"success  [bold]{summary.successes}/{summary.episodes}[/bold]")


@contextmanager
def _progress(total: int, label: str) -> Iterator[Callable[[Trace], None] | None]:
    """Show how many episodes ended and succeeded, if stderr is a terminal."""
    console = stderr()
    if not console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    started, successes = time.perf_counter(), 0
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        bar = progress.add_task(label, total=total, rate="")

        def report(trace: Trace) -> None:
            nonlocal successes
            successes += trace.success is True
            per_s = successes / (time.perf_counter() - started)
            progress.update(bar, advance=1, rate=f"{successes} succeeded, {per_s:.1f}/s")

        yield report
