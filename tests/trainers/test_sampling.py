"""Sampling: rows do not influence one another, probabilities are the model's own, ends are kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from trainers.sampling import sample

PROMPTS = [[5, 6, 7], [8], [9, 10, 11, 12, 13]]


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=40,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        initializer_range=0.6,
    )
    return Qwen3ForCausalLM(config).eval()


def test_a_row_is_the_same_in_any_company(model: Any) -> None:
    together = sample(model, PROMPTS, end_ids=[1], max_new_tokens=12, seeds=[3, 4, 5])
    alone = [
        sample(model, [p], end_ids=[1], max_new_tokens=12, seeds=[s])[0]
        for p, s in zip(PROMPTS, (3, 4, 5), strict=True)
    ]
    assert [row.ids for row in together] == [row.ids for row in alone]


def test_a_long_row_does_not_cut_the_others_short(model: Any) -> None:
    prompts = [PROMPTS[0], PROMPTS[2] * 4]
    rows = sample(model, prompts, end_ids=[], max_new_tokens=10, seeds=[3, 4], limit=22)
    assert [len(row.ids) for row in rows] == [10, 2]
    assert rows[0].ids == sample(model, prompts[:1], end_ids=[], max_new_tokens=10, seeds=[3])[0].ids


def test_seeds_matter_and_repeat(model: Any) -> None:
    def draw(seed: int) -> list[int]:
        return sample(model, [PROMPTS[0]], end_ids=[1], max_new_tokens=12, seeds=[seed])[0].ids

    assert draw(1) == draw(1)
    assert len({tuple(draw(seed)) for seed in range(6)}) > 1


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_logprobs_are_the_models(model: Any, temperature: float) -> None:
    row = sample(model, [PROMPTS[2]], end_ids=[1], max_new_tokens=8, temperature=temperature)[0]
    full = torch.tensor([PROMPTS[2] + row.ids])
    logits = model(input_ids=full).logits[0, len(PROMPTS[2]) - 1 : -1]
    expected = torch.log_softmax(logits / (temperature or 1.0), -1).gather(1, torch.tensor(row.ids)[:, None])[:, 0]
    assert torch.allclose(torch.tensor(row.logprobs), expected, atol=1e-4)


def test_greedy_is_transformers_greedy(model: Any) -> None:
    row = sample(model, [PROMPTS[2]], end_ids=[1], max_new_tokens=8, temperature=0)[0]
    expected = model.generate(
        torch.tensor([PROMPTS[2]]), do_sample=False, max_new_tokens=8, eos_token_id=1, pad_token_id=1
    )[0, 5:]
    assert row.ids == expected.tolist()


def test_frequencies_follow_the_distribution(model: Any) -> None:
    n = 3_000
    rows = sample(model, [PROMPTS[0]] * n, end_ids=[1], max_new_tokens=1, seeds=range(n))
    found = np.bincount([row.ids[0] for row in rows], minlength=40) / n
    expected = torch.softmax(model(input_ids=torch.tensor([PROMPTS[0]])).logits[0, -1], -1).detach().numpy()
    assert np.abs(found - expected).sum() < 0.12


def test_a_row_ends_at_its_end_token_and_says_whether_it_did(model: Any) -> None:
    rows = sample(model, [PROMPTS[0]] * 40, end_ids=[1, 2, 3, 4], max_new_tokens=6)
    for row in rows:
        ends = [i for i, token in enumerate(row.ids) if token in (1, 2, 3, 4)]
        assert ends == ([len(row.ids) - 1] if row.finished else [])
        assert row.finished or len(row.ids) == 6
        assert len(row.logprobs) == len(row.ids)
    assert {row.finished for row in rows} == {True, False}


def test_the_models_limit_is_kept(model: Any) -> None:
    row = sample(model, [PROMPTS[2]], end_ids=[], max_new_tokens=50, limit=9)[0]
    assert len(row.ids) == 4
