"""Spaces for text, and how vector environments batch them.

`gymnasium.spaces.Text` needs its alphabet listed: membership is then linear in the text and in the alphabet, and
"What is 2 + 2?" is outside the default one. `UnicodeText` is any text that can be encoded.
"""

from __future__ import annotations

import multiprocessing
import struct
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, overload

import gymnasium as gym
import numpy as np
from gymnasium.spaces.utils import flatten, flatten_space, is_space_dtype_shape_equiv, unflatten
from gymnasium.vector.utils import (
    create_empty_array,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from gymnasium.vector.utils.space_utils import batch_differing_spaces

__all__ = ["UnicodeText"]

_SAMPLE_LENGTH = 24
_ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,?!+-*/=()éßπλ√∞的日本語한글🙂"
_LENGTH = struct.Struct("<I")
_WIDEST = 4
"""Bytes of the widest character in UTF-8."""


class UnicodeText(gym.Space[str]):
    """Any text of at most `max_length` characters that can be encoded as UTF-8.

    >>> UnicodeText(8).contains("π ≈ 3.14"), UnicodeText(8).contains("far too long"), UnicodeText(8).contains("\\ud800")
    (True, False, False)
    """

    def __init__(self, max_length: int = 65_536, *, seed: int | np.random.Generator | None = None) -> None:
        """Fix the length.

        Args:
            max_length: Most characters.
            seed: Seed of `sample`.

        Raises:
            ValueError: If `max_length` is not positive.
        """
        if max_length < 1:
            raise ValueError(f"max_length must be at least 1, got {max_length}")
        self.max_length = int(max_length)
        super().__init__(dtype=str, seed=seed)

    def contains(self, x: Any) -> bool:
        """Return whether `x` is a text of this space: its type, its length, and no lone surrogates."""
        if not isinstance(x, str) or len(x) > self.max_length:
            return False
        if x.isascii():
            return True
        try:
            x.encode()
        except UnicodeEncodeError:
            return False
        return True

    def sample(self, mask: None = None, probability: None = None) -> str:
        """Return a short random text, drawn from the space's own generator.

        Raises:
            ValueError: If a mask or probability is given; texts have none.
        """
        if mask is not None or probability is not None:
            raise ValueError("UnicodeText can be sampled neither by mask nor by probability")
        length = int(self.np_random.integers(1, min(_SAMPLE_LENGTH, self.max_length) + 1))
        return "".join(_ALPHABET[i] for i in self.np_random.integers(len(_ALPHABET), size=length))

    @property
    def is_np_flattenable(self) -> bool:
        """Return False: texts are not arrays."""
        return False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length

    def __hash__(self) -> int:
        return hash((UnicodeText, self.max_length))

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"


# `batch_space`, `concatenate` and `iterate` are Gymnasium's own: a batch of texts is a tuple, each space of which has a
# generator of its own.


# Gymnasium dispatches on the type of the first item.
@batch_differing_spaces.register(UnicodeText)
def _batch_differing(spaces: list[UnicodeText]) -> gym.spaces.Tuple[Any]:  # type: ignore[misc]
    return gym.spaces.Tuple(tuple(map(deepcopy, spaces)), seed=deepcopy(spaces[0].np_random))


@is_space_dtype_shape_equiv.register(UnicodeText)
def _are_equivalent(space_1: UnicodeText, space_2: Any) -> bool:
    return isinstance(space_2, UnicodeText) and space_1.max_length == space_2.max_length


@flatten.register(UnicodeText)
def _flatten(space: UnicodeText, x: str) -> Any:  # type: ignore[misc]
    return x


@unflatten.register(UnicodeText)
def _unflatten(space: UnicodeText, x: Any) -> str:  # type: ignore[misc]
    return str(x)


@flatten_space.register(UnicodeText)
def _flat(space: UnicodeText) -> UnicodeText:
    return space


@create_empty_array.register(UnicodeText)
def _empty(space: UnicodeText, n: int = 1, fn: Callable[..., Any] = np.zeros) -> tuple[str, ...]:
    return ("",) * n


@create_shared_memory.register(UnicodeText)
def _shared(space: UnicodeText, n: int = 1, ctx: Any = multiprocessing) -> Any:
    return ctx.Array("B", n * _width(space))


class _LiveTexts(Sequence[str]):
    """The texts that the workers wrote last.

    Gymnasium reads shared memory once, when the vector environment is made, and copies that object at every step: so it
    must be a view, and its copy what the view shows now.
    """

    def __init__(self, space: UnicodeText, memory: Any, n: int) -> None:
        self._view = memoryview(memory.get_obj()).cast("B")
        self._width, self._n = _width(space), n

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return tuple(self)[index]
        start = range(self._n)[index] * self._width
        (length,) = _LENGTH.unpack_from(self._view, start)
        begin = start + _LENGTH.size
        return bytes(self._view[begin : begin + length]).decode()

    def __deepcopy__(self, memo: Any) -> tuple[str, ...]:
        return tuple(self)


@read_from_shared_memory.register(UnicodeText)
def _read(space: UnicodeText, shared_memory: Any, n: int = 1) -> Sequence[str]:
    return _LiveTexts(space, shared_memory, n)


@write_to_shared_memory.register(UnicodeText)
def _write(space: UnicodeText, index: int, values: str, shared_memory: Any) -> None:
    data = values.encode()
    view = memoryview(shared_memory.get_obj()).cast("B")
    start = index * _width(space)
    _LENGTH.pack_into(view, start, len(data))
    begin = start + _LENGTH.size
    view[begin : begin + len(data)] = data


def _width(space: UnicodeText) -> int:
    """Return the bytes one text takes in shared memory: its length, and room for the widest."""
    return _LENGTH.size + _WIDEST * space.max_length
