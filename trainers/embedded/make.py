"""Make the embedded policy of an environment, or find the one made before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import grpo_envs
from grpo_envs.env import LanguageEnv
from grpo_envs.tasks import Task
from trainers.cache import cache_dir, filled_atomically
from trainers.embedded.demos import Demo, demonstrations
from trainers.embedded.recipe import Recipe
from trainers.embedded.warmstart import Progress
from trainers.splits import held_out_tasks, training_tasks

__all__ = ["embedded_policy", "recipe_key"]

_UNSEEN = 64


def embedded_policy(
    env_id: str,
    env_args: Mapping[str, Any] | None = None,
    *,
    recipe: Recipe | None = None,
    progress: Progress | None = None,
) -> Path:
    """Return the folder of an environment's embedded policy, making it the first time.

    The folder is named by a hash of the environment's id, arguments, tools, instructions and first tasks, of the
    recipe, and of this package's code: whatever would change the policy changes the name.

    Args:
        env_id: Id of a registered environment whose oracle can solve its tasks.
        env_args: Arguments of the environment.
        recipe: How it is made.
        progress: Called after every supervised step.

    Returns:
        A folder that transformers' `from_pretrained` reads.

    Raises:
        UnknownEnv: If nothing is registered under the id.
        NoOracle: If the environment's tasks do not say how they are solved.
    """
    recipe = recipe or Recipe()
    with grpo_envs.make(env_id, **(env_args or {})) as env:
        name = env_id.split("/")[-1].replace("-", "_").lower()
        folder = cache_dir() / "embedded" / f"{name}-{recipe_key(env, env_id, env_args or {}, recipe)}"
        if not (folder / "config.json").is_file():
            _make(env, folder, recipe, progress)
    return folder


def recipe_key(env: LanguageEnv, env_id: str, env_args: Mapping[str, Any], recipe: Recipe) -> str:
    """Return a hash of everything that the policy depends on."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    shown = [env.tasks[i].row for i in range(min(20, len(env.tasks)))]
    content = [
        env_id,
        {key: str(value) for key, value in env_args.items()},
        [spec.to_openai() for spec in env.tools],
        [env.instructions, env.max_turns, len(env.tasks), shown],
        asdict(recipe),
        [source.read_text(encoding="utf-8") for source in sources],
    ]
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _make(env: LanguageEnv, folder: Path, recipe: Recipe, progress: Progress | None) -> None:
    from trainers.embedded.model import build_model
    from trainers.embedded.tokenizer import build_tokenizer
    from trainers.embedded.warmstart import encode, warm_start

    tasks = list(training_tasks(env.tasks))
    held, _ = held_out_tasks(env.tasks, _UNSEEN, seed=recipe.seed)
    skill = _demos(env, tasks, recipe.skill_demos, recipe, 1.0)
    mixed = _demos(env, tasks, recipe.mixed_demos, recipe, recipe.right_share)
    unseen = _demos(env, list(held), len(held), recipe, 1.0)
    texts = [str(m["content"]) for demo in (*skill, *mixed) for m in demo.messages]
    # Tool names stand in every prompt, so they are worth tokens of their own.
    texts += [f" Tools: {spec.name}({', '.join(spec.parameters.get('properties', {}))})" for spec in env.tools] * 50
    kinds = {"skill": skill, "unseen": unseen, "mixed": mixed}
    tokenizer = build_tokenizer(texts, env.tools, vocabulary=recipe.vocabulary, context=recipe.context)
    model = build_model(tokenizer, recipe)
    rows = {name: [encode(tokenizer, demo, env.tools) for demo in demos] for name, demos in kinds.items()}
    result = warm_start(model, **rows, recipe=recipe, progress=progress)
    with filled_atomically(folder) as temporary:
        tokenizer.save_pretrained(temporary)
        report = {
            "recipe": asdict(recipe),
            "warm_start": asdict(result),
            "mixed_success": sum(demo.success for demo in mixed) / len(mixed),
        }
        (temporary / "warm_start.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
        model.save_pretrained(temporary)


def _demos(env: LanguageEnv, tasks: list[Task], n: int, recipe: Recipe, right_share: float) -> list[Demo]:
    return list(
        demonstrations(
            env, tasks, n, right_share=right_share, mistakes=recipe.mistakes, seed=recipe.seed + int(1e6 * right_share)
        )
    )
