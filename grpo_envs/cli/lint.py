"""`grpo-envs lint`: what is wrong with a reward before anything is trained on it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from grpo_envs.cli.options import JsonFlag

if TYPE_CHECKING:
    from rewards.reward import Reward

__all__ = ["lint"]


def lint(
    target: Annotated[
        str, typer.Argument(metavar="REWARD|ENV", help="Name of a reward, or id of an environment (it holds a '/').")
    ],
    json: JsonFlag = False,
) -> None:
    """Report signs, dead parts, dominating weights and the reachable range of a reward, from its bounds alone.

    The exit code is 1 if there is a warning, and 0 for remarks alone.
    """
    from grpo_envs.cli.faults import FAILED
    from grpo_envs.cli.output import emit_json, stdout, table
    from rewards.lint import lint as examine

    reward = _reward(target)
    findings = examine(reward)
    sound = all(finding.severity == "info" for finding in findings)
    low, high = reward.bounds.low, reward.bounds.high
    if json:
        listed = [asdict(finding) for finding in findings]
        emit_json({"target": target, "reward": reward.name, "bounds": [low, high], "findings": listed, "ok": sound})
    else:
        from rich.markup import escape

        console = stdout()
        shown = table("", "part", "finding", whole=("", "part"))
        for finding in findings:
            shown.add_row(finding.severity, finding.part or "total", escape(finding.message))
        if findings:
            console.print(shown)
        console.print(f"{escape(reward.name)} reaches {low:g} … {high:g}; {'sound' if sound else 'not sound'}")
    if not sound:
        raise typer.Exit(FAILED)


def _reward(target: str) -> Reward:
    if "/" not in target:
        import rewards

        return rewards.make(target)
    from grpo_envs.cli.environments import EnvRequest

    stage = EnvRequest(target).open()
    stage.env.close()
    return stage.env.reward
