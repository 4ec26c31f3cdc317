"""The pool: bounded, fair, one retry, and as wide as the machine can bear."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from sandboxes import Call, Cause, Execution, Limits, Outcome, Pool, Program, Usage
from sandboxes.backends.namespace import NamespaceSandbox
from sandboxes.cores import cores
from sandboxes.errors import Saturated
from sandboxes.gate import Gate
from sandboxes.program import Input
from sandboxes.sandbox import Protections, Sandbox, Session

F = Program("def f(x):\n    return x * x + 1\n")
LIMITS = Limits(wall_s=30, cpu_s=30, total_wall_s=60)


class Flaky(Sandbox):
    """Reports what it is told to, one run after the other, and then what the real backend does."""

    name = "flaky"

    def __init__(self, real: Sandbox, *reports: Execution) -> None:
        self.real, self.reports, self.runs = real, list(reports), 0

    async def run(self, program: Program, inputs: Sequence[Input] = (), limits: Limits | None = None) -> Execution:
        self.runs += 1
        return self.reports.pop(0) if self.reports else await self.real.run(program, inputs, limits)

    async def session(self, limits: Limits | None = None) -> Session:
        return await self.real.session(limits)

    def describe(self) -> Protections:
        return self.real.describe()

    async def close(self) -> None:
        return


STARVED = Execution(Outcome.INFRA_ERROR, Cause.STARVED, usage=Usage(1.0, 0.1, 0.9))
LOST = Execution(Outcome.INFRA_ERROR, Cause.LOST)


@pytest.mark.parametrize(
    ("reports", "outcome", "runs"),
    [
        ([], Outcome.SCORED, 1),
        ([STARVED], Outcome.SCORED, 2),
        ([LOST], Outcome.SCORED, 2),
        ([STARVED, LOST], Outcome.INFRA_ERROR, 2),
        ([Execution(Outcome.POLICY_LIMIT, Cause.WALL)], Outcome.POLICY_LIMIT, 1),
    ],
)
async def test_what_the_machine_did_is_tried_once_more(
    namespace: NamespaceSandbox, reports: list[Execution], outcome: Outcome, runs: int
) -> None:
    backend = Flaky(namespace, *reports)
    pool = Pool(backend, workers=1)
    assert (await pool.run(F, [Call("f", (3,))], LIMITS)).outcome is outcome
    assert backend.runs == runs
    assert pool.stats.retried == runs - 1
    assert pool.stats.outcomes == {outcome.value: 1}
    assert pool.stats.running == 0


async def test_a_full_queue_refuses(namespace: NamespaceSandbox) -> None:
    pool = Pool(namespace, workers=1, max_queue=2)
    slow = Program("import time\ntime.sleep(0.3)\n" + F.source)
    runs = [asyncio.create_task(pool.run(slow, [Call("f", (3,))], LIMITS)) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(Saturated, match="2 runs wait for 1 places"):
        await pool.run(F)
    results = await asyncio.gather(*runs)
    assert [result.cases[0].value for result in results] == [10] * 3
    assert results[0].usage.queued_s == 0
    assert results[2].usage.queued_s > results[1].usage.queued_s > 0
    assert (pool.stats.refused, pool.stats.waiting, pool.stats.running) == (1, 0, 0)


async def test_waiting_costs_a_program_nothing_of_its_time(namespace: NamespaceSandbox) -> None:
    """A deadline that counted from enqueueing would have passed for the last of these."""
    pool = Pool(namespace, workers=1)
    slow = Program("import time\ndef f(x):\n    time.sleep(0.4)\n    return x\n")
    limits = Limits(wall_s=5, total_wall_s=5)
    results = await asyncio.gather(*(pool.run(slow, [Call("f", (n,))], limits) for n in range(4)))
    assert [result.cases[0].value for result in results] == [0, 1, 2, 3]
    assert max(result.usage.queued_s for result in results) > 1.0


async def test_clients_take_turns() -> None:
    gate = Gate(1, 100)
    await gate.enter()
    order: list[str] = []

    async def run(client: str) -> None:
        await gate.enter(client)
        order.append(client)
        gate.leave()

    tasks = [asyncio.create_task(run(client)) for client in "aaaaabbc"]
    await asyncio.sleep(0.01)
    assert gate.waiting == 8
    gate.leave()
    await asyncio.gather(*tasks)
    assert "".join(order) == "abcabaaa"


async def test_who_gives_up_waiting_takes_no_place() -> None:
    gate = Gate(1, 10)
    await gate.enter()
    waiting = [asyncio.create_task(gate.enter()) for _ in range(3)]
    await asyncio.sleep(0.01)
    waiting[0].cancel()
    gate.leave()  # Grants a place to the second, which gives up before it learns of it.
    waiting[1].cancel()
    await asyncio.gather(*waiting[:2], return_exceptions=True)
    await waiting[2]
    assert (gate.inside, gate.waiting) == (1, 0)
    gate.leave()
    assert gate.inside == 0


def test_a_gate_serves_many_loops() -> None:
    gate, most, inside = Gate(2, 1000), [], []

    async def visit() -> None:
        await gate.enter(threading.current_thread().name)
        inside.append(1)
        most.append(len(inside))
        await asyncio.sleep(0.001)
        inside.pop()
        gate.leave()

    async def visits() -> None:
        await asyncio.gather(*(visit() for _ in range(20)))

    threads = [threading.Thread(target=asyncio.run, args=(visits(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 80
    assert max(most) <= 2
    assert (gate.inside, gate.waiting) == (0, 0)


async def test_a_closed_loop_does_not_hold_a_place() -> None:
    gate = Gate(1, 10)
    await gate.enter()

    def wait_in_a_loop_that_ends() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(gate.enter())
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
        task._log_destroy_pending = False  # type: ignore[attr-defined]

    thread = threading.Thread(target=wait_in_a_loop_that_ends)
    thread.start()
    thread.join()
    gate.leave()
    async with asyncio.timeout(10):
        await gate.enter()
    assert gate.inside == 1


async def test_the_width_follows_the_machine(namespace: NamespaceSandbox) -> None:
    crowded = Execution(Outcome.SCORED, usage=Usage(wall_s=1, cpu_s=0.1, waited_s=0.9))
    pool = Pool(Flaky(namespace, *[crowded] * 200))
    assert pool.stats.width == cores()
    for _ in range(100):
        await pool.run(F)
    assert pool.stats.width == 1
    assert pool.stats.waited_share > 0.5
    roomy = Execution(Outcome.SCORED, usage=Usage(wall_s=1, cpu_s=1.0, waited_s=0.0))
    pool = Pool(Flaky(namespace, *[roomy] * 400))
    await asyncio.gather(*(pool.run(F) for _ in range(400)))
    assert cores() <= pool.stats.width <= 4 * cores()
    fixed = Pool(Flaky(namespace, *[crowded] * 100), workers=3)
    for _ in range(50):
        await fixed.run(F)
    assert fixed.stats.width == 3


async def test_the_pool_says_what_the_backend_holds(pool: Pool) -> None:
    described = pool.describe()
    assert described.backend == "namespace"
    assert set(described.tested) >= {"no_network", "private_proc", "seccomp", "no_leftovers"}
