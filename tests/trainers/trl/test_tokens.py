"""Real chat templates: tokens between turns are TRL's, and every model's way of calling tools is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast
from trl import GRPOTrainer
from trl.chat_template_utils import get_training_chat_template, is_chat_template_prefix_preserving

from grpo_envs import Answer, Calls, ToolSpec, parse_action
from trainers.chat import TemplateNotPrefixPreserving
from trainers.trl.tokens import Rendering

TEMPLATES = Path(trl.__file__).parent / "chat_templates"
QWEN = ("<|im_end|>", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
LLAMA = (
    "<|eot_id|>",
    ["<|endoftext|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|python_tag|>"],
)
ADD = ToolSpec(
    "add",
    "Add.",
    {
        "type": "object",
        "properties": {"amount": {"type": "integer"}, "note": {"type": "string"}},
        "required": ["amount"],
    },
)
RESULTS = [{"role": "tool", "name": "add", "content": "3"}, {"role": "tool", "name": "add", "content": "4"}]


def build(template: str, eos: str, special: list[str]) -> PreTrainedTokenizerFast:
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bpe = trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    raw.train_from_iterator(["add"], bpe)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token=eos, pad_token="<|endoftext|>")
    tokenizer.chat_template = template
    return tokenizer


CASES = {
    "qwen2_5": (QWEN, '<tool_call>\n{"name": "add", "arguments": {"amount": 3}}\n</tool_call>'),
    "qwen3": (QWEN, '<think>\nhm\n</think>\n\n<tool_call>\n{"name": "add", "arguments": {"amount": 3}}\n</tool_call>'),
    "qwen3_5_think": (
        QWEN,
        "<think>\nhm\n</think>\n\n<tool_call>\n<function=add>\n<parameter=amount>\n3\n</parameter>\n</function>\n</tool_call>",
    ),
    "llama3_2": (LLAMA, '{"name": "add", "parameters": {"amount": 3}}'),
}


@pytest.fixture(params=CASES)
def case(request: Any) -> tuple[PreTrainedTokenizerFast, str]:
    (eos, special), call = CASES[request.param]
    return build((TEMPLATES / f"{request.param}.jinja").read_text(encoding="utf-8"), eos, special), call


def rendering(tokenizer: Any, **options: Any) -> Rendering:
    return Rendering(tokenizer, options=options, ends=[])


def test_the_tokens_between_turns_are_trls(case):
    tokenizer, _ = case

    class Trainer:
        processing_class = _tokenizer = tokenizer
        chat_template = None if is_chat_template_prefix_preserving(tokenizer) else get_training_chat_template(tokenizer)
        chat_template_kwargs: dict = {}  # noqa: RUF012
        _is_vlm = False

    made = rendering(tokenizer)
    made.check()
    for messages in (RESULTS[:1], RESULTS):
        assert made.suffix(messages) == GRPOTrainer._get_tool_suffix_ids(Trainer(), messages)


def test_calls_are_read_however_the_model_writes_them(case):
    tokenizer, call = case
    made = rendering(tokenizer)
    given = made.prompt([{"role": "user", "content": "Add 3."}], [ADD])
    ids = [*tokenizer.encode(call, add_special_tokens=False), tokenizer.eos_token_id]
    action = parse_action(made.action(ids, given, [ADD]))
    assert isinstance(action, Calls)
    assert [(each.name, each.arguments) for each in action.calls] == [("add", {"amount": 3})]
    assert getattr(tokenizer, "response_template", None) is None  # the trainer's own tokenizer is left as it was


def test_answers_stay_answers(case):
    tokenizer, _ = case
    made = rendering(tokenizer)
    given = made.prompt([{"role": "user", "content": "Add 3."}], [ADD])
    ids = [*tokenizer.encode("The answer is 3.", add_special_tokens=False), tokenizer.eos_token_id]
    assert parse_action(made.action(ids, given, [ADD])) == Answer("The answer is 3.")
    assert made.action(ids, given, []) == "The answer is 3."


def test_a_value_of_the_wrong_type_is_not_made_right():
    (eos, special), _ = CASES["qwen2_5"]
    tokenizer = build((TEMPLATES / "qwen2_5.jinja").read_text(encoding="utf-8"), eos, special)
    made = rendering(tokenizer)
    given = made.prompt([{"role": "user", "content": "Add 3."}], [ADD])
    text = '<tool_call>{"name": "add", "arguments": {"amount": "3"}}</tool_call>'
    action = parse_action(made.action(tokenizer.encode(text), given, [ADD]))
    assert action.calls[0].arguments == {"amount": "3"}


def test_template_options_reach_the_template():
    (eos, special), _ = CASES["qwen3"]
    tokenizer = build((TEMPLATES / "qwen3.jinja").read_text(encoding="utf-8"), eos, special)
    quiet = rendering(tokenizer, enable_thinking=False)
    assert tokenizer.decode(quiet.prompt([{"role": "user", "content": "Hi"}], [])).endswith("<think>\n\n</think>\n\n")
    assert tokenizer.decode(quiet.suffix(RESULTS)).endswith("<think>\n\n</think>\n\n")


def test_a_template_that_cannot_grow_is_refused_only_where_it_must():
    forgetful = "{% for m in messages %}<|im_start|>{{ messages|length }}{{ m.content }}<|im_end|>{% endfor %}"
    made = rendering(build(forgetful, *QWEN))
    assert made.prompt([{"role": "user", "content": "Hi"}], [])
    with pytest.raises(TemplateNotPrefixPreserving):
        made.check()


def test_the_trainer_refuses_such_a_template_before_it_trains(kit, new_model, new_config):
    from trainers.trl import EnvGRPOTrainer

    template = (TEMPLATES / "qwen2_5.jinja").read_text(encoding="utf-8")
    forgetful = build("{{ messages|length }}" + template, *QWEN)
    with pytest.raises(TemplateNotPrefixPreserving, match="prefix-preserving"):
        EnvGRPOTrainer(new_model(), kit.spec(), new_config(), processing_class=forgetful)
