"""`run`: what is played, what is summed up, and what the exit code says."""

from __future__ import annotations

import pytest

from grpo_envs.traces import read_traces

MATH = "grpo_envs/Math-v0"


def test_gsm8k_is_solved_by_its_own_solutions(process, shared_data):
    data = str(shared_data / "gsm8k" / "test.jsonl")
    done = process("run", MATH, "--suite", "gsm8k", "--data", data, "--policy", "oracle")
    assert done.code == 0, done.err
    assert done.out.rstrip().endswith("1319/1319")
    assert done.err == ""


def test_the_json_summary_adds_up(cli):
    data = cli("run", MATH, "--policy", "random", "-n", "12", "--group-size", "3", "--json").data
    assert (data["tasks"], data["group_size"], data["episodes"]) == (12, 3, 36)
    assert sum(data["statuses"].values()) == 36
    assert data["success_rate"] == data["successes"] / 36
    assert data["turns"] == 36
    expected = data["parts"]["answer"] + 0.1 * data["parts"]["format"] + 0.05 * data["parts"]["length"]
    assert data["mean_reward"] == pytest.approx(expected)
    assert data["ok"] is True


@pytest.mark.parametrize(
    ("arguments", "tasks"),
    [([], 100), (["--env-arg", "size=30"], 30), (["-n", "7"], 7), (["--env-arg", "size=30", "--split", "train"], None)],
)
def test_how_many_tasks_are_played(cli, arguments, tasks):
    data = cli("run", MATH, *arguments, "--json").data
    assert data["successes"] == data["episodes"] == data["tasks"]
    assert data["tasks"] == tasks if tasks else 0 < data["tasks"] < 30


def test_every_task_of_a_file_is_played(cli, tmp_path):
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(f'{{"problem": "{i}?", "answer": "{i}"}}\n' for i in range(130)))
    data = cli("run", MATH, "--suite", "competition", "--data", str(file), "--json").data
    assert (data["successes"], data["episodes"]) == (130, 130)


def test_a_tool_environment_runs(cli):
    data = cli("run", "grpo_envs/MathTools-v0", "-n", "10", "--json").data
    assert (data["successes"], data["turns"]) == (10, 20)


def test_min_success_decides_the_exit_code(cli):
    done = cli("run", MATH, "--policy", "constant:x", "-n", "4", "--min-success", "0.5", "--json")
    assert (done.code, done.data["ok"]) == (1, False)
    assert done.err == "grpo-envs: success 0.000 is below --min-success 0.5\n"
    assert cli("run", MATH, "--policy", "constant:x", "-n", "4").code == 0
    assert cli("run", MATH, "-n", "4", "--min-success", "1").code == 0


def test_a_broken_episode_is_counted_named_and_an_exit_code_of_1(cli, own_env):
    done = cli("run", own_env, "--policy", "echo", "--env-arg", "broken=true", "--json")
    assert done.code == 1
    assert done.data["statuses"] == {"scored": 9, "infra_error": 1}
    assert done.data["failures"] == {"reset failed: RuntimeError: the shelf fell down": 1}
    assert done.err == "grpo-envs: 1 of 10 episodes broke: reset failed: RuntimeError: the shelf fell down\n"


def test_a_task_without_oracle_is_no_wrong_answer(cli, own_env):
    done = cli("run", own_env, "--json")
    assert done.code == 1
    assert done.data["statuses"] == {"infra_error": 10}
    assert done.data["mean_reward"] is None
    assert "has no oracle" in done.err


def test_traces_are_written_and_do_not_depend_on_the_concurrency(cli, tmp_path):
    seen = []
    for concurrency in ("1", "8"):
        file = tmp_path / f"{concurrency}.jsonl"
        arguments = ("--policy", "random", "-n", "20", "--seed", "5", "--shuffle", "--concurrency", concurrency)
        done = cli("run", "grpo_envs/MathTools-v0", *arguments, "--trace", str(file), "--json")
        assert done.data["trace"] == str(file)
        seen.append({trace.id: (trace.task["id"], trace.messages, trace.value) for trace in read_traces(file)})
    assert len(seen[0]) == 20
    assert seen[0] == seen[1]


def test_an_environment_without_suites_says_so(cli, own_env):
    done = cli("run", own_env, "--suite", "x")
    assert done.code == 2
    assert "has no --suite; leave it out" in done.err


def test_summary_for_people_ends_with_the_successes(cli):
    done = cli("run", MATH, "-n", "5")
    assert done.code == 0
    assert done.out.rstrip().endswith("5/5")
    assert "5 scored" in done.out
