"""`grpo-envs describe`: everything about one environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from grpo_envs.cli.options import Data, EnvArgs, EnvId, JsonFlag, Seed, SplitName, Suite

if TYPE_CHECKING:
    from rich.console import Console

    from grpo_envs.cli.environments import Stage
    from rewards.reward import Reward

__all__ = ["describe", "reward_tree"]


def describe(
    env: EnvId,
    suite: Suite = None,
    data: Data = None,
    split: SplitName = "all",
    seed: Seed = 0,
    env_arg: EnvArgs = None,
    json: JsonFlag = False,
) -> None:
    """Show an environment's tools, reward, suites, turn limit, and an example task with its solution."""
    from grpo_envs.cli.environments import EnvRequest
    from grpo_envs.cli.output import emit_json, stdout

    stage = EnvRequest(env, suite, data, split, seed, env_arg or ()).open()
    try:
        facts = _facts(stage, seed)
    finally:
        stage.env.close()
    if json:
        emit_json(facts)
    else:
        _show(stdout(), facts)


def reward_tree(reward: Reward) -> dict[str, Any]:
    """Return a reward and those it is made of, with their bounds, as JSON data."""
    return {
        "name": reward.name,
        "kind": type(reward).__name__,
        "bounds": [reward.bounds.low, reward.bounds.high],
        "children": {key: reward_tree(child) for key, child in reward.children().items()},
    }


def _facts(stage: Stage, seed: int) -> dict[str, Any]:
    env = stage.env
    prompt, info = env.reset(seed=seed, options={"task": stage.tasks[0]})
    parts = {
        name: {"weight": weight, "bounds": [bounds.low, bounds.high]}
        for name, (weight, bounds) in env.reward.part_bounds.items()
    }
    return {
        "id": stage.info.id,
        "description": stage.info.description,
        "suites": list(stage.info.suites),
        "tasks": {"name": stage.tasks.name, "count": len(stage.tasks)},
        "max_turns": env.max_turns,
        "instructions": env.instructions,
        "success_part": env.success_part,
        "tools": [tool.to_openai() for tool in env.tools],
        "reward": reward_tree(env.reward),
        "parts": parts,
        "example": {"task": info["task_id"], "prompt": prompt, "oracle": _oracle(stage)},
    }


def _oracle(stage: Stage) -> list[str] | None:
    """Return the actions of a policy that knows the answer, or None where the task does not say."""
    from grpo_envs.errors import NoOracle

    actions: list[str] = []
    try:
        while stage.env.score is None:
            actions.append(stage.env.oracle_action())
            stage.env.step(actions[-1])
    except NoOracle:
        return None
    return actions


def _show(console: Console, facts: dict[str, Any]) -> None:
    from rich.markup import escape

    from grpo_envs.cli.output import table

    console.print(f"[bold]{facts['id']}[/bold]  {escape(facts['description'])}")
    console.print(f"suites   {', '.join(facts['suites']) or 'one'}")
    console.print(f"tasks    {facts['tasks']['count']} of {escape(facts['tasks']['name'])}")
    console.print(f"turns    at most {facts['max_turns']}")
    console.print(f"success  part {facts['success_part']} at its best")
    if facts["instructions"]:
        console.print(f"system   {escape(facts['instructions'])}")
    if facts["tools"]:
        tools = table("tool", "what it does", "arguments")
        for tool in facts["tools"]:
            function = tool["function"]
            tools.add_row(function["name"], escape(function["description"]), escape(_arguments(function["parameters"])))
        console.print(tools)
    console.print(_tree(facts["reward"]))
    parts = table("part", "weight", "range", "reaches", right=("weight", "range", "reaches"))
    for name, part in facts["parts"].items():
        low, high = sorted(part["weight"] * end for end in part["bounds"])
        ends = f"{part['bounds'][0]:g} … {part['bounds'][1]:g}"
        parts.add_row(name, f"{part['weight']:g}", ends, f"{low:g} … {high:g}")
    console.print(parts)
    example = facts["example"]
    console.print(f"[bold]example[/bold]  {escape(example['task'])}")
    console.print(escape(example["prompt"]))
    for action in example["oracle"] or ["(the task does not say how it is solved)"]:
        console.print(f"  [dim]→[/dim] {escape(action)}")


def _tree(node: dict[str, Any], key: str = "reward") -> Any:
    from rich.markup import escape
    from rich.tree import Tree

    low, high = node["bounds"]
    made = Tree(f"{escape(key)}  [dim]{node['kind']} {escape(node['name'])}[/dim]  {low:g} … {high:g}")
    for name, child in node["children"].items():
        made.add(_tree(child, name))
    return made


def _arguments(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    shown = [
        f"{name}{'' if name in required else '?'}: {each.get('type', 'any')}"
        for name, each in schema.get("properties", {}).items()
    ]
    return ", ".join(shown)
