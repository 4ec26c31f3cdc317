"""`grpo-envs doctor`: what this machine has and lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from grpo_envs.cli.options import JsonFlag

if TYPE_CHECKING:
    from rich.console import Console

    from grpo_envs.doctor import Report

__all__ = ["doctor"]


def doctor(json: JsonFlag = False) -> None:
    """Report Python, extras, isolation, Docker, GPU and memory; what each missing piece costs, and how to mend it.

    The exit code is 3 if something is broken that every environment needs, and 0 otherwise.
    """
    from grpo_envs.cli.faults import LACKING
    from grpo_envs.cli.output import emit_json, stdout
    from grpo_envs.doctor import examine

    report = examine()
    if json:
        emit_json(report.to_dict())
    else:
        _show(stdout(), report)
    if not report.ok:
        raise typer.Exit(LACKING)


def _show(console: Console, report: Report) -> None:
    from rich.markup import escape

    from grpo_envs.cli.output import table
    from grpo_envs.doctor import State

    colours = {State.OK: "green", State.MISSING: "yellow", State.BROKEN: "red"}
    shown = table("", "what", "found", whole=("", "what"))
    for check in report.checks:
        lines = [escape(check.found)]
        if check.cost:
            lines.append(f"[dim]costs:[/dim] {escape(check.cost)}")
        if check.remedy:
            lines.append(f"[dim]mend:[/dim]  {escape(check.remedy)}")
        mark = f"[{colours[check.state]}]{check.state.value}[/{colours[check.state]}]"
        shown.add_row(mark, f"[dim]{check.group}[/dim] {escape(check.name)}", "\n".join(lines))
    console.print(shown)
    broken = [check.name for check in report.checks if check.state is State.BROKEN]
    console.print(f"broken: {', '.join(broken)}" if broken else "The core works.", markup=False)
