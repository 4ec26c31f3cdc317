from __future__ import annotations

import multiprocessing
import pickle
from copy import deepcopy

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces.utils import flatten, flatten_space, is_space_dtype_shape_equiv, unflatten
from gymnasium.vector.utils import (
    batch_differing_spaces,
    batch_space,
    concatenate,
    create_empty_array,
    create_shared_memory,
    iterate,
    read_from_shared_memory,
    write_to_shared_memory,
)
from hypothesis import given
from hypothesis import strategies as st

from grpo_envs import UnicodeText


@pytest.mark.parametrize(
    ("value", "inside"),
    [
        ("", True),
        ("12345678", True),
        ("123456789", False),
        ("π ≈ 3.14", True),
        ("🙂" * 8, True),
        ("\ud800", False),
        ("ok\udfff", False),
        (np.str_("numpy"), True),
        (b"bytes", False),
        (None, False),
        (7, False),
        (["a"], False),
    ],
)
def test_membership(value: object, inside: bool) -> None:
    assert UnicodeText(8).contains(value) is inside
    assert (value in UnicodeText(8)) is inside


@pytest.mark.parametrize("length", [0, -1])
def test_a_space_holds_at_least_one_character(length: int) -> None:
    with pytest.raises(ValueError, match=f"at least 1, got {length}"):
        UnicodeText(length)


def test_samples_are_members_seeded_and_of_many_scripts() -> None:
    samples = [UnicodeText(50, seed=seed).sample() for seed in range(200)]
    assert all(sample in UnicodeText(50) for sample in samples)
    assert samples == [UnicodeText(50, seed=seed).sample() for seed in range(200)]
    assert len(set(samples)) > 190
    assert any(not sample.isascii() for sample in samples)
    assert all(UnicodeText(1, seed=seed).sample() in UnicodeText(1) for seed in range(20))
    with pytest.raises(ValueError, match="neither by mask nor"):
        UnicodeText().sample(mask=np.ones(3))


def test_equality_hash_repr_and_pickling() -> None:
    space = UnicodeText(9, seed=3)
    assert space == UnicodeText(9)
    assert space != UnicodeText(10)
    assert space != gym.spaces.Text(9)
    assert hash(space) == hash(UnicodeText(9))
    assert repr(space) == "UnicodeText(9)"
    copies = [pickle.loads(pickle.dumps(space)), deepcopy(space)]
    expected = [space.sample() for _ in range(3)]
    assert [[copy.sample() for _ in range(3)] for copy in copies] == [expected, expected]


@given(st.lists(st.text(max_size=20)))
def test_members_are_json_data(texts: list[str]) -> None:
    space = UnicodeText()
    assert space.from_jsonable(space.to_jsonable(texts)) == texts


def test_a_batch_is_a_tuple_whose_spaces_draw_on_their_own() -> None:
    space = UnicodeText(30, seed=1)
    untouched = UnicodeText(30, seed=1)
    batch = batch_space(space, 3)
    drawn = batch.sample()
    assert len(set(drawn)) == 3
    assert drawn in batch
    assert list(iterate(batch, drawn)) == list(drawn)
    assert concatenate(space, drawn, create_empty_array(space, 3)) == drawn
    assert create_empty_array(space, 2) == ("", "")
    assert space.sample() == untouched.sample()


def test_differing_spaces() -> None:
    spaces = [UnicodeText(3), UnicodeText(4)]
    batch = batch_differing_spaces(spaces)
    assert list(batch.spaces) == spaces
    assert batch.spaces[0] is not spaces[0]
    assert is_space_dtype_shape_equiv(UnicodeText(3), UnicodeText(3))
    assert not is_space_dtype_shape_equiv(UnicodeText(3), UnicodeText(4))
    assert not is_space_dtype_shape_equiv(UnicodeText(3), gym.spaces.Discrete(3))


def test_texts_do_not_flatten_to_arrays() -> None:
    space = UnicodeText(4)
    assert space.is_np_flattenable is False
    assert flatten_space(space) == space
    assert unflatten(space, flatten(space, "añ")) == "añ"
    assert flatten_space(gym.spaces.Dict(text=space))["text"] == space


@given(st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_shared_memory_carries_any_text(texts: list[str]) -> None:
    space = UnicodeText(12)
    memory = create_shared_memory(space, n=len(texts), ctx=multiprocessing)
    view = read_from_shared_memory(space, memory, n=len(texts))
    assert deepcopy(view) == ("",) * len(texts)
    for index, text in enumerate(texts):
        write_to_shared_memory(space, index, text, memory)
    assert tuple(view) == deepcopy(view) == tuple(texts)
    kept = deepcopy(view)
    write_to_shared_memory(space, 0, "", memory)
    assert kept == tuple(texts)
    assert view[0] == ""
    assert view[-1:] == tuple(view)[-1:]
    with pytest.raises(IndexError):
        view[len(texts)]


def test_the_widest_text_fits_its_slot_and_memory_stays_small() -> None:
    space = UnicodeText()
    memory = create_shared_memory(space, n=4, ctx=multiprocessing)
    assert len(memory) < 1_100_000
    for index in range(4):
        write_to_shared_memory(space, index, "🙂" * space.max_length, memory)
    assert all(text == "🙂" * space.max_length for text in read_from_shared_memory(space, memory, n=4))
