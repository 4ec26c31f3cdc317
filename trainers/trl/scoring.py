"""Scoring rows under a deadline each, whatever the verifier does: raise, hang in async code, or block its thread."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Sequence

from rewards.boundary import Failure, guard_async
from rewards.combinators.groups import Group
from rewards.reward import Reward
from rewards.sample import Sample
from rewards.score import Score

__all__ = ["Scorer"]

_GRACE_S = 1.0
_Result = tuple[int, list[Score]]


class Scorer:
    """Scores samples on an event loop of its own, which is left behind if a verifier blocks it.

    Rows are scored one by one, so that one bad row costs no other its score; a reward that judges groups gets each
    group whole. A row's deadline counts from when its scoring begins.
    """

    def __init__(self, reward: Reward, timeout_s: float) -> None:
        self._reward, self._timeout_s = reward, timeout_s
        self._by_group = _judges_groups(reward)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Return one score per sample, in order; a row that failed or was late is `INFRA_ERROR`."""
        units = self._units(samples)
        waiting = set(range(len(units)))
        found: dict[int, Score] = {}
        with self._lock:
            while waiting:
                for unit, scores in self._pass(samples, units, waiting):
                    waiting.discard(unit)
                    found.update(zip(units[unit], scores, strict=True))
        return [found[i] for i in range(len(samples))]

    def close(self) -> None:
        """End the event loop's thread. Scoring again starts another."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _pass(self, samples: Sequence[Sample], units: Sequence[list[int]], waiting: set[int]) -> list[_Result]:
        """Score the units that wait, up to where the loop is blocked."""
        results: queue.SimpleQueue[_Result] = queue.SimpleQueue()
        started: set[int] = set()
        todo = sorted(waiting)

        async def run() -> None:
            await asyncio.gather(*(one(unit) for unit in todo))

        async def one(unit: int) -> None:
            started.add(unit)
            results.put((unit, await self._score_unit([samples[i] for i in units[unit]])))

        finishing = asyncio.run_coroutine_threadsafe(run(), self._running_loop())
        done: list[_Result] = []
        while len(done) < len(todo):
            try:
                done.append(results.get(timeout=self._timeout_s + _GRACE_S))
            except queue.Empty:
                stuck = (started or set(todo)) - {unit for unit, _ in done}
                self.close()
                return done + [(unit, self._late(len(units[unit]))) for unit in stuck]
        # The last result is there a moment before the coroutine has ended: a loop stopped in between would say so.
        finishing.result(_GRACE_S)
        return done

    async def _score_unit(self, samples: Sequence[Sample]) -> list[Score]:
        try:
            async with asyncio.timeout(self._timeout_s):
                scores = await guard_async(self._reward.score, samples)
        except TimeoutError:
            return self._late(len(samples))
        if isinstance(scores, Failure):
            return [Score.failed(scores.detail)] * len(samples)
        if len(scores) != len(samples):
            return [Score.failed(f"{self._reward.name} gave {len(scores)} scores for {len(samples)}")] * len(samples)
        return scores

    def _late(self, count: int) -> list[Score]:
        return [Score.failed(f"scoring took longer than {self._timeout_s:g} s")] * count

    def _units(self, samples: Sequence[Sample]) -> list[list[int]]:
        if not self._by_group:
            return [[i] for i in range(len(samples))]
        groups: dict[str, list[int]] = {}
        for i, sample in enumerate(samples):
            groups.setdefault(sample.group, []).append(i)
        return list(groups.values())

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name=f"score-{self._reward.name}", daemon=True).start()
        return self._loop


def _judges_groups(reward: Reward) -> bool:
    return isinstance(reward, Group) or any(map(_judges_groups, reward.children().values()))
