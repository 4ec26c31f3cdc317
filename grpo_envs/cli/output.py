"""Where the command line writes: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["Settings", "complain", "configure_logging", "emit_json", "number", "stderr", "stdout", "table"]


@dataclass(slots=True)
class Settings:
    """Options that stand before the command.

    Attributes:
        debug: Show tracebacks.
        verbose: Show what is logged.
    """

    debug: bool = False
    verbose: bool = False


def emit_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout. NaN and infinities, which JSON has not, become null."""
    typer.echo(json.dumps(_plain(data), allow_nan=False, default=str))


def complain(sentence: str) -> None:
    """Print one sentence on stderr."""
    typer.echo(f"grpo-envs: {sentence}", err=True)


def stdout() -> Console:
    """Return a console for results."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def stderr() -> Console:
    """Return a console for progress and remarks."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def table(*columns: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """Return an empty table; the columns in `right` are aligned right, those in `whole` are never broken."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", overflow="fold", no_wrap=name in whole)
    return made


def number(value: float | None, digits: int = 3) -> str:
    """Return a number for people; "–" where there is none.

    >>> number(0.5), number(None), number(float("nan"))
    ('0.500', '–', '–')
    """
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def configure_logging(settings: Settings) -> None:
    """Send log records to stderr: warnings, or all of them with `--verbose`; tracebacks only with `--debug`."""
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, _Echo)]:
        root.removeHandler(handler)
    handler = _Echo(level=logging.INFO if settings.verbose else logging.WARNING)
    handler.setFormatter(_Formatter("%(levelname)s: %(message)s", settings.debug))
    if not (settings.verbose or settings.debug):
        # The boundary logs each failure of foreign code; the summary names the same causes once, with their counts.
        handler.addFilter(lambda record: record.name != "rewards.boundary")
    root.addHandler(handler)
    if settings.verbose:
        root.setLevel(logging.INFO)


class _Echo(logging.Handler):
    """Writes to whatever stderr is now."""

    def emit(self, record: logging.LogRecord) -> None:
        typer.echo(self.format(record), err=True)


class _Formatter(logging.Formatter):
    def __init__(self, pattern: str, debug: bool) -> None:
        super().__init__(pattern)
        self._debug = debug

    def format(self, record: logging.LogRecord) -> str:
        if self._debug or record.exc_info is None:
            return super().format(record)
        bare = logging.makeLogRecord({**record.__dict__, "exc_info": None, "exc_text": None})
        return super().format(bare)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
