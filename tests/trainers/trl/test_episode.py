"""An episode never raises, is never stuck for longer than its deadline, and always closes its environment."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time

import pytest

from grpo_envs import call_text
from grpo_envs.errors import UnknownEnv
from rewards.status import Status
from trainers.trl import EnvSpec
from trainers.trl.spec import NamesClash, NoTasks, combine


def begin(spec, index=0):
    row = spec.train_dataset[index]
    episode = spec.new_episode()
    assert episode.reset(row) is None
    return episode, row


def test_a_rollout_from_reset_to_score(kit):
    spec = kit.spec()
    episode, row = begin(spec)
    assert episode.step(call_text("add", amount=2)) == "total 2"
    assert not episode.done
    assert episode.step(row["task_id"][1:]) == ""
    assert (episode.done, episode.score.value, episode.success, episode.was_cut) == (True, 1.0, True, False)
    assert "over" in episode.step("again")
    assert len(episode.turns) == 2
    episode.reset(row)
    assert (episode.done, episode.turns, episode.calls) == (False, [], 0)
    spec.close()


def test_a_reset_that_raises_is_remembered_and_the_next_one_starts_anew(kit):
    spec = kit.spec()
    row = spec.train_dataset[0]
    kit.Counter.broken_tasks = frozenset({row["task_id"]})
    episode = spec.new_episode()
    assert episode.reset(row) is None
    assert episode.score.status is Status.INFRA_ERROR
    assert "no sandbox is left" in episode.score.detail
    assert episode.success is None
    assert episode.trace(id="x", step=0).status is Status.INFRA_ERROR
    kit.Counter.broken_tasks = frozenset()
    episode.reset(row)
    assert not episode.done
    spec.close()


def test_an_environment_that_cannot_be_made_is_remembered(kit):
    def make(tasks):
        if threading.current_thread() is not threading.main_thread():
            raise MemoryError("none is left")
        return kit.Counter(tasks)

    spec = kit.spec(id=make, kwargs={"tasks": kit.tasks})
    episode = spec.new_episode()
    episode.reset(spec.train_dataset[0])
    assert "none is left" in episode.score.detail
    trace = episode.trace(id="x", step=3)
    assert (trace.value, trace.truncated, trace.task["id"]) == (None, True, spec.train_dataset[0]["task_id"])


def test_a_row_without_a_task_never_means_a_random_one(kit):
    episode = kit.spec().new_episode()
    episode.reset({"prompt": [{"role": "user", "content": "?"}]})
    assert episode.score.status is Status.INFRA_ERROR
    assert "task_id" in episode.score.detail


def test_a_tool_that_breaks_ends_the_rollout_without_a_number(kit):
    spec = kit.spec()
    episode, _ = begin(spec)
    episode.step(call_text("boom", kind="disk"))
    assert episode.score.status is Status.INFRA_ERROR
    assert "lost the disk" in episode.score.detail
    assert episode.trace(id="x", step=0).error
    spec.close()


@pytest.mark.parametrize(("answer", "status"), [("crash", Status.INFRA_ERROR), ("skip", Status.SKIPPED)])
def test_a_verifier_without_a_number_gives_none(kit, answer, status):
    spec = kit.spec()
    episode, _ = begin(spec)
    episode.step(answer)
    assert (episode.score.status, episode.score.value, episode.success) == (status, None, None)
    spec.close()


def test_a_step_past_its_deadline_is_an_infrastructure_failure_and_its_environment_is_closed_late(kit):
    spec = kit.spec(timeout_s=0.3)
    episode, row = begin(spec)
    started = time.monotonic()
    episode.step(call_text("sleep", seconds=1.5))
    assert time.monotonic() - started < 1.4
    assert episode.score.status is Status.INFRA_ERROR
    assert "longer than 0.3 s" in episode.score.detail
    assert episode.reset(row) is None
    assert not episode.done
    spec.close()
    deadline = time.monotonic() + 10
    while kit.Counter.live and time.monotonic() < deadline:
        time.sleep(0.05)
    assert kit.Counter.live == 0


def test_a_cut_rollout_is_scored_as_unanswered_and_marked(kit):
    spec = kit.spec()
    episode, _ = begin(spec)
    episode.cut("the completion reached 8 tokens")
    score = episode.score
    assert (score.value, score.status, score.detail) == (0.0, Status.POLICY_LIMIT, "the completion reached 8 tokens")
    assert (episode.success, episode.was_cut) == (False, True)
    trace = episode.trace(id="x", step=0)
    assert (trace.truncated, trace.terminated, trace.success) == (True, False, False)
    spec.close()


def test_unreadable_calls_count_as_failures(kit):
    spec = kit.spec()
    episode, _ = begin(spec)
    assert "JSON" in episode.step("<tool_call>{oops</tool_call>")
    episode.step(call_text("nothing"))
    assert (episode.calls, episode.failures) == (2, 2)
    spec.close()


def test_environments_are_closed_with_the_spec_and_come_back_at_the_next_reset(kit):
    spec, other = kit.spec(), kit.spec(name="other")
    episodes = [begin(spec)[0], begin(spec)[0], begin(other)[0]]
    assert kit.Counter.live == 3
    spec.close()
    spec.close()
    assert kit.Counter.live == 1
    with spec:
        episodes[0].reset(spec.train_dataset[0])
        assert kit.Counter.live == 2
    assert kit.Counter.live == 1
    other.close()
    assert kit.Counter.live == 0


def test_environments_are_closed_when_their_episode_is_collected(kit):
    spec = kit.spec()
    episode, _ = begin(spec)
    assert kit.Counter.live == 1
    del episode
    gc.collect()
    assert kit.Counter.live == 0


def test_environments_are_closed_at_exit_and_a_stuck_one_does_not_keep_the_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        """
import time
from grpo_envs import LanguageEnv, Task, TaskSet
from rewards import reward
from trainers.trl.episode import Episode

@reward
def right(completion: str) -> float:
    return 1.0

class Env(LanguageEnv):
    def _release(self):
        print("closed", flush=True)
    def _prompt(self, task):
        if task.id == "stuck":
            time.sleep(600)
        return task.prompt

def make():
    return Env(TaskSet([Task("stuck", "?"), Task("fine", "?")]), right)

fine, stuck = (Episode(make, env_id="e", timeout_s=0.2) for _ in range(2))
fine.reset({"task_id": "fine"})
stuck.reset({"task_id": "stuck"})
print(stuck.score.status.value, flush=True)
"""
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, cwd=".")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["infra_error", "closed"]


def test_an_environment_is_used_by_one_thread_alone(kit):
    seen = set()

    class Threaded(kit.Counter):
        def _prompt(self, task):
            seen.add(threading.get_ident())
            return super()._prompt(task)

        def _get_state(self):
            seen.add(threading.get_ident())
            return super()._get_state()

        def _release(self):
            seen.add(threading.get_ident())
            super()._release()

    spec = kit.spec(id=Threaded)
    row, _ = spec.train_dataset[0], spec.tools
    seen.clear()
    episode = spec.new_episode()
    episode.reset(row)
    episode.step(call_text("add", amount=1))
    episode.cut("enough")
    spec.close()
    assert len(seen) == 1
    assert threading.get_ident() not in seen


def test_a_prompt_that_differs_from_the_dataset_is_shown(kit):
    class Fickle(kit.Counter):
        def _prompt(self, task):
            return f"{super()._prompt(task)} ({self.np_random.integers(10**9)})"

    spec = kit.spec(id=Fickle)
    row = spec.train_dataset[0]
    environment = spec.environment_factory()
    assert environment.reset(**row) is None  # the same seed gives the same prompt
    assert environment.reset(**{**row, "env_seed": 99}).strip().startswith("Count to ")
    spec.close()


def test_a_spec_fills_what_its_maker_takes_and_sets_the_rest(kit):
    class Bare(kit.Counter):
        def __init__(self) -> None:
            super().__init__(kit.tasks)

    class Options(kit.Counter):
        def __init__(self, **options) -> None:
            super().__init__(**options)

    from rewards import reward

    @reward
    def other(completion: str) -> float:
        return 0.5

    for maker in (Bare, Options, kit.Counter):
        spec = kit.spec(id=maker, reward=other)
        env = spec.make_env()
        assert env.reward is other
        assert env.tasks is spec.make_env().tasks


def test_datasets_hold_what_a_rollout_needs_and_splits_do_not_overlap(kit):
    spec = kit.spec(n_tasks=None, split="train")
    row = spec.train_dataset[0]
    assert set(row) == {"prompt", "task_id", "env_seed", "environment", "task"}
    assert [message["role"] for message in row["prompt"]] == ["system", "user"]
    trained = set(spec.train_dataset["task_id"])
    assert trained.isdisjoint(spec.eval_dataset["task_id"])
    assert spec.train_dataset["task_id"] == kit.spec(n_tasks=None, split="train").train_dataset["task_id"]
    assert spec.train_dataset["task_id"] != kit.spec(n_tasks=None, split="train", seed=1).train_dataset["task_id"]


def test_specs_say_what_is_wrong_with_them(kit):
    with pytest.raises(UnknownEnv, match="did you mean"):
        EnvSpec("grpo_envs/Maths-v0").make_env()
    with pytest.raises(NamesClash, match="distinct names"):
        combine([kit.spec(), kit.spec()])
    with pytest.raises(NoTasks, match="unseen"):
        kit.spec().eval_dataset  # noqa: B018
    with pytest.raises(NoTasks, match="split"):
        kit.spec(kwargs={"tasks": kit.tasks.head(0)}).train_dataset  # noqa: B018
