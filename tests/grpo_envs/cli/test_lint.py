"""`lint`: a named reward, or an environment's."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("target", ["math", "grpo_envs/Math-v0"])
def test_a_sound_reward_passes(cli, target):
    done = cli("lint", target, "--json")
    assert done.code == 0, done.out
    assert done.data["ok"] is True
    assert done.data["bounds"] == pytest.approx([-0.05, 1.1])
    assert {finding["severity"] for finding in done.data["findings"]} <= {"info"}
    assert "sound" in cli("lint", target).out


def test_a_reward_that_can_only_punish_is_warned_of(cli, own_env, tmp_path):
    path = tmp_path / f"{own_env.partition(':')[0]}.py"
    path.write_text(path.read_text().replace("@reward\n", "@reward(bounds=(-1.0, 0.0))\n"))
    done = cli("lint", own_env, "--json")
    assert done.code == 1
    assert [(f["severity"], f["code"]) for f in done.data["findings"]] == [("warning", "sign")]
    assert "not sound" in cli("lint", own_env).out


def test_an_unknown_reward_is_bad_usage(cli):
    done = cli("lint", "mth")
    assert (done.code, done.out) == (2, "")
    assert "did you mean 'math'?" in done.err
