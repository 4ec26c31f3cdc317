"""`grpo-envs score`: judge one completion."""

from __future__ import annotations

from typing import Annotated

import typer

from grpo_envs.cli.options import JsonFlag

__all__ = ["score"]


def score(
    reward: Annotated[str, typer.Argument(metavar="REWARD", help="Name of a reward, as 'grpo-envs list' shows it.")],
    completion: Annotated[str, typer.Option(help="What the policy wrote; - reads it from stdin.")],
    answer: Annotated[str | None, typer.Option(help="The right answer.")] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Column of the task that the reward asks for; the value is JSON."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Judge one completion with a named reward. The exit code is 1 if there is no score (infra_error or skipped)."""
    import rewards
    from grpo_envs.cli.arguments import parse_pairs
    from grpo_envs.cli.faults import FAILED
    from grpo_envs.cli.output import emit_json, number, stdout, table

    task = {**({} if answer is None else {"answer": answer}), **parse_pairs(field, "--field")}
    text = typer.get_text_stream("stdin").read() if completion == "-" else completion
    found = rewards.make(reward).score_sync([rewards.Sample(text, task)])[0]
    if json:
        emit_json({"reward": reward, **found.to_dict()})
    else:
        from rich.markup import escape

        shown = table("part", "value", "weight", "status", "detail", right=("value", "weight"))
        for name, part in found.parts.items():
            shown.add_row(name, number(part.value), f"{part.weight:g}", part.status.value, escape(part.detail))
        console = stdout()
        console.print(shown)
        console.print(f"[bold]{number(found.value)}[/bold]  {found.status.value}  {escape(found.detail)}")
    if found.value is None:
        raise typer.Exit(FAILED)
