"""Reward functions never raise, keep one bad row from costing another, and say what they did."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections import defaultdict

import pytest
from trl.trainer.utils import get_callable_name, is_async_callable

from grpo_envs import call_text
from rewards import reward
from rewards.combinators import group, weighted
from trainers.trl import EnvSpec, as_reward_func


@reward
def exact(completion: str, answer: str) -> bool:
    return completion.strip() == answer


@reward(bounds=(0, 100))
async def late(completion: str) -> float:
    await asyncio.sleep(float(completion))
    return 1.0


@reward
def blocking(completion: str) -> float:
    time.sleep(float(completion))
    return 1.0


@reward
def touchy(completion: str) -> float:
    if completion == "raise":
        raise ConnectionError("judge answered 503")
    if completion == "nan":
        return float("nan")
    return 1.0


class Log:
    """What TRL would be told."""

    def __init__(self) -> None:
        self.extra: dict = {}
        self.metrics = defaultdict(list)

    def log_extra(self, column: str, values: list) -> None:
        self.extra[column] = values

    def log_metric(self, name: str, value: float) -> None:
        self.metrics[name].append(value)

    @property
    def functions(self) -> dict:
        return {"log_extra": self.log_extra, "log_metric": self.log_metric}


def chat(*texts: str) -> list:
    return [[{"role": "assistant", "content": text}] for text in texts]


@pytest.mark.parametrize("completions", [["4", "5"], chat("4", "5")], ids=["text", "chat"])
def test_text_and_chat_completions_are_scored_alike(completions):
    prompts = ["2+2"] * 2 if isinstance(completions[0], str) else [[{"role": "user", "content": "2+2"}]] * 2
    assert as_reward_func(exact)(prompts=prompts, completions=completions, answer=["4", "4"]) == [1.0, 0.0]


def test_content_blocks_and_empty_completions_are_read():
    blocks = [[{"role": "assistant", "content": [{"type": "text", "text": "4"}]}], [], [{"role": "assistant"}]]
    values = as_reward_func(exact)(prompts=[[], [], []], completions=blocks, answer=["4", "4", "4"])
    assert values == [1.0, 0.0, 0.0]


def test_a_row_that_raises_is_none_and_the_others_are_numbers():
    log = Log()
    values = as_reward_func(touchy)(prompts=["p"] * 4, completions=["a", "raise", "nan", "b"], **log.functions)
    assert values == [1.0, None, None, 1.0]
    assert log.extra["touchy/status"] == ["scored", "infra_error", "infra_error", "scored"]
    assert "503" in log.extra["touchy/detail"][1]
    assert log.metrics["parts/touchy/error_rate"] == [0.5]
    assert log.metrics["parts/touchy/none_rate"] == [0.5]
    assert all(len(column) == 4 for column in log.extra.values())


@pytest.mark.parametrize("verifier", [late, blocking], ids=["async", "blocking"])
def test_a_row_that_hangs_costs_only_itself(verifier):
    function = as_reward_func(verifier, timeout_s=0.4)
    values = function(prompts=["p"] * 4, completions=["0", "30", "0.01", "0"])
    assert values == [1.0, None, 1.0, 1.0]
    assert function(prompts=["p"], completions=["0"]) == [1.0]  # nothing is left behind that blocks


def test_a_deadline_counts_from_when_a_row_begins():
    values = as_reward_func(blocking, timeout_s=0.5)(prompts=["p"] * 4, completions=["0.3"] * 4)
    assert values == [1.0] * 4


def test_a_missing_column_is_said_and_does_not_raise():
    log = Log()
    assert as_reward_func(exact)(prompts=["p"], completions=["4"], **log.functions) == [None]
    assert "answer" in log.extra["exact/detail"][0]


def test_a_call_that_makes_no_sense_does_not_raise():
    assert as_reward_func(exact)(prompts=["one"], completions=["4", "5"], answer=["4", "5"]) == [None, None]


def test_group_rewards_are_given_whole_groups():
    def judge(samples):
        best = max(len(sample.completion) for sample in samples)
        return [float(len(sample.completion) == best) for sample in samples]

    for total in (group(judge, name="longest"), weighted(longest=group(judge))):
        function = as_reward_func(total)
        values = function(prompts=["p", "p", "q", "q"], completions=["a", "bb", "ccc", "d"])
        assert values == [0.0, 1.0, 1.0, 0.0]


def test_parts_are_logged_by_name():
    log = Log()
    total = weighted(answer=exact, polite=(0.5, touchy))
    columns = {"answer": ["4", "4", "4"], **log.functions}
    values = as_reward_func(total, name="mine")(prompts=["p"] * 3, completions=["4", "5", "raise"], **columns)
    assert values == [1.5, 0.5, None]
    assert log.extra["mine/answer"] == [1.0, 0.0, 0.0]
    assert log.extra["mine/polite"] == [1.0, 1.0, None]
    assert log.metrics["parts/mine/polite"] == [1.0]


def test_the_task_column_of_an_environment_gives_the_answer():
    function = as_reward_func(exact)
    assert function(prompts=["p"], completions=["4"], task=['{"answer": "4", "id": "x"}']) == [1.0]


def test_functions_have_names_and_can_be_sent_to_another_process():
    assert get_callable_name(as_reward_func(exact)) == "exact"
    named = as_reward_func("math_answer", name="right", timeout_s=5)
    assert not is_async_callable(named)
    again = pickle.loads(pickle.dumps(named))
    assert again.__name__ == "right"
    assert again(prompts=["p"], completions=["\\boxed{4}"], answer=["4"]) == [1.0]


def test_an_environment_is_scored_in_the_call_shape_of_async_grpo():
    """No environments, no log functions, everything pickled: the episode is played again."""
    spec = EnvSpec("grpo_envs/MathTools-v0", n_tasks=2, kwargs={"size": 50})
    [function], factory = pickle.loads(pickle.dumps((spec.reward_funcs, spec.environment_factory)))
    assert get_callable_name(function) == "MathTools_v0"
    environment = factory()
    rows = [spec.train_dataset[0]] * 4
    completions = [play(environment, row, right) for row, right in zip(rows, [True, False, True, True], strict=True)]
    completions[2] = completions[2][:1]  # cut off before its call was run
    completions[3] = [{"role": "assistant", "content": "<tool_call>{"}]
    columns = {key: [row[key] for row in rows] for key in rows[0] if key != "prompt"}
    values = function(
        prompts=[row["prompt"] for row in rows], completions=completions, completion_ids=[[1]] * 4, **columns
    )
    good, *bad = values
    assert good is not None
    assert all(value is not None and value < good for value in bad)
    environment._episode.close()


def play(environment, row, right: bool) -> list[dict]:
    """A completion as TRL's tool loop hands it over."""
    environment.reset(**row)
    arguments = {"expression": "1+1"}
    told = environment.calculator(**arguments)
    assert told == "2"
    answer = environment._episode._env.task.answer if right else "-1"
    return [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"type": "function", "function": {"name": "calculator", "arguments": arguments}}],
        },
        {"role": "tool", "name": "calculator", "content": told},
        {"role": "assistant", "content": f"\\boxed{{{answer}}}"},
    ]


def test_two_specs_have_two_names_and_leave_each_others_rows_alone(kit):
    first, second = kit.spec(name="first"), kit.spec(name="second")
    rows = [first.train_dataset[0], second.train_dataset[0]]
    right = [row["task_id"][1:] for row in rows]
    shape = {
        "prompts": [row["prompt"] for row in rows],
        "completions": chat(*right),
        **{key: [row[key] for row in rows] for key in ("task_id", "env_seed", "environment")},
    }
    assert [function(**shape) for spec in (first, second) for function in spec.reward_funcs] == [
        [1.0, None],
        [None, 1.0],
    ]


def test_finishing_episodes_of_the_plain_loop_runs_them_at_once_and_guards_each(kit):
    spec = kit.spec()
    row = spec.train_dataset[0]
    environments = [spec.environment_factory() for _ in range(3)]
    for environment in environments:
        environment.reset(**row)
    [function] = spec.reward_funcs
    log = Log()
    values = function(
        prompts=[row["prompt"]] * 3,
        completions=[*chat(row["task_id"][1:], "crash"), [{"role": "assistant", "content": "", "tool_calls": [{}]}]],
        environments=[*environments],
        environment=["counter"] * 3,
        **log.functions,
    )
    assert values == [1.0, None, 0.0]
    assert log.extra["counter/status"] == ["scored", "infra_error", "policy_limit"]
    assert log.metrics["parts/counter/limit_rate"] == [pytest.approx(1 / 3)]
    assert call_text("add")
    spec.close()
