"""Rewards: async callables from a batch of samples to a list of scores, and the decorator that makes them."""

from __future__ import annotations

import asyncio
import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, overload

from rewards.boundary import Failure, guard, guard_async
from rewards.bounds import Bounds
from rewards.errors import InvalidBounds, InvalidReward
from rewards.sample import Sample
from rewards.score import Part, Score
from rewards.sync import run_sync

__all__ = ["FunctionReward", "Reward", "Verdict", "Verifier", "reward"]

Verdict: TypeAlias = float | bool | Score
Verifier: TypeAlias = Callable[..., Verdict | Awaitable[Verdict]]


class Reward(ABC):
    """Judges samples. Holds no state that scoring changes, so one instance serves any number of threads.

    Attributes:
        name: What the reward is called in traces and logs.
        bounds: The range of every value it can return.
    """

    name: str
    bounds: Bounds

    @abstractmethod
    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Judge each sample of `batch`.

        Args:
            batch: Samples, in any number.

        Returns:
            One score per sample, in order. A verifier that fails gives `INFRA_ERROR`; it never raises.
        """

    async def __call__(self, batch: Sequence[Sample]) -> list[Score]:
        """Judge each sample of `batch`; the same as `score`."""
        return await self.score(batch)

    def score_sync(self, batch: Sequence[Sample]) -> list[Score]:
        """Judge each sample of `batch` from sync code, in any thread."""
        return run_sync(self.score(batch))

    @property
    def part_bounds(self) -> Mapping[str, tuple[float, Bounds]]:
        """Return the weight and range of every part the reward can report, by name."""
        return {self.name: (1.0, self.bounds)}

    def children(self) -> Mapping[str, Reward]:
        """Return the rewards this one is made of, by name."""
        return {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, bounds=[{self.bounds.low:g}, {self.bounds.high:g}])"


class FunctionReward(Reward):
    """A reward made of a plain function of one sample. See `reward`."""

    def __init__(self, function: Verifier, *, name: str, bounds: Bounds, malformed: float, thread: bool) -> None:
        self.name = name
        self.bounds = bounds
        self._function = function
        self.malformed = malformed
        self._thread = thread
        self._is_async = any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))
        self._required, self._optional, self._takes_all = _parameters(function)
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    async def score(self, batch: Sequence[Sample]) -> list[Score]:
        """Judge each sample: async functions and threads at once, plain functions one after another."""
        if self._is_async or self._thread:
            return list(await asyncio.gather(*map(self._score_one, batch)))
        return [await self._score_one(sample) for sample in batch]

    async def _score_one(self, sample: Sample) -> Score:
        started = time.perf_counter()
        if self._thread and not self._is_async:
            result = await asyncio.to_thread(guard, self._verdict, sample)
        else:
            result = guard(self._verdict, sample)
        if inspect.isawaitable(result):
            result = await guard_async(_awaited, result)
        return self._to_score(result, time.perf_counter() - started)

    def _verdict(self, sample: Sample) -> Any:
        return self._function(**self._arguments(sample))

    def _arguments(self, sample: Sample) -> dict[str, Any]:
        """Fill the function's parameters by name from the sample and its task row."""
        arguments: dict[str, Any] = dict(sample.task) if self._takes_all else {}
        for name in self._required:
            arguments[name] = sample.field(name)
        for name in self._optional:
            if name in _SAMPLE_FIELDS or name in sample.task:
                arguments[name] = sample.field(name)
        return arguments

    def _to_score(self, result: Any, ran_s: float) -> Score:
        if isinstance(result, Score):
            if result.value is not None and result.value not in self.bounds:
                text = f"{self.name}: value {result.value} is outside the declared bounds {self.bounds}"
                return Score.failed(text, ran_s=ran_s)
            return result if result.ran_s else replace(result, ran_s=ran_s)
        if isinstance(result, Failure):
            return self._from_failure(result, ran_s)
        part = guard(self._part, result)
        if isinstance(part, Failure):
            return Score.failed(f"{self.name}: {part.detail}", ran_s=ran_s)
        return Score.of({self.name: part}, ran_s=ran_s)

    def _part(self, result: Any) -> Part:
        if not isinstance(result, (int, float)) and not hasattr(result, "__float__"):
            raise InvalidReward(f"a verifier must return a number, a bool or a Score, got {type(result).__name__}")
        return Part(float(result), bounds=self.bounds)

    def _from_failure(self, failure: Failure, ran_s: float) -> Score:
        value = self.malformed if failure.status.has_value else None
        part = Part(value, bounds=self.bounds, status=failure.status, detail=failure.detail)
        return Score.of({self.name: part}, detail=f"{self.name}: {failure.detail}", ran_s=ran_s)


@overload
def reward(function: Verifier, /) -> FunctionReward: ...
@overload
def reward(
    *,
    name: str | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    malformed: float | None = None,
    thread: bool = False,
) -> Callable[[Verifier], FunctionReward]: ...
def reward(
    function: Verifier | None = None,
    /,
    *,
    name: str | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    malformed: float | None = None,
    thread: bool = False,
) -> FunctionReward | Callable[[Verifier], FunctionReward]:
    """Make a reward out of a function of one sample.

    Parameters are filled by name from the sample (`completion`, `messages`, `turns`, `tool_uses`, `state_before`,
    `state_after`, `task`, `group`, `step`, or `sample` itself) and else from the task row. The function may be async.
    It returns a number within `bounds`, a bool, or a `Score`; it may raise `Malformed`, `PolicyLimit` or `Skip`.
    Anything else it raises makes the sample's score `INFRA_ERROR`, never a number.

    Args:
        function: The verifier.
        name: Name of the reward; the function's own when omitted.
        bounds: The range of the returned values.
        malformed: Value of a sample whose output could not be read or exceeded a limit; the lowest of the bounds when
            omitted, so that unreadable output is never worth more than wrong output.
        thread: Run a blocking function in a thread, so that the samples of a batch overlap.

    Returns:
        The reward, or a decorator that makes it.

    Raises:
        InvalidReward: If the function has positional-only parameters or `*args`.
        InvalidBounds: If the bounds are empty or not finite, or `malformed` lies outside them.

    >>> @reward
    ... def exact(completion: str, answer: str) -> bool:
    ...     return completion.strip() == answer
    >>> [s.value for s in exact.score_sync([Sample("7", {"answer": "7"}), Sample("8", {"answer": "7"})])]
    [1.0, 0.0]
    >>> exact.score_sync([Sample("7", {})])[0].status.name
    'INFRA_ERROR'
    """
    interval = Bounds(*bounds)
    lowest = interval.low if malformed is None else float(malformed)
    if lowest not in interval:
        raise InvalidBounds(f"malformed={malformed} is outside bounds=({interval.low}, {interval.high}); widen them")

    def decorate(verifier: Verifier) -> FunctionReward:
        label = str(name or getattr(verifier, "__name__", type(verifier).__name__))
        return FunctionReward(verifier, name=label, bounds=interval, malformed=lowest, thread=thread)

    return decorate if function is None else decorate(function)


async def _awaited(verdict: Awaitable[Any]) -> Any:
    return await verdict


_SAMPLE_FIELDS = frozenset(Sample.__dataclass_fields__) | {"sample", "tool_uses"}


def _parameters(function: Verifier) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Return the required names, the optional names, and whether every task column is wanted (`**kwargs`)."""
    required: list[str] = []
    optional: list[str] = []
    takes_all = False
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError as error:
        raise InvalidReward(f"{function!r} does not say its parameters; wrap it in a function of your own") from error
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise InvalidReward(
                f"parameter {parameter} of {function!r} cannot be filled by name; make it a named parameter"
            )
        if parameter.kind is parameter.VAR_KEYWORD:
            takes_all = True
        else:
            (required if parameter.default is parameter.empty else optional).append(parameter.name)
    return tuple(required), tuple(optional), takes_all
