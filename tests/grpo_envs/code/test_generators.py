from __future__ import annotations

import pytest

from grpo_envs.code.generators import generate_programs
from grpo_envs.code.generators.cases import outputs
from grpo_envs.code.generators.mutants import mutants


@pytest.mark.parametrize("difficulty", range(1, 6))
def test_hidden_cases_kill_every_mutant_that_differs(difficulty: int) -> None:
    for task in generate_programs(size=6, seed=3, difficulty=difficulty):
        data = task.data
        assert data["mutants"] == data["killed"] > 0
        hidden = [case["args"][0] for case in data["cases"] if case["hidden"]]
        right = [case["expected"] for case in data["cases"] if case["hidden"]]
        assert outputs(data["solution"], "transform", hidden) == right
        survivors = sum(outputs(mutant, "transform", hidden) == right for mutant in mutants(data["solution"]))
        made = len(list(mutants(data["solution"])))
        assert survivors == made - data["mutants"]


def test_cases_are_not_shared_and_the_prompt_shows_the_visible_ones_only() -> None:
    for task in generate_programs(size=20, seed=1, difficulty=2):
        visible = [str(case["args"][0]) for case in task.data["cases"] if not case["hidden"]]
        hidden = [str(case["args"][0]) for case in task.data["cases"] if case["hidden"]]
        assert len(visible) == 2
        assert not set(visible) & set(hidden)
        assert all(f"transform({args}) == " in task.prompt for args in visible)
        assert not any(f"transform({args}) == " in task.prompt for args in hidden)
        # No constant passes: the hidden cases ask for different results.
        assert len({str(case["expected"]) for case in task.data["cases"] if case["hidden"]}) > 1


def test_tasks_depend_on_seed_index_and_difficulty_alone() -> None:
    one, other = generate_programs(size=50, seed=7), generate_programs(size=9, seed=7)
    assert one[8].content_hash == other[8].content_hash
    assert generate_programs(size=9, seed=8)[8].content_hash != one[8].content_hash
    assert len({generate_programs(size=60, seed=7)[i].content_hash for i in range(60)}) == 60


def test_difficulty_is_the_number_of_steps() -> None:
    for difficulty in range(1, 6):
        task = generate_programs(size=2, difficulty=difficulty)[1]
        assert f"\n{difficulty}. " in task.prompt
        assert f"\n{difficulty + 1}. " not in task.prompt


@pytest.mark.parametrize(("option", "message"), [({"difficulty": 6}, "1 to 5"), ({"size": -1}, "0 or more")])
def test_bad_options_are_refused(option: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        generate_programs(**option)


def test_a_mutant_changes_one_place() -> None:
    found = set(mutants("def f(x):\n    if x > 1 and x < 5:\n        x = x + 1\n    return max(x, 2)"))
    assert "def f(x):\n    if x >= 1 and x < 5:\n        x = x + 1\n    return max(x, 2)" in found
    assert "def f(x):\n    if x > 1 or x < 5:\n        x = x + 1\n    return max(x, 2)" in found
    assert "def f(x):\n    if x > 1 and x < 5:\n        pass\n    return max(x, 2)" in found
    assert "def f(x):\n    if x > 1 and x < 5:\n        x = x + 1\n    return min(x, 2)" in found
    assert len(found) == 17
