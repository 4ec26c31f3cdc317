"""Time the tool calls of one batch of rollouts, in our rollout and in TRL's own tool loop.

Usage: python benchmarks/trl_tools.py [ROLLOUTS] [SECONDS]. Eight rollouts each call a tool that takes half a second; a
script stands in for the model, so that nothing but the tools takes time. Prints one JSON line; the bar is 1.2 s.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# Before the imports, which read them.
for name in ("HF_HUB_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "TRL_EXPERIMENTAL_SILENCE"):
    os.environ.setdefault(name, "1")

from transformers import Qwen3Config, Qwen3ForCausalLM  # noqa: E402
from trl import GRPOConfig, GRPOTrainer  # noqa: E402

from grpo_envs import LanguageEnv, Task, TaskSet, call_text, tool  # noqa: E402
from rewards import reward  # noqa: E402
from trainers.embedded.tokenizer import build_tokenizer  # noqa: E402
from trainers.trl import EnvGRPOTrainer, EnvSpec  # noqa: E402

TASKS = TaskSet([Task(f"t{i}", f"Wait, then say {i}.", str(i)) for i in range(8)])
BAR_S = 1.2


@reward(name="answer")
def said(completion: str, answer: str) -> bool:
    return completion.strip() == answer


class SlowEnv(LanguageEnv):
    """Has one tool, which takes a while."""

    def __init__(self, tasks: TaskSet = TASKS) -> None:
        super().__init__(tasks, said, max_turns=4)

    @tool
    def wait(self, seconds: float) -> str:
        """Wait.

        Args:
            seconds: How long.
        """
        time.sleep(seconds)
        return "done"


class Scripted:
    """Calls the tool, then answers."""

    seconds = 0.5

    def _generate_single_turn(self, prompt_ids: Any, *_: Any, **__: Any) -> tuple[list[list[int]], None]:
        tokenizer = self._tokenizer  # type: ignore[attr-defined]
        texts = [tokenizer.decode(ids) for ids in prompt_ids]
        call = f"<tool_call>{call_text('wait', seconds=self.seconds)}</tool_call>"
        written = [re.findall(r"say (\d+)", text)[-1] if "done" in text else call for text in texts]
        return [[*tokenizer.encode(text), tokenizer.eos_token_id] for text in written], None


class Ours(Scripted, EnvGRPOTrainer):
    """Our rollout."""


class Theirs(Scripted, GRPOTrainer):
    """TRL's own tool loop."""


def timed(trainer: Any) -> float:
    """Return the seconds one batch of rollouts takes."""
    rows = [dict(row) for row in next(iter(trainer.get_train_dataloader()))]
    trainer.model.train()
    started = time.perf_counter()
    trainer._generate_and_score_completions(rows)
    seconds = time.perf_counter() - started
    reached = trainer._metrics["train"]["reward"][-1]
    if reached != 1.0:
        raise SystemExit(f"the script should score 1.0, scored {reached}")
    return seconds


def main() -> None:
    rollouts = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    Scripted.seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    spec = EnvSpec(SlowEnv, split="all", name="slow")
    tokenizer = build_tokenizer([task.prompt for task in TASKS], spec.tools, vocabulary=600, context=2048)
    sizes = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "head_dim": 16,
    }
    model = Qwen3ForCausalLM(
        Qwen3Config(vocab_size=len(tokenizer), num_key_value_heads=1, max_position_embeddings=2048, **sizes)
    )
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=str(Path(folder)),
            per_device_train_batch_size=rollouts,
            num_generations=4,
            report_to="none",
            use_cpu=True,
            bf16=False,
        )
        ours = Ours(model, spec, config, processing_class=tokenizer)
        theirs = Theirs(
            model,
            spec.reward_funcs,
            config,
            train_dataset=spec.train_dataset,
            environment_factory=spec.environment_factory,
            processing_class=tokenizer,
        )
        ours_s, trl_s = timed(ours), timed(theirs)
        spec.close()
    result = {
        "benchmark": "trl_tools",
        "rollouts": rollouts,
        "tool_s": Scripted.seconds,
        "ours_s": round(ours_s, 2),
        "trl_s": round(trl_s, 2),
        "bar_s": BAR_S,
        "met": ours_s < BAR_S,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
