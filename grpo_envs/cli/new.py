"""`grpo-envs new`: scaffold an environment of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from grpo_envs.cli.options import JsonFlag

__all__ = ["new"]


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the environment, such as tea_shop.")],
    folder: Annotated[Path, typer.Option("--folder", file_okay=False, help="Where its folder is made.")] = Path(),
    json: JsonFlag = False,
) -> None:
    """Write an environment with its reward and its test, each under 40 lines, that work as they are."""
    from grpo_envs.cli.output import emit_json, stdout
    from grpo_envs.scaffold import write

    made = write(name, folder)
    steps = [
        f"cd {made.folder}",
        "python -m pytest -q",
        f"grpo-envs run {made.module}:{made.id} --policy oracle",
    ]
    if json:
        emit_json({"id": made.id, "module": made.module, "files": [str(path) for path in made.files], "next": steps})
        return
    console = stdout()
    for path in made.files:
        console.print(f"wrote {path}", markup=False)
    console.print("next:")
    for step in steps:
        console.print(f"  {step}", markup=False, soft_wrap=True)
