"""`grpo-envs lint`: what is wrong with a reward before anything is trained on it."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from grpo_envs.cli.options import JsonFlag

if TYPE_CHECKING:
    from rewards.reward import Reward

__all__ = ["available", "lint"]

_LINTER = "rewards.lint"
_HARMLESS = ("info", "note")


def available() -> bool:
    """Return whether this version has a linter; without one the command is not listed."""
    return importlib.util.find_spec(_LINTER) is not None


def lint(
    target: Annotated[
        str, typer.Argument(metavar="REWARD|ENV", help="Name of a reward, or id of an environment (it holds a '/').")
    ],
    json: JsonFlag = False,
) -> None:
    """Report signs, dead parts, dominating weights and the reachable range of a reward, from its bounds alone.

    The exit code is 1 if a finding is more than a remark.
    """
    from grpo_envs.cli.faults import FAILED
    from grpo_envs.cli.output import emit_json, stdout, table

    reward = _reward(target)
    findings = [_plain(each) for each in importlib.import_module(_LINTER).lint(reward)]
    if json:
        bounds = [reward.bounds.low, reward.bounds.high]
        emit_json({"target": target, "reward": reward.name, "bounds": bounds, "findings": findings})
    else:
        console = stdout()
        if findings:
            shown = table(*findings[0])
            for each in findings:
                shown.add_row(*(str(value) for value in each.values()))
            console.print(shown)
        console.print(f"{reward.name}: {reward.bounds.low:g} … {reward.bounds.high:g}, {len(findings)} findings")
    if any(each.get("severity") not in _HARMLESS for each in findings):
        raise typer.Exit(FAILED)


def _reward(target: str) -> Reward:
    if "/" not in target:
        import rewards

        return rewards.make(target)
    from grpo_envs.cli.environments import EnvRequest

    stage = EnvRequest(target).open()
    stage.env.close()
    return stage.env.reward


def _plain(finding: Any) -> dict[str, Any]:
    """Return a finding, a dataclass, as JSON data."""
    return {name: list(v) if _is_list(v) else v for name, v in asdict(finding).items()}


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, dict))
