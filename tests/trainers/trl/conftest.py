"""A tiny model, environments that misbehave on request, and TRL trainers whose policy follows a script."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import add_response_schema

from grpo_envs import LanguageEnv, Task, TaskSet, call_text, tool
from rewards import reward
from rewards.errors import Skip
from trainers.trl import EnvGRPOTrainer, EnvSpec

TASKS = TaskSet([Task(f"t{i}", f"Count to {i}.", str(i)) for i in range(40)], name="counting")


@reward(name="answer")
def count_reward(completion: str, answer: str) -> float:
    if completion.strip() == "skip":
        raise Skip("the policy cannot do this in earnest")
    if completion.strip() == "crash":
        raise ConnectionError("judge answered 503")
    return float(completion.strip() == answer)


class CounterEnv(LanguageEnv):
    """Counts; sleeps, raises and hangs when told to. Class attributes count what is alive and what runs at once."""

    live = 0
    running = 0
    most_running = 0
    lock = threading.Lock()
    broken_tasks: frozenset[str] = frozenset()

    def __init__(self, tasks: TaskSet = TASKS, *, max_turns: int = 4, label: str = "") -> None:
        super().__init__(tasks, count_reward, max_turns=max_turns, instructions=f"Count.{label}")
        self.total = 0
        with CounterEnv.lock:
            CounterEnv.live += 1

    def _release(self) -> None:
        with CounterEnv.lock:
            CounterEnv.live -= 1

    def _prompt(self, task: Task) -> str:
        if task.id in CounterEnv.broken_tasks:
            raise OSError("no sandbox is left")
        self.total = 0
        return task.prompt

    def _get_state(self) -> dict[str, Any]:
        return {"total": self.total}

    @tool
    def add(self, amount: int = 1) -> str:
        """Add to the total.

        Args:
            amount: How much.
        """
        self.total += amount
        return f"total {self.total}"

    @tool
    def sleep(self, seconds: float) -> str:
        """Take a while.

        Args:
            seconds: How long.
        """
        with CounterEnv.lock:
            CounterEnv.running += 1
            CounterEnv.most_running = max(CounterEnv.most_running, CounterEnv.running)
        time.sleep(seconds)
        with CounterEnv.lock:
            CounterEnv.running -= 1
        return "rested"

    @tool
    def boom(self, kind: str) -> str:
        """Fail.

        Args:
            kind: How.
        """
        raise RuntimeError(f"lost the {kind}")

    @tool
    def echo(self, text: str) -> str:
        """Say it again.

        Args:
            text: What.
        """
        return text


class EchoEnv(CounterEnv):
    """Another environment, with a tool of its own."""

    @tool
    def shout(self, text: str) -> str:
        """Say it loudly.

        Args:
            text: What.
        """
        return text.upper()


def call(name: str, **arguments: Any) -> str:
    """A tool call as Qwen writes it."""
    return f"<tool_call>\n{call_text(name, **arguments)}\n</tool_call>"


Script = Callable[[int, int, str], str]
"""From (row among those that go on, turn, text so far) to what the policy writes; a "…" at its end leaves it open."""


class Scripted:
    """A trainer whose policy follows `script` instead of the model. Everything else is TRL's."""

    script: Script

    def _generate_single_turn(
        self, prompt_ids: Any, images: Any, multimodal_fields: Any, num_generations: int, has_tool_images: bool = False
    ) -> tuple[list[list[int]], None]:
        tokenizer = self._tokenizer  # type: ignore[attr-defined]
        self.groups = [*getattr(self, "groups", []), num_generations]
        ids = []
        for row, prompt in enumerate(prompt_ids):
            text = tokenizer.decode(prompt)
            turn = text.count("<|im_start|>assistant") - 1
            written = type(self).script(row, turn, text)
            ended = [] if written.endswith("…") else [tokenizer.eos_token_id]
            ids.append(tokenizer.encode(written.removesuffix("…"), add_special_tokens=False) + ended)
        return ids, None


class ScriptedTRL(Scripted, GRPOTrainer):
    pass


class ScriptedEnv(Scripted, EnvGRPOTrainer):
    pass


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerFast:
    templates = Path(trl.__file__).parent / "chat_templates"
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    template = (templates / "qwen3.jinja").read_text(encoding="utf-8")
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bpe = trainers.BpeTrainer(vocab_size=700, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    raw.train_from_iterator([template, *(task.prompt for task in TASKS)], bpe)
    made = PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>", padding_side="left"
    )
    made.chat_template = template
    return add_response_schema(made)


@pytest.fixture(scope="session")
def new_model(tokenizer: Any) -> Callable[[], Qwen3ForCausalLM]:
    def build() -> Qwen3ForCausalLM:
        config = Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=16,
            max_position_embeddings=4096,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
        return Qwen3ForCausalLM(config)

    return build


@pytest.fixture
def new_config(tmp_path: Path) -> Callable[..., GRPOConfig]:
    def build(**options: Any) -> GRPOConfig:
        usual = {
            "output_dir": str(tmp_path / "out"),
            "per_device_train_batch_size": 8,
            "num_generations": 4,
            "max_completion_length": 400,
            "max_steps": 1,
            "learning_rate": 1e-4,
            "logging_steps": 1,
            "report_to": "none",
            "use_cpu": True,
            "bf16": False,
            "gradient_checkpointing": False,
            "save_strategy": "no",
            "disable_tqdm": True,
            "shuffle_dataset": False,
        }
        return GRPOConfig(**{**usual, **options})

    return build


@pytest.fixture
def kit(tokenizer: Any, new_model: Any, new_config: Any) -> Iterator[SimpleNamespace]:
    """Builders of trainers with a scripted policy, and the environments they are tried on."""
    CounterEnv.live = CounterEnv.running = CounterEnv.most_running = 0
    CounterEnv.broken_tasks = frozenset()

    def ours(spec: Any, script: Script, *, points: Any = None, trace_path: Any = None, **config: Any) -> ScriptedEnv:
        cls = type("Trainer", (ScriptedEnv,), {"script": staticmethod(script)})
        extra = {key: config.pop(key) for key in ("reward_funcs", "train_dataset", "eval_dataset") if key in config}
        return cls(
            new_model(),
            spec,
            new_config(**config),
            points=points,
            trace_path=trace_path,
            processing_class=tokenizer,
            **extra,
        )

    def plain(script: Script, *, config: dict[str, Any] | None = None, **options: Any) -> ScriptedTRL:
        cls = type("Trainer", (ScriptedTRL,), {"script": staticmethod(script)})
        return cls(new_model(), args=new_config(**(config or {})), processing_class=tokenizer, **options)

    specs: list[EnvSpec] = []

    def spec(**options: Any) -> EnvSpec:
        usual = {"id": CounterEnv, "split": "all", "n_tasks": 2, "name": "counter", "timeout_s": 10.0}
        specs.append(EnvSpec(**{**usual, **options}))
        return specs[-1]

    def batch(trainer: Any) -> list[dict[str, Any]]:
        return [dict(row) for row in next(iter(trainer.get_train_dataloader()))]

    yield SimpleNamespace(
        ours=ours, plain=plain, spec=spec, batch=batch, call=call, Counter=CounterEnv, Echo=EchoEnv, tasks=TASKS
    )
    for each in specs:
        each.close()
