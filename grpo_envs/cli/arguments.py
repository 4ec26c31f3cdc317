"""NAME=VALUE arguments, and which of them a constructor takes."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grpo_envs.cli.faults import BadUsage

__all__ = ["Accepted", "accepted_by", "parse_pairs"]


@dataclass(frozen=True, slots=True)
class Accepted:
    """The keyword arguments that a class or function takes.

    Attributes:
        names: Those that are known by name.
        others: Whether it takes any other too.
    """

    names: frozenset[str]
    others: bool

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def check(self, what: str, arguments: Iterable[str]) -> None:
        """Refuse arguments that are not taken.

        Raises:
            BadUsage: If one is not; the message suggests the nearest.
        """
        for name in arguments:
            if name not in self.names and not self.others:
                near = difflib.get_close_matches(name, self.names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(sorted(self.names)) or 'none'}"
                raise BadUsage(f"{what} takes no argument {name!r}; {hint}")


def parse_pairs(pairs: Sequence[str] | None, option: str) -> dict[str, Any]:
    """Read NAME=VALUE texts; a value that is not JSON is a text.

    Raises:
        BadUsage: If one has no `=` or no name.

    >>> parse_pairs(["size=3", "suite=algebra"], "--env-arg")
    {'size': 3, 'suite': 'algebra'}
    """
    found: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise BadUsage(f"{option} needs NAME=VALUE, got {pair!r}")
        try:
            found[name] = json.loads(value)
        except ValueError:
            found[name] = value
    return found


def accepted_by(creator: Callable[..., Any], *, hidden: Mapping[type, frozenset[str]] | None = None) -> Accepted:
    """Return what a class or function takes, followed through `**options` to the base classes.

    Args:
        creator: The class or function.
        hidden: For a class, the arguments that its subclasses fill themselves.

    >>> accepted_by(lambda a, *, b=1: None)
    Accepted(names=frozenset({...}), others=False)
    """
    chain = creator.__mro__ if isinstance(creator, type) else (creator,)
    names: set[str] = set()
    for link in chain:
        function = vars(link).get("__init__") if isinstance(link, type) else link
        if function is None or link is object:
            continue
        parameters = inspect.signature(function).parameters.values()
        own = {each.name for each in parameters if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)}
        filled = (hidden or {}).get(link) if isinstance(link, type) else None
        names |= own - {"self"} - (filled or frozenset())
        if not any(each.kind is each.VAR_KEYWORD for each in parameters):
            return Accepted(frozenset(names), others=False)
    return Accepted(frozenset(names), others=True)
