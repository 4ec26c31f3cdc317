"""`list`, `describe`, `score`, `version`."""

from __future__ import annotations

import json

import pytest

import grpo_envs


def test_list_names_every_environment_and_reward(cli):
    data = cli("list", "--json").data
    assert [each["id"] for each in data["environments"]] == list(grpo_envs.env_ids())
    assert {"math", "math_answer"} <= {each["name"] for each in data["rewards"]}
    assert "grpo_envs/MathTools-v0" in cli("list").out


def test_describe_shows_tools_reward_and_an_example(cli):
    data = cli("describe", "grpo_envs/MathTools-v0", "--json").data
    assert {tool["function"]["name"] for tool in data["tools"]} >= {"calculator", "remember", "recall"}
    assert set(data["reward"]["children"]) == {"answer", "format", "length"}
    assert data["parts"]["answer"] == {"weight": 1.0, "bounds": [0.0, 1.0]}
    assert data["max_turns"] == 6
    call, answer = data["example"]["oracle"]
    assert json.loads(call)["name"] == "calculator"
    assert answer.startswith("\\boxed")


def test_describe_for_people(cli):
    done = cli("describe", "grpo_envs/MathTools-v0", "--suite", "algebra")
    assert done.code == 0
    for text in ("calculator", "of algebra", "at most 6", "answer", "example"):
        assert text in done.out


def test_describe_an_environment_without_oracle(cli, own_env):
    data = cli("describe", own_env, "--json").data
    assert data["example"] == {"task": "0", "prompt": "say 0", "oracle": None}
    assert data["tools"] == []
    assert "does not say how it is solved" in cli("describe", own_env).out


@pytest.mark.parametrize(
    ("completion", "answer", "value", "status", "code"),
    [("\\boxed{3}", "3", 1.0, "scored", 0), ("\\boxed{4}", "3", 0.0, "scored", 0), ("three", "3", 0.0, "malformed", 0)],
)
def test_score_judges_a_completion(cli, completion, answer, value, status, code):
    done = cli("score", "math_answer", "--completion", completion, "--answer", answer, "--json")
    assert done.code == code
    assert (done.data["value"], done.data["status"]) == (value, status)


def test_score_without_a_gold_has_no_value(cli):
    done = cli("score", "math_answer", "--completion", "\\boxed{3}", "--json")
    assert (done.code, done.data["value"], done.data["status"]) == (1, None, "skipped")


def test_score_for_people(cli):
    done = cli("score", "math", "--completion", "\\boxed{3}", "--field", "answer=3")
    assert done.code == 0
    assert "answer" in done.out
    assert "1.100" in done.out


def test_version(cli):
    assert cli("version", "--json").data["grpo-envs"] == grpo_envs.__version__
    assert f"grpo-envs {grpo_envs.__version__}" in cli("version").out
