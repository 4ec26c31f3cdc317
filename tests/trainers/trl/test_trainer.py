"""What TRL is promised, kept against TRL itself: only the policy is a script."""

from __future__ import annotations

import gc
import math
import re
from typing import Any

import pytest
import torch
from transformers import TrainerCallback
from transformers.utils import get_json_schema

from grpo_envs.traces import read_traces
from rewards import Part, Score, Status, reward
from trainers.trl import CloseEnvironments, Points, UnsupportedTRL, as_reward_func, combine
from trainers.trl.grouping import WrongShape
from trainers.trl.guards import check_trl
from trainers.trl.spec import NoTasks


def goal(text: str) -> str:
    return re.findall(r"Count to (\d+)", text)[-1]


def answer_right_every_other_time(row: int, turn: int, text: str) -> str:
    return goal(text) if row % 2 else "no idea"


def rollouts(trainer: Any, kit: Any) -> dict[str, Any]:
    """One batch of completions, scored, as training makes it."""
    trainer.model.train()
    return trainer._generate_and_score_completions(kit.batch(trainer))


def metrics(trainer: Any) -> dict[str, float]:
    return {name: values[-1] for name, values in trainer._metrics["train"].items()}


HALF_A_PAIR = '<tool_call>\n{"name": "echo", "arguments": {"text": "\\ud800"}}\n</tool_call>'


class Stop(TrainerCallback):
    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        raise KeyError("a callback broke")


def test_exactly_the_tools_of_the_spec_are_offered(kit):
    spec = kit.spec(id=kit.Echo)
    trainer = kit.plain(
        answer_right_every_other_time,
        reward_funcs=spec.reward_funcs,
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
    )
    assert sorted(method.__name__ for method in trainer.tools) == sorted(tool.name for tool in spec.tools)
    wanted = {tool.name: tool.to_openai()["function"] for tool in spec.tools}
    for method in trainer.tools:
        found, spoken = get_json_schema(method)["function"], wanted[method.__name__]
        assert found["description"] == spoken["description"]
        assert found["parameters"].get("required", []) == spoken["parameters"]["required"]
        without_default = {
            name: {key: value for key, value in schema.items() if key != "default"}
            for name, schema in spoken["parameters"]["properties"].items()
        }
        assert found["parameters"]["properties"] == without_default


def test_the_model_is_shown_the_exact_schemas_and_trl_sees_no_tools(kit):
    trainer = kit.ours(kit.spec(), answer_right_every_other_time)
    assert trainer.tools == []
    output = rollouts(trainer, kit)
    prompt = trainer._tokenizer.decode(output["prompt_ids"][0])
    assert '"default": 1' in prompt
    assert '"additionalProperties": false' in prompt


def test_both_loops_make_the_same_tokens_mask_and_rewards(kit):
    def script(row: int, turn: int, text: str) -> str:
        if turn == 0:
            return f"Let me see.{kit.call('add', amount=row)}"
        return kit.call("echo", text="ä") if turn == 1 else goal(text)

    spec = kit.spec()
    ours = rollouts(kit.ours(spec, script), kit)
    shape = {"reward_funcs": spec.reward_funcs, "train_dataset": spec.train_dataset}
    theirs = rollouts(kit.plain(script, environment_factory=spec.environment_factory, **shape), kit)
    for key in ("completion_ids", "completion_mask", "tool_mask", "advantages"):
        assert torch.equal(ours[key], theirs[key]), key
    assert 0 < ours["tool_mask"].float().mean() < 1
    spec.close()


def test_what_was_sampled_is_never_tokenised_again(kit, tmp_path):
    sampled: list[list[int]] = []

    def script(row: int, turn: int, text: str) -> str:
        return kit.call("echo", text="total") if turn == 0 else goal(text)

    trainer = kit.ours(kit.spec(), script, trace_path=tmp_path / "traces.jsonl")
    scripted = trainer._generate_single_turn

    def spelled(prompt_ids: Any, *rest: Any) -> Any:
        ids, logprobs = scripted(prompt_ids, *rest)
        # letter by letter, as no tokenizer splits text
        spelt = [[t for i in row[:-1] for t in _spell(trainer._tokenizer, i)] + row[-1:] for row in ids]
        sampled.extend(spelt)
        return spelt, logprobs

    trainer._generate_single_turn = spelled
    output = rollouts(trainer, kit)
    mask = output["completion_mask"] * output["tool_mask"]
    for row in range(8):
        kept = output["completion_ids"][row][mask[row].bool()].tolist()
        assert kept == sampled[row] + sampled[8 + row]
    for row, trace in enumerate(read_traces(tmp_path / "traces.jsonl")):
        first, second = (turn.tokens for turn in trace.turns)
        assert first.ids == sampled[row]
        assert second.ids == sampled[8 + row]
        assert second.prompt_ids[: len(first.prompt_ids) + len(first.ids)] == first.prompt_ids + first.ids
        assert trace.value == 1.0
    trainer.close()


def _spell(tokenizer: Any, token: int) -> list[int]:
    return [tokenizer.convert_tokens_to_ids(letter) for letter in tokenizer.convert_ids_to_tokens(token)]


def test_log_probabilities_reach_trl_and_traces_and_zeros_stand_between_turns(kit, tmp_path):
    def script(row: int, turn: int, text: str) -> str:
        return kit.call("add") if turn == 0 else goal(text)

    trainer = kit.ours(kit.spec(), script, trace_path=tmp_path / "traces.jsonl")
    scripted = trainer._generate_single_turn

    def with_logprobs(*args: Any) -> Any:
        ids, _ = scripted(*args)
        return ids, [[None if i == 1 else -0.5 for i in range(len(row))] for row in ids]

    trainer._generate_single_turn = with_logprobs
    output = rollouts(trainer, kit)
    logprobs = output["sampling_per_token_logps"]
    mask = (output["completion_mask"] * output["tool_mask"]).bool()
    assert set(logprobs[mask].nan_to_num(nan=9.0).tolist()) == {-0.5, 9.0}
    assert set(logprobs[~mask].tolist()) == {0.0}
    trace = next(iter(read_traces(tmp_path / "traces.jsonl")))
    assert trace.turns[0].tokens.logprobs[:3] == [-0.5, None, -0.5]
    trainer.close()


@pytest.mark.parametrize("loop", ["ours", "trl"])
def test_two_specs_in_one_run_do_not_mix(kit, loop):
    seen: list[str] = []

    def script(row: int, turn: int, text: str) -> str:
        seen.append(text)
        if turn == 0:
            return kit.call("shout", text="hi")
        return goal(text)

    specs = [kit.spec(name="quiet", n_tasks=1, kwargs={"label": "Q"})]
    specs.append(kit.spec(id=kit.Echo, name="loud", n_tasks=1, kwargs={"label": "L"}))
    if loop == "ours":
        trainer = kit.ours(specs, script)
    else:
        dataset, factories, functions = combine(specs)
        trainer = kit.plain(script, reward_funcs=functions, train_dataset=dataset, environment_factory=factories)
    output = rollouts(trainer, kit)
    prompts = [trainer._tokenizer.decode(ids) for ids in output["prompt_ids"]]
    assert ["shout" in prompt for prompt in prompts] == ["Count.L" in prompt for prompt in prompts]
    episodes = [environment._episode for environment in trainer.environments]
    loud = [type(episode._env) is kit.Echo for episode in episodes]
    assert loud == ["Count.L" in prompt for prompt in prompts]
    assert sum(loud) == 4
    assert [any(use.ok for turn in episode.turns for use in turn.tool_uses) for episode in episodes] == loud
    found = metrics(trainer)
    assert {"rewards/quiet/mean", "rewards/loud/mean"} <= set(found)
    assert (found["rewards/quiet/mean"], found["rewards/loud/mean"]) == (1.0, 1.0)
    for spec in specs:
        spec.close()


@pytest.mark.parametrize("loop", ["ours", "trl"])
def test_none_stays_out_of_the_baseline(kit, loop):
    def script(row: int, turn: int, text: str) -> str:
        return {0: goal(text), 1: "crash", 2: "no", 3: "no", 4: "crash", 5: "skip", 6: goal(text), 7: "crash"}[row]

    spec = kit.spec()
    if loop == "ours":
        trainer = kit.ours(spec, script)
    else:
        shape = {"reward_funcs": spec.reward_funcs, "train_dataset": spec.train_dataset}
        trainer = kit.plain(script, environment_factory=spec.environment_factory, **shape)
    advantages = rollouts(trainer, kit)["advantages"].tolist()
    mean, std = 1 / 3, math.sqrt(((1 - 1 / 3) ** 2 + 2 * (1 / 3) ** 2) / 2)
    right, wrong = (1 - mean) / (std + 1e-4), -mean / (std + 1e-4)
    assert advantages == pytest.approx([right, 0, wrong, wrong, 0, 0, 0, 0], abs=1e-5)
    assert metrics(trainer)["parts/counter/none_rate"] == 0.5
    spec.close()


@pytest.mark.parametrize("loop", ["ours", "trl"])
@pytest.mark.parametrize("how", ["endless", "calls"])
def test_truncated_episodes_are_marked_and_numbered(kit, loop, how):
    def script(row: int, turn: int, text: str) -> str:
        if row % 2:
            return goal(text)
        return "I wonder " * 200 + "…" if how == "endless" else kit.call("echo", text="again " * 30)

    spec = kit.spec(kwargs={"max_turns": 50})
    if loop == "ours":
        trainer = kit.ours(spec, script, max_completion_length=120)
        output = rollouts(trainer, kit)
    else:
        shape = {"reward_funcs": spec.reward_funcs, "train_dataset": spec.train_dataset}
        config = {"max_completion_length": 120}
        trainer = kit.plain(script, config=config, environment_factory=spec.environment_factory, **shape)
        trainer._generate_single_turn = _cut(trainer._generate_single_turn, 120)
        output = rollouts(trainer, kit)
    assert output["completion_ids"].shape[1] <= 120
    episodes = [environment._episode for environment in trainer.environments]
    for row, episode in enumerate(episodes):
        assert episode.score.status is (Status.SCORED if row % 2 else Status.POLICY_LIMIT)
        assert episode.score.value == float(row % 2)
        assert episode.was_cut is (row % 2 == 0)
    assert metrics(trainer)["parts/counter/limit_rate"] == 0.5
    assert list(trainer._logs["extra"]["counter/status"])[:2] == ["policy_limit", "scored"]
    if loop == "ours":
        assert metrics(trainer)["rollouts/truncated"] == 0.5
    spec.close()


def _cut(generate: Any, tokens: int) -> Any:
    """Generation stops at the limit, as a model's does."""

    def limited(*args: Any, **kwargs: Any) -> Any:
        ids, logprobs = generate(*args, **kwargs)
        return [row[:tokens] for row in ids], logprobs

    return limited


def test_a_tool_call_that_trl_left_unrun_is_marked(kit):
    spec = kit.spec(kwargs={"max_turns": 50})
    shape = {"reward_funcs": spec.reward_funcs, "train_dataset": spec.train_dataset}
    trainer = kit.plain(
        lambda row, turn, text: kit.call("add"),
        config={"max_tool_calling_iterations": 2},
        environment_factory=spec.environment_factory,
        **shape,
    )
    rollouts(trainer, kit)
    assert metrics(trainer)["parts/counter/limit_rate"] == 1.0
    assert "not run" in trainer._logs["extra"]["counter/detail"][0]
    spec.close()


def test_the_models_longest_sequence_bounds_a_rollout(kit):
    trainer = kit.ours(kit.spec(), lambda row, turn, text: "so " * 3000 + "…", max_completion_length=4000)
    output = rollouts(trainer, kit)
    assert output["completion_ids"].shape[1] + output["prompt_ids"].shape[1] <= 4096
    trainer.close()


def test_tools_of_all_rollouts_run_at_once(kit):
    def script(row: int, turn: int, text: str) -> str:
        return kit.call("sleep", seconds=0.5) if turn == 0 else goal(text)

    trainer = kit.ours(kit.spec(), script)
    rollouts(trainer, kit)
    assert kit.Counter.most_running == 8
    assert metrics(trainer)["rollouts/success"] == 1.0
    trainer.close()


def test_an_episode_ends_with_the_environment_and_groups_are_drawn_together_once(kit):
    trainer = kit.ours(kit.spec(kwargs={"max_turns": 2}), lambda row, turn, text: kit.call("add"))
    rollouts(trainer, kit)
    assert trainer.groups == [4, 1]
    assert {episode.score.detail for episode in trainer.episodes} == {"no answer within 2 turns"}
    trainer.close()


LOSSES = ["grpo", "dapo", "dr_grpo", "bnpo", "cispo", "sapo", "luspo", "vespo"]


@pytest.mark.parametrize("loss_type", LOSSES)
def test_token_advantages_equal_to_the_broadcast_scalar_give_the_same_loss(kit, loss_type):
    def script(row: int, turn: int, text: str) -> str:
        return kit.call("add", amount=row) if turn == 0 else answer_right_every_other_time(row, turn, text)

    class Broadcast:
        def advantages(self, batch: Any, current: torch.Tensor) -> torch.Tensor:
            return current[:, None].expand(-1, batch.output["completion_ids"].shape[1])

    trainer = kit.ours(kit.spec(), script, points=Points(advantages=(Broadcast(),)), loss_type=loss_type)
    output = rollouts(trainer, kit)
    assert output["advantages"].shape == output["completion_ids"].shape
    trainer.current_gradient_accumulation_steps = 1
    losses, gradients = [], []
    for advantages in (output["advantages"], output["advantages"][:, 0]):
        loss = trainer._compute_loss(trainer.model, {**output, "advantages": advantages})
        trainer.model.zero_grad()
        loss.backward()
        losses.append(loss.item())
        gradients.append(trainer.model.lm_head.weight.grad.clone())
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    assert torch.allclose(*gradients, atol=1e-6)
    assert gradients[0].abs().sum() > 0
    trainer.close()


def test_training_with_token_advantages_changes_the_model_as_scalars_do(kit):
    class Broadcast:
        def advantages(self, batch: Any, current: torch.Tensor) -> torch.Tensor:
            return current[:, None].expand(-1, batch.output["completion_ids"].shape[1])

    found = []
    for points in (Points(), Points(advantages=(Broadcast(),))):
        torch.manual_seed(0)
        trainer = kit.ours(kit.spec(), answer_right_every_other_time, points=points)
        trainer.train()
        found.append((trainer.state.log_history[0]["loss"], trainer.model.lm_head.weight.detach().clone()))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-6)
    assert torch.allclose(found[0][1], found[1][1], atol=1e-6)


def test_points_of_every_kind_compose(kit):
    order: list[str] = []

    class Sampler:
        def choose(self, rows: Any, trainer: Any) -> Any:
            order.append("sampler")
            return [rows[0]] * 4 + [rows[4]] * 4

    class Halve:
        def regroup(self, scores: Any, rows: Any, size: int) -> Any:
            order.append(f"group {size} {len(rows)}")
            return [Score.of({"answer": Part(score.value / 2)}) for score in scores]

    class Double:
        def advantages(self, batch: Any, current: torch.Tensor) -> torch.Tensor:
            order.append("advantage")
            assert batch.rewards.flatten().tolist() == [score.value for score in batch.scores]
            assert [len(turns) for turns in batch.turns] == [2] * 8
            assert (batch.turn_ids.max(1).values == 1).all()
            return current * 2

    class Penalty:
        def prepare(self, model: Any) -> None:
            model.model.embed_tokens.weight.requires_grad_(False)

        def extra(self, trainer: Any, model: Any, inputs: Any) -> torch.Tensor:
            return torch.tensor(3.0)

    def script(row: int, turn: int, text: str) -> str:
        return kit.call("add") if turn == 0 else answer_right_every_other_time(row, turn, text)

    points = Points((Sampler(),), (), (Halve(), Halve()), (Double(), Double()), (Penalty(), Penalty()))
    trainer = kit.ours(kit.spec(), script, points=points)
    trainer.train()
    assert order == ["sampler", "group 4 8", "group 4 8", "advantage", "advantage"]
    log = trainer.state.log_history[0]
    assert log["rewards/counter/mean"] == pytest.approx(0.125)
    assert log["loss"] == pytest.approx(6.0, abs=0.5)
    assert not trainer.model.model.embed_tokens.weight.requires_grad


@pytest.mark.parametrize("wrong", ["short", "nan"])
def test_an_algorithm_that_returns_nonsense_is_told_so(kit, wrong):
    class Bad:
        def advantages(self, batch: Any, current: torch.Tensor) -> torch.Tensor:
            return current[:-1] if wrong == "short" else current * float("nan")

    trainer = kit.ours(kit.spec(), answer_right_every_other_time, points=Points(advantages=(Bad(),)))
    with pytest.raises(WrongShape, match="Bad"):
        rollouts(trainer, kit)
    trainer.close()


def test_a_rollout_of_ones_own_takes_the_place_of_ours(kit):
    class Short:
        def __call__(self, prompts: Any, trainer: Any) -> Any:
            ends = [trainer._tokenizer.eos_token_id]
            answers = [trainer._tokenizer.encode(goal(prompt[-1]["content"])) for prompt in prompts]
            ids = [answer + ends if row % 2 else ends for row, answer in enumerate(answers)]
            return {"prompt_ids": [ends] * len(ids), "completion_ids": ids, "logprobs": None}

    trainer = kit.ours(kit.spec(), answer_right_every_other_time, points=Points(rollouts=(Short(),)))
    rollouts(trainer, kit)
    assert [episode.score.value for episode in trainer.episodes] == [0.0, 1.0] * 4
    trainer.close()


def test_environments_are_closed_when_training_returns(kit):
    trainer = kit.ours(kit.spec(), answer_right_every_other_time)
    trainer.train()
    assert len(trainer.episodes) == 8
    assert kit.Counter.live == 0


def test_environments_are_closed_when_training_raises(kit):
    trainer = kit.ours(kit.spec(), answer_right_every_other_time)
    trainer.add_callback(Stop())
    with pytest.raises(KeyError, match="a callback broke"):
        trainer.train()
    assert kit.Counter.live == 0


def test_trls_own_trainer_closes_environments_too(kit):
    spec = kit.spec()
    shape = {"reward_funcs": spec.reward_funcs, "train_dataset": spec.train_dataset}
    shape["environment_factory"] = spec.environment_factory
    trainer = kit.plain(answer_right_every_other_time, callbacks=[CloseEnvironments(spec)], **shape)
    trainer.train()
    assert kit.Counter.live == 0
    trainer = kit.plain(answer_right_every_other_time, callbacks=[Stop()], **shape)
    with pytest.raises(KeyError), spec:
        trainer.train()
    assert kit.Counter.live == 0
    rollouts(trainer, kit)
    assert kit.Counter.live == 8
    del trainer
    gc.collect()
    assert kit.Counter.live == 0


@pytest.mark.parametrize("loop", ["ours", "trl"])
def test_nothing_that_an_environment_does_ends_training(kit, loop):
    def script(row: int, turn: int, text: str) -> str:
        if turn:
            return goal(text)
        return {0: kit.call("boom", kind="disk"), 1: "crash", 2: HALF_A_PAIR}.get(row, goal(text))

    spec = kit.spec()
    dataset = spec.train_dataset
    if loop == "ours":
        trainer = kit.ours(spec, script, train_dataset=dataset)
    else:
        shape = {"reward_funcs": spec.reward_funcs, "train_dataset": dataset}
        trainer = kit.plain(script, environment_factory=spec.environment_factory, **shape)
    kit.Counter.broken_tasks = frozenset({dataset[1]["task_id"]})
    trainer.train()
    log = trainer.state.log_history[0]
    assert log["parts/counter/error_rate"] == 0.75
    assert log["rewards/counter/mean"] == 1.0
    spec.close()


def test_a_text_that_is_half_a_surrogate_pair_reaches_model_and_trace(kit, tmp_path):
    def script(row: int, turn: int, text: str) -> str:
        return HALF_A_PAIR if turn == 0 else goal(text)

    trainer = kit.ours(kit.spec(), script, trace_path=tmp_path / "traces.jsonl")
    rollouts(trainer, kit)
    assert metrics(trainer)["rollouts/success"] == 1.0
    assert len(list(read_traces(tmp_path / "traces.jsonl"))) == 8
    trainer.close()


def test_a_group_whose_first_member_broke_still_shares_its_prompt(kit):
    class Flaky(kit.Counter):
        resets = 0

        def _prompt(self, task: Any) -> str:
            Flaky.resets += 1
            if Flaky.resets == 3:  # the dataset has two rows
                raise OSError("no sandbox is left")
            return super()._prompt(task)

    trainer = kit.ours(kit.spec(id=Flaky), answer_right_every_other_time)
    output = rollouts(trainer, kit)
    assert sum(episode.score.status is Status.INFRA_ERROR for episode in trainer.episodes) == 1
    assert all(torch.equal(output["prompt_ids"][0], ids) for ids in output["prompt_ids"][:4])
    trainer.close()


def test_evaluation_groups_by_its_own_size_and_training_may_reuse_a_generation(kit):
    spec = kit.spec(n_tasks=4)
    options = {"num_generations_eval": 2, "per_device_eval_batch_size": 4, "steps_per_generation": 2, "max_steps": 2}
    trainer = kit.ours(spec, answer_right_every_other_time, eval_dataset=spec.train_dataset, **options)
    trainer.train()
    assert trainer.groups == [4]
    found = trainer.evaluate()
    assert (found["eval_groups/effective_size"], found["eval_rollouts/success"]) == (2.0, 0.5)
    trainer.close()
    assert kit.Counter.live == 0


def test_tasks_too_few_for_a_batch_are_refused_instead_of_training_for_no_step(kit):
    with pytest.raises(NoTasks, match="1 tasks do not fill a batch of 2"):
        kit.ours(kit.spec(n_tasks=1), answer_right_every_other_time)


def test_the_list_of_reward_functions_is_left_as_it_was(kit):
    def tidy(completions: Any, episode_turns: Any, **columns: Any) -> list[float]:
        assert [len(turns) for turns in episode_turns] == [1] * 8
        assert episode_turns[0][0]["tokens"]["ids"]
        return [0.0] * len(completions)

    mine = [tidy]
    trainer = kit.ours(kit.spec(), answer_right_every_other_time, reward_funcs=mine)
    rollouts(trainer, kit)
    assert mine == [tidy]
    assert {"rewards/tidy/mean", "rewards/counter/mean"} <= set(metrics(trainer))
    trainer.close()


def test_plain_rewards_train_without_an_environment(kit):
    @reward
    def exact(completion: str, answer: str) -> bool:
        return completion.strip() == answer

    @reward
    def touchy(completion: str) -> float:
        if completion == "no idea":
            raise ConnectionError("judge answered 503")
        return 1.0

    spec = kit.spec()
    functions = [as_reward_func(exact, name="right"), as_reward_func(touchy)]
    trainer = kit.plain(
        answer_right_every_other_time,
        reward_funcs=functions,
        train_dataset=spec.train_dataset,
        config={"log_completions": True},
    )
    trainer.train()
    log = trainer.state.log_history[0]
    assert log["rewards/right/mean"] == 0.5
    assert log["parts/right/exact"] == 0.5
    assert (log["rewards/touchy/mean"], log["parts/touchy/error_rate"]) == (1.0, 0.5)


def test_groups_without_variance_are_told_apart_by_cause(kit):
    specs = kit.spec(n_tasks=4)

    def script(row: int, turn: int, text: str) -> str:
        return [goal(text), "no", "crash", goal(text) if row % 2 else "no"][row // 4]

    trainer = kit.ours(specs, script, per_device_train_batch_size=16)
    rollouts(trainer, kit)
    found = metrics(trainer)
    assert found["groups/zero_variance"] == 0.75
    assert found["groups/zero_variance_all_right"] == 0.25
    assert found["groups/zero_variance_all_wrong"] == 0.25
    assert found["groups/zero_variance_all_failed"] == 0.25
    assert found["groups/effective_size"] == 3.0
    assert found["rollouts/none"] == 0.25
    assert found["rollouts/success"] == 0.5
    trainer.close()


def test_failures_of_tools_and_traces_are_reported(kit, tmp_path):
    def script(row: int, turn: int, text: str) -> str:
        return kit.call("add", amount="x" if row % 2 else 1) if turn == 0 else goal(text)

    trainer = kit.ours(kit.spec(), script, trace_path=tmp_path / "deep" / "traces.jsonl")
    trainer.train()
    log = trainer.state.log_history[0]
    assert (log["rollouts/tool_failures"], log["rollouts/turns"]) == (0.5, 2.0)
    traces = list(read_traces(tmp_path / "deep" / "traces.jsonl"))
    assert len({trace.id for trace in traces}) == 8
    assert {(trace.value, trace.success, trace.terminated, len(trace.turns)) for trace in traces} == {
        (1.0, True, True, 2)
    }
    assert all(turn.tokens.ids and turn.tokens.prompt_ids and all(turn.tokens.mask) for turn in traces[0].turns)


def test_a_trl_that_differs_is_named(kit):
    check_trl()

    class Older:
        def _generate_single_turn(self, prompt_ids: Any, images: Any, multimodal_fields: Any) -> None: ...
        def _generate_and_score_completions(self, inputs: Any) -> None: ...
        def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, completion_ids_list: Any) -> None: ...
        def _compute_loss(self, model: Any, inputs: Any) -> None: ...

    class Newer(Older):
        def _generate_single_turn(
            self, prompt_ids: Any, images: Any, multimodal_fields: Any, num_generations: Any, sampler: Any
        ) -> None: ...

    for trainer in (Older, Newer, object):
        with pytest.raises(UnsupportedTRL, match=r"trl 1\.\d+\.\d+ has .*install trl"):
            check_trl(trainer)


def test_the_models_own_generation_goes_through_the_whole_loop(kit, new_model, new_config, tokenizer, tmp_path):
    from trainers.trl import EnvGRPOTrainer

    config = new_config(max_completion_length=16, per_device_train_batch_size=4, num_generations=2, max_steps=2)
    trainer = EnvGRPOTrainer(
        new_model(), kit.spec(), config, processing_class=tokenizer, trace_path=tmp_path / "traces.jsonl"
    )
    trainer.train()
    assert trainer.generation_config.max_new_tokens == 16
    assert len(list(read_traces(tmp_path / "traces.jsonl"))) == 8
    assert kit.Counter.live == 0
