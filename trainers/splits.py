"""Which tasks are trained on and which are held out."""

from __future__ import annotations

from grpo_envs.tasks import Split, TaskSet

__all__ = ["held_out_tasks", "training_tasks"]


def training_tasks(tasks: TaskSet) -> TaskSet:
    """Return the training split; all tasks where it is empty."""
    return tasks.split("train") if len(tasks.split("train")) else tasks


def held_out_tasks(tasks: TaskSet, n: int, *, seed: int = 0) -> tuple[TaskSet, bool]:
    """Return up to `n` distinct tasks that training never sees, and whether there were any.

    Args:
        tasks: All tasks.
        n: How many are wanted.
        seed: Seed of their order.

    Returns:
        Tasks of the test split; of the validation split where that is empty; of all tasks, with False, where both are.
    """
    splits: tuple[Split, ...] = ("test", "val")
    for split in splits:
        kept = tasks.split(split)
        if len(kept):
            return kept.distinct().shuffle(seed).head(n), True
    return tasks.shuffle(seed).head(n), False
