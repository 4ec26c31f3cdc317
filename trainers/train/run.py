"""A training run from options to files: held-out success, GRPO, held-out success again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import grpo_envs
from grpo_envs.tasks import Split, Task, TaskSet
from trainers.splits import held_out_tasks, training_tasks
from trainers.train import metrics
from trainers.train.heldout import HeldOut, measure
from trainers.train.options import NothingToResume, TrainOptions
from trainers.train.progress import ProgressDisplay, clock

__all__ = ["TrainResult", "run_training"]


@dataclass(frozen=True, slots=True)
class TrainResult:
    """What a run came to.

    Attributes:
        folder: Where everything is.
        options: What was run.
        steps: Steps taken, those before a resume included.
        seconds: Duration of the training steps, those before a resume included.
        before: Held-out success before training; None if no evaluation was wanted.
        after: Held-out success after it; None if the run was interrupted as well.
        interrupted: Whether the user stopped it.
        unseen: Whether the held-out tasks were kept out of training.
    """

    folder: Path
    options: TrainOptions
    steps: int
    seconds: float
    before: HeldOut | None
    after: HeldOut | None
    interrupted: bool
    unseen: bool

    @property
    def gain(self) -> float | None:
        """Return how much the held-out success rose."""
        return None if self.after is None or self.before is None else self.after.success - self.before.success

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        return {**asdict(self), "folder": str(self.folder), "gain": self.gain}


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a run."""

    folder: Path

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics.jsonl"

    @property
    def traces(self) -> Path:
        return self.folder / "traces.jsonl"

    @property
    def before(self) -> Path:
        return self.folder / "heldout_before.json"

    @property
    def after(self) -> Path:
        return self.folder / "heldout_after.json"

    @property
    def curve(self) -> Path:
        return self.folder / "curve.png"

    @property
    def model(self) -> Path:
        return self.folder / "model"

    @property
    def summary(self) -> Path:
        return self.folder / "summary.json"

    def checkpoint(self) -> Path | None:
        """Return the newest checkpoint."""
        found = [path for path in self.folder.glob("checkpoint-*") if (path / "trainer_state.json").is_file()]
        return max(found, key=lambda path: int(path.name.rsplit("-", 1)[1]), default=None)


def run_training(options: TrainOptions, folder: Path, display: ProgressDisplay, *, resume: bool = False) -> TrainResult:
    """Run or continue a training.

    Args:
        options: What to run; for a run that is continued, its own.
        folder: Where its files are.
        display: Shows how it goes.
        resume: Continue from the newest checkpoint.

    Raises:
        NothingToResume: If there is no checkpoint to continue from.
        UnknownModel: If there is no such model.
        NoOracle: If the embedded policy is asked for and the environment cannot demonstrate.
    """
    files = _Files(folder)
    checkpoint = files.checkpoint() if resume else None
    if resume and checkpoint is None:
        raise NothingToResume(f"{str(folder)!r} has no checkpoint yet; start again without --resume")
    options.save(folder)
    with _quiet_libraries():
        return _run(options, files, display, checkpoint)


def _run(options: TrainOptions, files: _Files, display: ProgressDisplay, checkpoint: Path | None) -> TrainResult:
    from grpo_envs.cli.environments import locate
    from trainers.models import load
    from trainers.train.config import grpo_config

    config = grpo_config(options, files.folder)
    # `MODULE:ID` registers the environment by importing the module; from here on its plain id will do.
    stage = replace(options, env=locate(options.env).id)
    model, tokenizer = load(_model_path(stage, display))
    env = grpo_envs.make(stage.env, **stage.env_args)
    env.close()
    held, unseen = held_out_tasks(env.tasks, options.eval_tasks)
    if not unseen:
        display.say(f"{env.tasks.name!r} is too small to keep tasks out: held-out figures are of training tasks")
    evaluate = _Evaluation(model, tokenizer, stage, list(held), display)
    before = (HeldOut.load(files.before) if checkpoint else None) or evaluate("before", files.before)
    interrupted = _train(model, tokenizer, config, stage, env.tasks, files, display, checkpoint)
    after = None if interrupted else evaluate("after", files.after)
    steps = metrics.read(files.metrics)
    result = TrainResult(
        folder=files.folder,
        options=options,
        steps=steps[-1].step if steps else 0,
        seconds=sum(step.seconds for step in steps),
        before=before,
        after=after,
        interrupted=interrupted,
        unseen=unseen,
    )
    _finish(result, files, steps)
    return result


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """Measures the policy as it is, on the same tasks each time."""

    model: Any
    tokenizer: Any
    options: TrainOptions
    tasks: list[Task]
    display: ProgressDisplay

    def __call__(self, name: str, file: Path) -> HeldOut | None:
        from trainers.trl import EnvSpec

        if not self.tasks:
            return None
        options = self.options
        make_env = EnvSpec(options.env, kwargs=dict(options.env_args)).make_env
        limits = {"samples": options.eval_samples, "max_tokens": options.max_tokens}
        result = measure(self.model, self.tokenizer, make_env, self.tasks, **limits)
        result.save(file)
        self.display.say(
            f"held-out success {name}: {result.success:.3f} sampled, {result.greedy:.3f} greedy "
            f"({result.tasks} tasks x {result.samples}, {result.seconds:.0f} s)"
        )
        return result


def _model_path(options: TrainOptions, display: ProgressDisplay) -> str:
    from trainers.embedded import Recipe
    from trainers.models import resolve_model

    began = time.perf_counter()
    if options.model == "embedded":
        display.say("warm start: teaching a 1 M parameter policy the environment's tools from demonstrations")
    path = resolve_model(
        options.model,
        env_id=options.env,
        env_args=options.env_args,
        recipe=Recipe(seed=options.warm_seed),
        progress=display.warming,
    )
    if options.model in ("embedded", "smollm2-135m"):
        display.say(f"model {options.model}: {path} ({clock(time.perf_counter() - began)} min)")
    return path


def _train(
    model: Any,
    tokenizer: Any,
    config: Any,
    options: TrainOptions,
    tasks: TaskSet,
    files: _Files,
    display: ProgressDisplay,
    checkpoint: Path | None,
) -> bool:
    """Train, and return whether the user interrupted it."""
    from trainers.train.callback import StepCallback, catch_interrupt
    from trainers.trl import EnvGRPOTrainer, EnvSpec

    split: Split = "train" if len(training_tasks(tasks)) < len(tasks) else "all"
    prompts = options.steps * options.batch // options.group_size
    spec = EnvSpec(
        options.env,
        kwargs=dict(options.env_args),
        split=split,
        seed=options.seed,
        n_tasks=prompts,
    )
    if checkpoint is None:
        files.metrics.unlink(missing_ok=True)
    else:
        metrics.upto(files.metrics, int(checkpoint.name.rsplit("-", 1)[1]))
    with catch_interrupt(display) as interrupt:
        callback = StepCallback(files.metrics, display, interrupt, rollouts=options.batch)
        trainer = EnvGRPOTrainer(
            model,
            spec,
            config,
            trace_path=files.traces,
            processing_class=tokenizer,
            callbacks=[callback],
        )
        _take_out_printers(trainer)
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    if not interrupt.asked:
        trainer.save_model(str(files.model))
        tokenizer.save_pretrained(files.model)
    return interrupt.asked


def _take_out_printers(trainer: Any) -> None:
    """Take out the callbacks that print: the run has a display of its own."""
    from transformers import PrinterCallback, ProgressCallback

    for kind in (PrinterCallback, ProgressCallback):
        trainer.remove_callback(kind)


def _finish(result: TrainResult, files: _Files, steps: list[metrics.StepMetrics]) -> None:
    from trainers.train.plot import draw

    title = f"{result.options.env}, {result.options.model}, seed {result.options.seed}"
    draw(steps, result.before, result.after, files.curve, title=title)
    files.summary.write_text(json.dumps(result.to_dict(), indent=1) + "\n", encoding="utf-8")


@contextmanager
def _quiet_libraries() -> Iterator[None]:
    """Keep the training libraries from printing bars and warnings of their own, and from sending telemetry."""
    import warnings

    from transformers.utils import logging

    transformers_logging: Any = logging

    wanted = {"HF_HUB_DISABLE_TELEMETRY": "1", "TRL_EXPERIMENTAL_SILENCE": "1", "TOKENIZERS_PARALLELISM": "false"}
    for name, value in wanted.items():
        os.environ.setdefault(name, value)
    level, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()
