"""`lint`: a reward or an environment's reward, once this version has a linter."""

from __future__ import annotations

import pytest

pytest.importorskip("rewards.lint", reason="this version has no linter")


@pytest.mark.parametrize("target", ["math", "grpo_envs/Math-v0"])
def test_a_sound_reward_passes(cli, target):
    done = cli("lint", target, "--json")
    assert done.code == 0, done.out
    assert done.data["bounds"] == [pytest.approx(-0.05), pytest.approx(1.1)]


def test_an_unknown_reward_is_bad_usage(cli):
    assert cli("lint", "mth").code == 2
