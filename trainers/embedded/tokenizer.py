"""The embedded policy's tokenizer: byte-level BPE trained on the environment's own text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from grpo_envs.tools import ToolSpec
from trainers.embedded.template import CHAT_TEMPLATE, END, PAD, RESPONSE_TEMPLATE, ROLES

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["build_tokenizer", "scaffolding"]


def scaffolding(tools: Sequence[ToolSpec]) -> list[str]:
    """Return the pieces of text between which a tool call's values stand; each becomes one token.

    >>> scaffolding([ToolSpec("f", "", {"properties": {"x": {}}})])[:2]
    ['<tool_call>{"name": "f", "arguments": {"x": ', '<tool_call>{"name": "f", "arguments": {']
    """
    pieces: list[str] = []
    for spec in tools:
        head = f'<tool_call>{{"name": {json.dumps(spec.name)}, "arguments": {{'
        names = list(spec.parameters.get("properties", {}))
        pieces += [f"{head}{json.dumps(names[0])}: "] if names else []
        pieces += [head, *(f", {json.dumps(name)}: " for name in names[1:])]
    return [*pieces, "<tool_call>", "}}</tool_call>", "</tool_call>"]


def build_tokenizer(
    texts: Iterable[str], tools: Sequence[ToolSpec], *, vocabulary: int, context: int
) -> PreTrainedTokenizerFast:
    """Train a tokenizer.

    Digits are single tokens whatever stands before them, so that copying a number is copying its tokens; any text at
    all can be written, byte by byte if need be.

    Args:
        texts: Text to learn merges from.
        tools: Tools whose call scaffolding becomes single tokens.
        vocabulary: Most tokens, scaffolding included.
        context: Longest sequence, in tokens.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    raw = Tokenizer(models.BPE(unk_token=None))
    raw.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    raw.decoder = decoders.ByteLevel()
    special = [PAD, END, *ROLES]
    pieces = scaffolding(tools)
    trainer = trainers.BpeTrainer(
        vocab_size=max(vocabulary - len(pieces), 300),
        special_tokens=special,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    raw.train_from_iterator(texts, trainer)
    raw.add_tokens([AddedToken(piece, normalized=False, special=False) for piece in pieces])
    make: Any = PreTrainedTokenizerFast
    tokenizer: PreTrainedTokenizerFast = make(
        tokenizer_object=raw,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=list(ROLES),
        padding_side="left",
        model_max_length=context,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.response_template = RESPONSE_TEMPLATE
    return tokenizer
