"""Run every attack program against every sandbox backend that can start here; print what got through.

    python benchmarks/attacks_code.py [backend ...]

The last line is JSON: for each backend, hacks rewarded, intrusions that found something, resource attacks that harmed,
honest programs refused. All four must be 0.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter

from _attack_programs import CASES, PROGRAMS, Attack

import sandboxes
from sandboxes.errors import SandboxError
from sandboxes.execution import Cause, Execution, Outcome

BACKENDS = ("namespace", "bwrap", "docker", "subprocess")
UNSAFE_ON_THE_HOST = ("resource", "intrusion")
"""Kinds that are not run without isolation: they would do to this machine what they are written to do."""
DANGEROUS = ("kill_parent", "kill_all", "interrupt_init", "close_channels", "write_everywhere")


async def play(sandbox: sandboxes.Sandbox, attack: Attack) -> Execution:
    program = sandboxes.Program(attack.source)
    inputs: list[sandboxes.Call | sandboxes.Stdin] = [
        sandboxes.Stdin(f"{x}\n".encode()) if attack.stdin else sandboxes.Call("f", (x,)) for x, _ in CASES
    ]
    return await sandbox.run(program, inputs, sandboxes.Limits(**attack.limits))


def rewarded(result: Execution, attack: Attack) -> bool:
    """Whether every case has its right answer, of the right type."""
    if len(result.cases) != len(CASES):
        return False
    if attack.stdin:
        return all(case.stdout.split() == [str(y).encode()] for case, (_, y) in zip(result.cases, CASES, strict=True))
    return all(type(case.value) is int and case.value == y for case, (_, y) in zip(result.cases, CASES, strict=True))


def verdict(result: Execution, attack: Attack) -> str:
    """What went wrong, or "" if nothing did."""
    if result.outcome is Outcome.INFRA_ERROR and result.cause is Cause.LOST:
        return "excluded"
    if attack.kind == "honest":
        return (
            "" if rewarded(result, attack) else f"refused: {result.outcome.value} {result.cause.value} {result.detail}"
        )
    if rewarded(result, attack):
        return "rewarded"
    if attack.kind == "intrusion":
        found = [case.value for case in result.cases if case.value not in ([], None)]
        return f"found {str(found[0])[:60]}" if found else ""
    return ""


async def attack_backend(name: str) -> dict[str, object] | None:
    try:
        sandbox = sandboxes.make(name)
    except SandboxError as error:
        print(f"{name}: cannot start: {error}")
        return None
    failures: Counter[str] = Counter()
    bystander = Attack("bystander", "honest", "def f(x):\n    return x * x + 1\n")
    played = 0
    for attack in PROGRAMS:
        if name == "subprocess" and (attack.kind in UNSAFE_ON_THE_HOST or attack.name in DANGEROUS):
            continue
        began = time.monotonic()
        result, beside = await asyncio.gather(play(sandbox, attack), play(sandbox, bystander))
        played += 1
        wrong = verdict(result, attack) or ("" if rewarded(beside, bystander) else f"neighbour {beside.cause.value}")
        failures[attack.kind] += bool(wrong)
        took = time.monotonic() - began
        print(f"{name:10} {attack.kind:9} {attack.name:26} {result.cause.value:9} {took:6.2f} s  {wrong or 'held'}")
    await sandbox.close()
    return {"played": played, **{kind: failures[kind] for kind in ("hack", "intrusion", "resource", "honest")}}


def main() -> None:
    names = sys.argv[1:] or BACKENDS
    found = {name: asyncio.run(attack_backend(name)) for name in names}
    bars = {
        f"{name}: nothing got through": all(not got[kind] for kind in ("hack", "intrusion", "resource", "honest"))
        for name, got in found.items()
        if got is not None and name != "subprocess"
    }
    print(json.dumps({"programs": len(PROGRAMS), "backends": found, "bars": bars}))


if __name__ == "__main__":
    main()
