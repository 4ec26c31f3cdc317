"""The tokenizer and the template: any text survives, digits are single, and TRL accepts and reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer
from trl.chat_template_utils import is_chat_template_prefix_preserving, parse_response, supports_tool_calling

import grpo_envs
from grpo_envs import ToolSpec, call_text
from trainers.chat import prompt_ids, suffix_ids
from trainers.embedded.template import END
from trainers.embedded.tokenizer import build_tokenizer, scaffolding

TOOLS = (
    ToolSpec("calculator", "", {"type": "object", "properties": {"expression": {"type": "string"}}}),
    ToolSpec("move", "", {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}),
    ToolSpec("look", "", {"type": "object", "properties": {}}),
)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return build_tokenizer(["What is 12 * 34?", "Compute 5 - 77."] * 20, TOOLS, vocabulary=400, context=256)


_TOKENIZER = build_tokenizer(["What is 12 * 34?"] * 20, TOOLS, vocabulary=400, context=256)


@given(st.text(st.characters(codec="utf-8"), max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_text_survives(text: str) -> None:
    assert _TOKENIZER.decode(_TOKENIZER(text)["input_ids"]) == text


@pytest.mark.parametrize("text", ["12345", " 12345", "(12345", "\\boxed{12345}", '"12345"'])
def test_a_number_is_the_same_tokens_wherever_it_stands(tokenizer: Any, text: str) -> None:
    tokens = [tokenizer.decode([i]) for i in tokenizer(text)["input_ids"]]
    assert [token for token in tokens if token.isdigit()] == list("12345")


@pytest.mark.parametrize("piece", scaffolding(TOOLS))
def test_scaffolding_is_one_token(tokenizer: Any, piece: str) -> None:
    assert len(tokenizer(piece)["input_ids"]) == 1


def test_trl_accepts_the_template(tokenizer: Any) -> None:
    assert supports_tool_calling(tokenizer)
    assert is_chat_template_prefix_preserving(tokenizer)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("calculator", {"expression": "12 * (3 - 4)"}),
        ("move", {"x": 3, "y": -4}),
        ("look", {}),
        ("calculator", {"expression": 'quote " and \\ and é'}),
    ],
)
def test_trl_reads_calls_back(tokenizer: Any, name: str, arguments: dict[str, Any]) -> None:
    text = f"<tool_call>{call_text(name, **arguments)}</tool_call>{END}"
    prompt = prompt_ids(tokenizer, [{"role": "user", "content": "go"}], TOOLS)
    message = parse_response(tokenizer, tokenizer(text)["input_ids"], prefix=prompt)
    assert message["tool_calls"] == [{"type": "function", "function": {"name": name, "arguments": arguments}}]


def test_an_answer_is_read_back_without_its_end(tokenizer: Any) -> None:
    prompt = prompt_ids(tokenizer, [{"role": "user", "content": "go"}], ())
    message = parse_response(tokenizer, tokenizer(f"\\boxed{{7}}{END}")["input_ids"], prefix=prompt)
    assert message == {"role": "assistant", "content": "\\boxed{7}"}


def test_growing_a_conversation_appends_to_its_tokens(tokenizer: Any) -> None:
    with grpo_envs.make("grpo_envs/MathTools-v0", size=20) as env:
        env.reset(seed=0)
        before = prompt_ids(tokenizer, env.messages, env.tools)
        action = env.oracle_action()
        seen = len(env.messages)
        env.step(action)
        drawn = tokenizer(f"<tool_call>{action}</tool_call>{END}")["input_ids"]
        added = suffix_ids(tokenizer, [m for m in env.messages[seen:] if m["role"] != "assistant"])
        assert before + drawn + added == prompt_ids(tokenizer, env.messages, env.tools)


def test_saving_keeps_template_and_parser(tokenizer: Any, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.chat_template == tokenizer.chat_template
    assert loaded.response_template == tokenizer.response_template
    text = '<tool_call>{"name": "calculator", "arguments": {"expression": "1 + 2"}}</tool_call>'
    assert loaded(text)["input_ids"] == tokenizer(text)["input_ids"]
    assert (loaded.eos_token, loaded.padding_side) == (END, "left")
