"""The command line, `grpo-envs`.

Exit codes: 0 all is well; 1 episodes failed or a threshold was missed; 2 bad usage; 3 this machine lacks something.
Results go to stdout, everything else to stderr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["invoke", "main"]


def main() -> NoReturn:
    """Run the command line and exit. The console script `grpo-envs`."""
    sys.exit(invoke(sys.argv[1:]))


def invoke(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code.

    An error that a user can cause becomes one sentence on stderr. What nobody foresaw propagates with its traceback,
    and with `--debug` so does the rest.

    Args:
        arguments: What stands behind `grpo-envs`.
    """
    from grpo_envs.cli.app import command
    from grpo_envs.cli.faults import explain
    from grpo_envs.cli.output import Settings, complain

    settings = Settings()
    foreseeable = _foreseeable()
    try:
        code = command().main(
            args=list(arguments) or ["--help"], prog_name="grpo-envs", standalone_mode=False, obj=settings
        )
    except BrokenPipeError:
        # The reader of our output went away; what is still buffered for it must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except foreseeable as error:
        fault = explain(error)
        if fault is None or settings.debug:
            raise
        complain(fault.sentence)
        return fault.code
    return code if isinstance(code, int) else 0


def _foreseeable() -> tuple[type[Exception], ...]:
    """Return the errors that `explain` may know."""
    from typer import Abort, TyperException

    from grpo_envs.errors import GrpoEnvsError
    from rewards.errors import RewardError
    from sandboxes.errors import SandboxError

    return (TyperException, Abort, GrpoEnvsError, RewardError, SandboxError, ModuleNotFoundError, OSError)
