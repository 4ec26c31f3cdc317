"""Named rewards."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import pytest

import rewards
from rewards import Sample, reward
from rewards.errors import InvalidReward, RewardNameTaken, UnknownReward
from rewards.registry import Registry

always = reward(name="always")(lambda completion: 1.0)


def test_registering_and_making():
    table = Registry()
    table.register("always", always, description="Always one.")
    table.register("other", lambda value=0.5: reward(lambda completion: value))
    assert table.names() == ("always", "other")
    assert table.make("always") is always
    assert table.make("other", value=0.25).score_sync([Sample("")])[0].value == 0.25
    assert table.describe("always") == "Always one."


def test_a_name_is_taken_once():
    table = Registry()
    table.register("a", always)
    with pytest.raises(RewardNameTaken, match="'a' is registered already"):
        table.register("a", always)


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(UnknownReward, match="did you mean 'math'"):
        rewards.make("maths")


def test_built_in_rewards_score():
    score = rewards.make("math").score_sync([Sample(r"\boxed{4}", {"answer": "4"})])[0]
    assert score.value == pytest.approx(1.1)
    assert set(score.parts) == {"answer", "format", "length"}


def test_packages_bring_rewards_and_a_broken_one_does_not_hide_the_others(tmp_path):
    (tmp_path / "thirdparty.py").write_text(
        "from rewards import reward\n@reward\ndef shout(completion):\n    return completion.isupper()\n"
        "def make_shout():\n    return shout\n"
    )
    info = tmp_path / "thirdparty-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thirdparty\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[grpo_envs.rewards]\nshout = thirdparty:make_shout\nbroken = thirdparty:nowhere\n"
    )
    code = """
        import logging; logging.basicConfig()
        import rewards
        print("shout" in rewards.names(), "broken" in rewards.names())
        print(rewards.make("shout").score_sync([rewards.Sample("HI")])[0].value)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={"PYTHONPATH": f"{tmp_path}:{':'.join(sys.path)}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == ["True", "False", "1.0"]
    assert "reward broken (thirdparty:nowhere) cannot be loaded" in run.stderr


def test_the_decorator_form_gives_back_what_it_registered():
    table = Registry()

    @table.register("limited", description="At most so long.")
    def limited(limit: int = 3):
        return reward(lambda completion: len(completion) <= limit, name="limited")

    assert limited(1).name == "limited"
    assert table.register("always", always) is always
    assert table.describe("limited") == "At most so long."
    assert table.make("limited", limit=1).score_sync([Sample("ab")])[0].value == 0.0


@pytest.mark.parametrize("name", ["weighted", "gate", "clip"])
def test_a_combinators_name_cannot_be_taken(name):
    with pytest.raises(RewardNameTaken, match="means a combinator"):
        Registry().register(name, always)


def test_wrong_options_and_wrong_products_are_named():
    table = Registry()
    table.register("limited", lambda limit=3: always)
    table.register("number", lambda: 7)
    table.register("always", always)
    with pytest.raises(InvalidReward, match="unexpected keyword argument 'lmit'; its options: limit"):
        table.make("limited", lmit=3)
    with pytest.raises(InvalidReward, match="its options: none"):
        table.make("always", limit=3)
    with pytest.raises(InvalidReward, match="'number' made 7, which is no reward"):
        table.make("number")
    with pytest.raises(InvalidReward, match="got 7"):
        table.register("seven", 7)


def test_threads_that_register_together_lose_nothing():
    table = Registry(entry_points="grpo_envs.rewards")
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda i: table.register(f"r{i}", always), range(200)))
        assert len(set(pool.map(lambda i: table.make(f"r{i}").name, range(200)))) == 1
    assert len([name for name in table.names() if name.startswith("r")]) == 200
