"""The end of a run on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainers.train.heldout import HeldOut
from trainers.train.progress import clock
from trainers.train.run import TrainResult

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["show"]


def show(console: Console, result: TrainResult) -> None:
    """Print what the run came to, and where its files are."""
    options, folder = result.options, result.folder
    console.print(f"\n[bold]{options.env}[/bold], {options.model}, seed {options.seed}")
    if result.before is not None:
        _held_out(console, result.before, result.after, unseen=result.unseen)
    console.print(f"steps    {result.steps} of {options.steps}, {clock(result.seconds)} min of training")
    console.print(f"files    {folder}/: curve.png, metrics.jsonl, traces.jsonl, summary.json", soft_wrap=True)
    if result.interrupted:
        console.print(f"stopped; go on with: grpo-envs train --resume {folder}", soft_wrap=True)
    else:
        console.print(f"model    {folder}/model", soft_wrap=True)


def _held_out(console: Console, before: HeldOut, after: HeldOut | None, *, unseen: bool) -> None:
    from rich import box
    from rich.table import Table

    kind = "held-out" if unseen else "training (too few to hold any out)"
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(f"{before.tasks} {kind} tasks x {before.samples}")
    for name in ("before", "after", "gain"):
        table.add_column(name, justify="right")
    rows = {"success, temperature 1": "success", "success, greedy": "greedy", "reward": "reward"}
    for label, name in rows.items():
        first, last = getattr(before, name), None if after is None else getattr(after, name)
        table.add_row(label, *_cells(first, last))
    for name, value in before.parts.items():
        table.add_row(f"  {name}", *_cells(value, None if after is None else after.parts.get(name)))
    console.print(table)
    broken = before.excluded + (after.excluded if after else 0)
    if broken:
        console.print(f"{broken} episodes broke and are left out of these figures")


def _cells(first: float, last: float | None) -> tuple[str, str, str]:
    if last is None:
        return f"{first:.3f}", "–", "–"
    return f"{first:.3f}", f"{last:.3f}", f"{last - first:+.3f}"
