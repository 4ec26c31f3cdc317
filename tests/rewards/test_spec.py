"""Rewards as plain JSON."""

from __future__ import annotations

import json

import pytest

from rewards import Sample, Status, Turn, reward
from rewards.errors import InvalidSpec, RewardError, UnknownReward
from rewards.registry import RESERVED, Registry
from rewards.spec import _WRAPPERS, build

TABLE = Registry()
TABLE.register("right", reward(name="right")(lambda completion, answer: completion == answer))
TABLE.register("signed", reward(name="signed", bounds=(-1, 1))(lambda completion: -1.0))


@TABLE.register("short")
def short(limit: int = 3):
    return reward(name="short")(lambda completion: len(completion) <= limit)


SAMPLE = Sample("7", {"answer": "7"}, turns=(Turn("7"), Turn("1234")), step=50)


@pytest.mark.parametrize(
    ("spec", "value", "bounds"),
    [
        ("right", 1.0, (0, 1)),
        ({"right": {}}, 1.0, (0, 1)),
        ({"short": {"limit": 0}}, 0.0, (0, 1)),
        ({"weighted": {"a": "right", "b": [0.5, {"short": {"limit": 1}}]}}, 1.5, (0, 1.5)),
        ({"weighted": {"name": "right"}}, 1.0, (0, 1)),
        ({"weighted": {"a": [-1, "right"]}}, -1.0, (-1, 0)),
        ({"gate": {"condition": "right", "reward": "short"}}, 1.0, (0, 1)),
        ({"gate": {"condition": "signed", "reward": "short", "threshold": 0, "otherwise": -2}}, -2.0, (-2, 1)),
        ({"first_of": ["right", "short"]}, 1.0, (0, 1)),
        ({"clip": {"reward": "right", "low": 0, "high": 0.25}}, 0.25, (0, 0.25)),
        ({"scale": {"reward": "right", "factor": 2, "offset": -1}}, 1.0, (-1, 1)),
        ({"penalty": {"reward": "right", "weight": 0.5}}, -0.5, (-0.5, 0)),
        ({"schedule": {"reward": "right", "points": [[0, 0], [100, 1]]}}, 0.5, (0, 1)),
        ({"per_turn": {"reward": "short", "reduce": "sum", "gamma": 0.5, "max_turns": 2}}, 1.0, (0, 1.5)),
        ({"weighted": {"a": {"weighted": {"b": [2, "right"]}}, "c": [3, "short"]}}, 5.0, (0, 5)),
    ],
)
def test_a_tree_is_built_and_scores(spec, value, bounds):
    made = build(json.loads(json.dumps(spec)), TABLE)
    score = made.score_sync([SAMPLE])[0]
    assert (score.value, score.status) == (pytest.approx(value), Status.SCORED)
    assert (made.bounds.low, made.bounds.high) == pytest.approx(bounds)


def deep(levels):
    return "right" if levels == 0 else {"scale": {"reward": deep(levels - 1), "factor": 1}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (None, "^reward: a reward is a name or an object of one key, got None"),
        (7, "got 7"),
        ({}, "got {}"),
        ({"a": 1, "b": 2}, "object of one key"),
        (["right"], "object of one key"),
        ({"right": 3}, r"^reward.right: must be an object, got 3"),
        ({"right": {"x": 1}}, "unexpected keyword argument 'x'; its options: none"),
        ({"short": {"lmit": 1}}, "its options: limit"),
        ({"weighted": {}}, "at least one reward"),
        ({"weighted": ["right"]}, "must be an object"),
        ({"weighted": {"a": [1, "right", 2]}}, r"^reward.weighted.a: a reward is a name"),
        ({"weighted": {"a": ["1", "right"]}}, "must be a finite number, got '1'"),
        ({"weighted": {"a": [float("nan"), "right"]}}, "must be a finite number, got nan"),
        ({"weighted": {"a": [10**400, "right"]}}, "must be a finite number"),
        ({"weighted": {"a": [True, "right"]}}, "must be a finite number, got True"),
        ({"first_of": "right"}, "must be a list of rewards"),
        ({"first_of": []}, "distinct names"),
        ({"gate": {"reward": "right"}}, "lacks condition; it takes condition, reward, threshold, otherwise"),
        ({"gate": {"condition": "right", "reward": "right", "treshold": 1}}, "has 'treshold'"),
        ({"gate": {"condition": "right", "reward": "right", "threshold": "1"}}, r"threshold: must be a finite number"),
        ({"clip": {"reward": "right", "low": 1, "high": 0}}, "low <= high"),
        ({"clip": {"reward": "right"}}, "missing 2 required positional arguments: 'low' and 'high'"),
        ({"penalty": {"reward": "right", "weight": -1}}, ">= 0"),
        ({"schedule": {"reward": "right", "points": [0, 1]}}, r"must be a list of \[step, weight\]"),
        ({"schedule": {"reward": "right", "points": [[0.5, 1]]}}, "must be a whole number"),
        ({"per_turn": {"reward": "right", "reduce": "median"}}, "mean, sum or last"),
        ({"per_turn": {"reward": "right", "reduce": "sum"}}, "max_turns"),
        ({"per_turn": {"reward": "right", "max_turns": 1.5}}, "must be a whole number"),
        (deep(40), "more than 32 rewards inside each other"),
    ],
)
def test_what_describes_no_tree_is_refused_in_one_sentence(spec, message):
    with pytest.raises(InvalidSpec, match=message):
        build(spec, TABLE)


@pytest.mark.parametrize("name", ["rihgt", "os.system", "rewards.math:MathAnswer", "__import__('os')", "group"])
def test_nothing_but_registered_names_is_known(name):
    for spec in (name, {name: {}}, {"weighted": {"a": name}}):
        with pytest.raises(UnknownReward):
            build(spec, TABLE)


def test_errors_are_of_this_packages_kind():
    assert issubclass(InvalidSpec, RewardError)


def test_every_combinator_of_a_spec_has_a_reserved_name():
    assert {*_WRAPPERS, "weighted", "first_of"} == RESERVED


def test_the_default_table_holds_the_built_in_rewards():
    made = build({"weighted": {"answer": "math_answer"}})
    assert list(made.children()) == ["answer"]
