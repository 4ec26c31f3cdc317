"""Bad input: the exit code, and one sentence on stderr that says what to do."""

from __future__ import annotations

import pytest

MATH = "grpo_envs/Math-v0"
CASES = [
    (["runn"], "No such command 'runn'. Did you mean 'run'?"),
    (["run"], "Missing argument 'ENV'."),
    (["run", MATH, "--polcy", "x"], "No such option: --polcy"),
    (["run", "grpo_envs/Mth-v0"], "did you mean 'grpo_envs/Math-v0'?"),
    (["describe", "grpo_envs/Mth-v0"], "did you mean 'grpo_envs/Math-v0'?"),
    (["eval", "grpo_envs/Mth-v0", "--model", "oracle"], "did you mean 'grpo_envs/Math-v0'?"),
    (["run", "no_such_module:x/Y-v0"], "there is no module 'no_such_module' here or among the installed packages"),
    (["run", ".x:x/Y-v0"], "'.x' is not the name of a module"),
    (["run", MATH, "--policy", "orcle"], "no policy 'orcle'; there are constant, echo, openai, oracle"),
    (["run", MATH, "--policy", "oracle:x"], "policy 'oracle:x' cannot be made"),
    (["run", MATH, "--policy-arg", "a=1"], "policy 'oracle' cannot be made"),
    (["run", MATH, "--policy-arg", "a"], "--policy-arg needs NAME=VALUE, got 'a'"),
    (["run", MATH, "--env-arg", "=1"], "--env-arg needs NAME=VALUE, got '=1'"),
    (["run", MATH, "--env-arg", "sizes=1"], "takes no argument 'sizes'; did you mean 'size'?"),
    (["run", MATH, "--env-arg", "zzz=1"], "takes no argument 'zzz'; it takes data, difficulty"),
    (["run", MATH, "--env-arg", "size=abc"], "grpo_envs/Math-v0 cannot be made"),
    (["run", MATH, "--env-arg", "difficulty=9"], "difficulty must be 1 to 5, got 9"),
    (["run", MATH, "--env-arg", "split=tst"], "split must be one of all, train, val, test, got 'tst'"),
    (["run", MATH, "--env-arg", "reward=mth"], "did you mean 'math'?"),
    (["run", MATH, "--suite", "algebr"], "did you mean 'algebra'?"),
    (["run", MATH, "--suite", "competition"], "suite 'competition' needs data"),
    (["run", MATH, "--suite", "gsm8k", "--data", "absent.jsonl"], "there is no file 'absent.jsonl'"),
    (["run", MATH, "--split", "tst"], "'tst' is not one of"),
    (["run", MATH, "-n", "0"], "greater than or equal to 1"),
    (["run", MATH, "-n", "20", "--env-arg", "size=10"], "-n 20 is more than the 10 tasks"),
    (["run", MATH, "--min-success", "1.5"], "less than or equal to 1"),
    (["run", MATH, "--trace", "/", "-n", "1"], "is a directory"),
    (["eval", MATH], "Missing option '--model'."),
    (["eval", MATH, "--model", "oracle", "--greedy", "--samples", "4"], "leave one of them out"),
    (["eval", MATH, "--model", "oracle", "--k", "4"], "pass@4 needs at least 4 samples"),
    (["eval", MATH, "--model", "oracle", "--base-url", "http://localhost/v1"], "--base-url is for a model that"),
    (["score", "mth", "--completion", "x"], "no reward 'mth' is registered; did you mean 'math'?"),
    (["score", "math"], "Missing option '--completion'."),
    (["new", "json"], "'json' is the name of a module that is installed already"),
    (["new", "3 doors"], "'3 doors' is not a name for a module"),
    (["new", "class"], "'class' is not a name for a module"),
]


@pytest.mark.parametrize(("arguments", "sentence"), CASES, ids=[" ".join(arguments) for arguments, _ in CASES])
def test_bad_usage_is_one_sentence_and_exit_code_2(cli, arguments, sentence):
    done = cli(*arguments)
    assert done.code == 2
    assert sentence in done.err
    assert done.err.startswith("grpo-envs: ")
    assert done.err.count("\n") == 1
    assert done.out == ""


def test_the_same_holds_of_a_process(process):
    done = process("run", "grpo_envs/Mth-v0", "--json")
    assert (done.code, done.out) == (2, "")
    assert done.err == "grpo-envs: no environment 'grpo_envs/Mth-v0' is registered; did you mean 'grpo_envs/Math-v0'?\n"


def test_debug_shows_the_traceback(process):
    done = process("--debug", "run", "grpo_envs/Mth-v0")
    assert done.code == 1
    assert "Traceback" in done.err
    assert "UnknownEnv" in done.err


def test_a_defect_keeps_its_traceback(process, own_env, tmp_path):
    module = own_env.partition(":")[0]
    path = tmp_path / f"{module}.py"
    path.write_text(path.read_text().replace("super().__init__(", "[][0]; super().__init__("))
    done = process("run", own_env)
    assert "IndexError" in done.err
    assert "Traceback" in done.err


def test_a_reader_that_goes_away_is_no_error(tmp_path):
    import subprocess
    import sys

    command = f"{sys.executable} -c 'from grpo_envs.cli import main; main()' list --json | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr


def test_no_arguments_shows_the_help(cli):
    done = cli()
    assert done.code == 0
    assert "Exit codes" in done.out
