"""The attack programs of the benchmark, each run for real in each backend: none earns, none gets out, none harms."""

from __future__ import annotations

import asyncio
from typing import Any

from sandboxes import Call, Cause, Execution, Limits, Outcome, Pool, Program, Stdin

LIVENESS_S = 120.0
AT_ONCE = 4


def _rewarded(result: Execution, attack: Any, cases: Any) -> bool:
    if len(result.cases) != len(cases):
        return False
    if attack.stdin:
        return all(case.stdout.split() == [str(y).encode()] for case, (_, y) in zip(result.cases, cases, strict=True))
    return all(type(case.value) is int and case.value == y for case, (_, y) in zip(result.cases, cases, strict=True))


async def _play(pool: Pool, attacks: Any, cases: Any) -> dict[str, Execution]:
    turns = asyncio.Semaphore(AT_ONCE)

    async def play(attack: Any) -> tuple[str, Execution]:
        limits = dict(attack.limits)
        if attack.kind == "resource":
            limits["wall_s"] = limits["total_wall_s"] = 0.4
        inputs = [Stdin(f"{x}\n".encode()) if attack.stdin else Call("f", (x,)) for x, _ in cases]
        async with turns, asyncio.timeout(LIVENESS_S):
            return attack.name, await pool.run(Program(attack.source), inputs, Limits(**limits))

    return dict(await asyncio.gather(*map(play, attacks)))


async def test_no_hack_earns(isolated: Pool, attack_programs: Any) -> None:
    results = await _play(isolated, attack_programs.HACKS, attack_programs.CASES)
    by_name = {attack.name: attack for attack in attack_programs.HACKS}
    assert [name for name, r in results.items() if _rewarded(r, by_name[name], attack_programs.CASES)] == []
    assert {name: r.detail for name, r in results.items() if r.cause is Cause.LOST} == {}


async def test_no_intrusion_finds_anything(isolated: Pool, attack_programs: Any) -> None:
    results = await _play(isolated, attack_programs.INTRUSIONS, attack_programs.CASES)
    found = {name: [c.value for c in r.cases if c.value not in ([], None)] for name, r in results.items()}
    assert {name: values for name, values in found.items() if values} == {}
    assert {name: r.detail for name, r in results.items() if r.outcome is Outcome.INFRA_ERROR} == {}


async def test_no_resource_attack_harms_or_is_excused(pool: Pool, attack_programs: Any) -> None:
    results = await _play(pool, attack_programs.RESOURCES, attack_programs.CASES)
    assert {name: r.detail for name, r in results.items() if r.cause is Cause.LOST} == {}
    beside = await pool.run(Program("def f(x):\n    return x * x + 1\n"), [Call("f", (3,))])
    assert beside.cases[0].value == 10


async def test_every_honest_program_passes(isolated: Pool, attack_programs: Any) -> None:
    results = await _play(isolated, attack_programs.HONEST, attack_programs.CASES)
    by_name = {attack.name: attack for attack in attack_programs.HONEST}
    refused = {n: r.detail for n, r in results.items() if not _rewarded(r, by_name[n], attack_programs.CASES)}
    assert refused == {}
