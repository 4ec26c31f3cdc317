"""How a program is run in a jail, whatever backend made the jail."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sandboxes.backends.jail import Jail
from sandboxes.execution import CaseResult, Cause, Execution, Outcome, Usage
from sandboxes.limits import Limits
from sandboxes.program import LANGUAGES, Input, Language, Program, Stdin
from sandboxes.reading import case_of, cause_of, execution_of, stdin_case, usage_of
from sandboxes.sandbox import first_line

__all__ = ["run_cell", "run_in_jail"]

_NO_ADDRESS_SPACE_LIMIT = {"javascript"}
"""V8 reserves far more address space than it uses; only a control group can limit it."""


async def run_in_jail(jail: Jail, program: Program, inputs: Sequence[Input], limits: Limits) -> Execution:
    """Run a program on its inputs.

    Raises:
        SandboxLost: If the jail dies under it.
        ToolchainMissing: If its language cannot be run here.
    """
    if program.files:
        await jail.write(program.files)
    if any(not isinstance(item, Stdin) for item in inputs):
        return await _run_calls(jail, program, inputs, limits)
    language = LANGUAGES[program.language]
    language.check()
    if program.language != "python" or any(isinstance(item, Stdin) and item.args for item in inputs):
        await jail.write({language.file: program.source.encode("utf-8", "surrogatepass")})
    if program.language != "python":
        failed = await _compile(jail, language, limits)
        if failed is not None:
            return failed
    return await _run_stdin(jail, program, language, [i for i in inputs if isinstance(i, Stdin)] or [Stdin()], limits)


async def run_cell(jail: Jail, code: str, limits: Limits, env: Mapping[str, str]) -> Execution:
    """Run a cell in the jail's interpreter, which keeps its state until the jail ends or a limit stops it.

    Raises:
        SandboxLost: If the jail dies under it.
    """
    case, report = await jail.cell(code, limits=limits, env=env)
    cause = cause_of(report, limits, was_oom=jail.take_oom())
    if case is None:
        detail = f"the interpreter ended by: {cause.value}; what it held is lost"
        outcome = None if cause is not Cause.FINISHED else Outcome.SCORED
        return execution_of(report, cause, (), _peak(jail), detail, outcome)
    result = case_of(case)
    if cause is Cause.FINISHED and result.error:
        cause = result.cause
    return execution_of(report, cause, (result,), _peak(jail), result.error and f"{result.error}: {result.message}")


async def _run_calls(jail: Jail, program: Program, inputs: Sequence[Input], limits: Limits) -> Execution:
    steps = [item.steps for item in inputs if not isinstance(item, Stdin)]
    loaded, messages, report = await jail.python(
        program.source, steps, limits=limits, env=program.env, name=program.module
    )
    cause = cause_of(report, limits, was_oom=jail.take_oom())
    cases = tuple(case_of(message) for message in messages)
    start = loaded.get("result")
    if not isinstance(start, dict) or "value" not in start:
        return _not_loaded(start, report, cause, jail)
    if len(cases) == len(steps) and cause in (Cause.FINISHED, Cause.CRASHED, Cause.WALL):
        # Every input was answered: how the process ended after that, a thread that would not stop, is no matter.
        cause = Cause.FINISHED
    return execution_of(report, cause, cases, _peak(jail))


def _not_loaded(start: Any, report: dict[str, Any], cause: Cause, jail: Jail) -> Execution:
    if start is not None and not (isinstance(start, dict) and "error" in start):
        start = {"error": "Forged", "message": "the program wrote to the result channel"}
    if start is None:
        if cause in (Cause.FINISHED, Cause.CRASHED):
            detail = "the program ended before it was loaded"
            return execution_of(report, Cause.CRASHED, (), _peak(jail), detail, Outcome.MALFORMED)
        return execution_of(report, cause, (), _peak(jail))
    error = f"{start['error']}: {start.get('message', '')}"[:300]
    no_memory = start["error"] == "MemoryError"
    outcome, cause = (Outcome.POLICY_LIMIT, Cause.MEMORY) if no_memory else (Outcome.MALFORMED, Cause.CRASHED)
    return execution_of(report, cause, (), _peak(jail), f"the program did not load: {error}", outcome)


async def _compile(jail: Jail, language: Language, limits: Limits) -> Execution | None:
    """Compile the program; return what came of it if it failed."""
    if not language.compile:
        return None
    # A compiler needs more room than the program it makes, and is not what is being judged.
    roomy = replace(
        limits,
        wall_s=max(limits.wall_s, 20.0),
        cpu_s=max(limits.cpu_s, 20.0),
        processes=max(limits.processes, 16),
        output_bytes=min(limits.output_bytes, 1 << 16),
    )
    report = await jail.exec(language.compile, limits=roomy, env={}, address_space=False)
    cause = cause_of(report, roomy, was_oom=jail.take_oom())
    if cause is Cause.FINISHED:
        return None
    if cause is Cause.CRASHED:
        detail = f"it does not compile: {first_line(base64.b64decode(report['stderr']))}"
        return execution_of(report, Cause.COMPILE, (), _peak(jail), detail)
    return execution_of(report, cause, (), _peak(jail), f"compiling it ended by: {cause.value}")


async def _run_stdin(
    jail: Jail, program: Program, language: Language, inputs: Sequence[Stdin], limits: Limits
) -> Execution:
    cases: list[CaseResult] = []
    usage, spent = Usage(), 0.0
    report: dict[str, Any] = {}
    cause = Cause.FINISHED
    for item in inputs:
        left = limits.total_wall_s - spent
        if left <= 0:
            cause = Cause.WALL
            break
        each = replace(limits, wall_s=min(limits.wall_s, left))
        report = await _run_once(jail, program, language, item, each)
        cause = cause_of(report, limits, was_oom=jail.take_oom())
        cases.append(stdin_case(report, cause))
        used = usage_of(report, _peak(jail))
        spent += used.wall_s
        usage = Usage(
            spent, usage.cpu_s + used.cpu_s, usage.waited_s + used.waited_s, max(usage.peak_bytes, used.peak_bytes)
        )
        if cause in (Cause.STARVED, Cause.LOST):
            break
    return replace(execution_of(report, cause, tuple(cases), 0), usage=usage)


async def _run_once(jail: Jail, program: Program, language: Language, item: Stdin, limits: Limits) -> dict[str, Any]:
    if program.language == "python" and not item.args:
        return await jail.script(program.source, limits=limits, env=program.env, stdin=item.data)
    address_space = program.language not in _NO_ADDRESS_SPACE_LIMIT
    return await jail.exec(
        [*language.run, *item.args], limits=limits, env=program.env, stdin=item.data, address_space=address_space
    )


def _peak(jail: Jail) -> int:
    return 0 if jail.group is None else jail.group.peak_bytes
