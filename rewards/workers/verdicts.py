"""How a task ended, judged from what is known of its worker: the rules by which blame is laid."""

from __future__ import annotations

import pickle
import signal
from typing import Any

from rewards.boundary import Failure, guard
from rewards.workers.outcome import Ended, Outcome
from rewards.workers.protocol import Answer, Death

__all__ = ["of_answer", "of_death", "of_overrun"]

_HAD_ITS_TIME = 0.9
"""A task that ran or slept for this share of its deadline was slow; one that could not was starved."""
_NEAR_CAP = 0.5
"""A worker killed from outside when it had grown by this share of its cap was killed for its memory."""
_FROM_OUTSIDE = {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT}


def of_answer(answer: Answer, *, cpu_s: float, waited_s: float) -> Outcome[Any]:
    """Return the outcome of a task that its worker answered."""
    error = error_type = traceback = ""
    value: Any = None
    ended = Ended.DONE
    if isinstance(answer.body, tuple):
        ended, (error, error_type, traceback) = Ended.RAISED, answer.body
    elif answer.kind == "memory":
        ended, error = Ended.MEMORY, "it ran out of the memory it may use"
    else:
        result = guard(pickle.loads, answer.body)
        if isinstance(result, Failure):
            ended, error_type = Ended.RAISED, "Unpicklable"
            error = f"the result cannot be read here ({result.detail}); return plain data"
        else:
            value = result
    return Outcome(ended, value, error, error_type, traceback, ran_s=answer.ran_s, cpu_s=cpu_s, waited_s=waited_s)


def of_overrun(deadline_s: float, *, ran_s: float, cpu_s: float, waited_s: float) -> Outcome[Any]:
    """Return the outcome of a task killed at its deadline: its own doing, unless the machine gave it no core."""
    starved = ran_s - waited_s < _HAD_ITS_TIME * deadline_s
    error = f"it ran past its deadline of {deadline_s:g} s"
    if starved:
        error += f", of which it waited {waited_s:.3g} s for a core"
    ended = Ended.STARVED if starved else Ended.DEADLINE
    return Outcome(ended, error=error, ran_s=ran_s, cpu_s=cpu_s, waited_s=waited_s)


def of_death(death: Death | None, *, grown: float, ran_s: float) -> Outcome[Any]:
    """Return the outcome of a task whose worker died.

    A signal that a process brings upon itself, or an exit, is the task's doing: a policy that found an input which
    crashes the verifier must not get its sample excluded.

    Args:
        death: How it died, None if unknown.
        grown: By what share of its memory cap the worker had grown, 0 without a cap.
        ran_s: Seconds the task had run.
    """
    if death is None:
        return Outcome(Ended.LOST, error="its worker was lost", ran_s=ran_s)
    if death.code >= 0:
        error = f"it ended its worker's process with exit code {death.code}"
        return Outcome(Ended.RAISED, error=error, error_type="WorkerCrashed", ran_s=ran_s)
    name = _signal_name(-death.code)
    if -death.code == signal.SIGKILL and grown >= _NEAR_CAP:
        return Outcome(Ended.MEMORY, error=f"its worker was killed holding {grown:.0%} of its cap", ran_s=ran_s)
    if -death.code in _FROM_OUTSIDE:
        return Outcome(Ended.LOST, error=f"its worker was killed from outside by {name}", ran_s=ran_s)
    return Outcome(Ended.RAISED, error=f"it crashed its worker: {name}", error_type="WorkerCrashed", ran_s=ran_s)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
