"""From a run's options to TRL's configuration."""

from __future__ import annotations

import difflib
import importlib.util
from dataclasses import fields
from pathlib import Path
from typing import Any

from grpo_envs.errors import GrpoEnvsError, MissingExtra
from trainers.train.options import TrainOptions

__all__ = ["UnknownTrlArgument", "grpo_config"]


class UnknownTrlArgument(GrpoEnvsError, ValueError):
    """Raised when `trl.GRPOConfig` has no argument of a name, or refuses its value."""


def grpo_config(options: TrainOptions, folder: Path) -> Any:
    """Return a `trl.GRPOConfig`.

    No KL term and a constant learning rate: runs are short. Mixed precision and gradient checkpointing only on a GPU,
    where they pay.

    Raises:
        UnknownTrlArgument: If TRL does not take what the options pass on to it.
        MissingExtra: If vLLM is asked for and not installed.
    """
    import torch
    from trl import GRPOConfig

    gpu = torch.cuda.is_available()
    arguments: dict[str, Any] = {
        "output_dir": str(folder),
        "max_steps": options.steps,
        "per_device_train_batch_size": options.batch,
        "num_generations": options.group_size,
        "max_completion_length": options.max_tokens,
        "temperature": options.temperature,
        "learning_rate": options.lr,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": min(5, options.steps // 4),
        "beta": 0.0,
        "max_grad_norm": 1.0,
        "seed": options.seed,
        "bf16": gpu and torch.cuda.is_bf16_supported(),
        "gradient_checkpointing": gpu,
        "use_cpu": not gpu,
        "logging_steps": 1,
        "save_strategy": "steps",
        "save_steps": options.save_every,
        "save_total_limit": 1,
        "report_to": [],
        "disable_tqdm": True,
        "dataloader_pin_memory": gpu,
    }
    if options.trl.get("use_vllm") and importlib.util.find_spec("vllm") is None:
        raise MissingExtra("generating with vLLM needs a GPU and: pip install 'trl[vllm]'")
    known = {each.name for each in fields(GRPOConfig)}
    for name in options.trl:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UnknownTrlArgument(f"trl.GRPOConfig has no argument {name!r}{hint}")
    try:
        return GRPOConfig(**{**arguments, **options.trl})
    except (TypeError, ValueError) as error:
        raise UnknownTrlArgument(f"trl.GRPOConfig refuses its arguments: {error}") from error
