"""Find the final answer in a completion: typed, by written rules, and never by a crash."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["DEFAULT_RULES", "Extracted", "extract", "last_boxed", "strip_thinking"]

DEFAULT_RULES = ("boxed", "hashes", "phrase")
"""Rules tried in order. Also known: "prefix" (a last line `A: …` or `Answer: …`) and "last_number"."""

_MAX_CHARACTERS = 50_000
_HASHES = re.compile(r"####[ \t]*([^\n]+)")
_PHRASE = re.compile(r"(?:final answer|answer) (?:is|=|:)[: ]*\$?([^\n]+?)\$?(?:\.(?=\s|$)|\n|$)", re.IGNORECASE)
_PREFIX = re.compile(r"^[ \t]*(?:A|Answer|Final answer):[ \t]*([^\n]+)$", re.MULTILINE | re.IGNORECASE)
_NUMBER = re.compile(r"-?\$?\d[\d,]*(?:\.\d+)?(?:/\d+)?")


@dataclass(frozen=True, slots=True)
class Extracted:
    """A final answer, or why there is none.

    Attributes:
        kind: The rule that found it, or "none".
        text: The answer's text.
        span: Where it stands in the completion.
        reason: Why there is no answer, or "".
    """

    kind: str
    text: str = ""
    span: tuple[int, int] = (0, 0)
    reason: str = ""

    @property
    def found(self) -> bool:
        """Return whether there is an answer."""
        return self.kind != "none"


def extract(completion: str, rules: Sequence[str] = DEFAULT_RULES) -> Extracted:
    """Return the final answer of a completion.

    Reasoning inside think tags is not an answer. The first rule that applies decides, even if what it finds is empty
    or not closed: a policy that boxes nothing has answered nothing.

    Args:
        completion: The policy's text.
        rules: Rules to try, in order.

    Raises:
        ValueError: If a rule is unknown.

    >>> extract("so \\\\boxed{1}, no: \\\\boxed{2}").text
    '2'
    >>> extract("I do not know").reason
    'no boxed answer, no ####, no "answer is"'
    """
    text = strip_thinking(completion[-_MAX_CHARACTERS:])
    offset = len(completion) - len(text)
    for rule in rules:
        if rule not in _RULES:
            raise ValueError(f"no extraction rule {rule!r}; there are {', '.join(_RULES)}")
        found = _RULES[rule](text)
        if found is not None:
            shifted = (found.span[0] + offset, found.span[1] + offset)
            return Extracted(found.kind, found.text, shifted, found.reason)
    missing = ", ".join(_MISSING[rule] for rule in rules)
    return Extracted("none", reason=missing)


def strip_thinking(text: str) -> str:
    """Return the text after its last think block; an unclosed block leaves nothing.

    >>> strip_thinking("<think>2?</think>3"), strip_thinking("<think>still going")
    ('3', '')
    """
    low = text.lower()
    end = max(low.rfind("</think>"), low.rfind("</thinking>"))
    if end >= 0:
        text = text[text.index(">", end) + 1 :]
        low = text.lower()
    start = max(low.find("<think>"), low.find("<thinking>"))
    return text if start < 0 else text[:start]


def last_boxed(text: str) -> str | None:
    """Return the contents of the last balanced `\\boxed{…}` or `\\fbox{…}`, or None.

    >>> last_boxed("\\\\boxed{\\\\frac{1}{2}} and \\\\boxed{")
    '\\\\frac{1}{2}'
    """
    found = _boxed(text)
    return found.text if found is not None and found.found else None


def _boxed(text: str) -> Extracted | None:
    end = len(text)
    unclosed = False
    while True:
        start = max(text.rfind("\\boxed", 0, end), text.rfind("\\fbox", 0, end))
        if start < 0:
            return Extracted("none", reason="the box is not closed") if unclosed else None
        inner = _balanced(text, start)
        if inner is not None:
            content = text[inner[0] : inner[1]].strip()
            if not content:
                return Extracted("none", reason="the box is empty")
            return Extracted("boxed", content, inner)
        unclosed, end = True, start


def _balanced(text: str, start: int) -> tuple[int, int] | None:
    """Return the span between the braces that follow `start`; a box may also hold one bare token."""
    position = start + len("\\boxed" if text.startswith("\\boxed", start) else "\\fbox")
    while position < len(text) and text[position] == " ":
        position += 1
    if position >= len(text):
        return None
    if text[position] != "{":
        end = position + 1
        return (position, end) if text[position].isalnum() else None
    depth, index = 0, position
    while index < len(text):
        character = text[index]
        if character == "\\":
            index += 2
            continue
        depth += (character == "{") - (character == "}")
        if depth == 0:
            return position + 1, index
        index += 1
    return None


def _last(pattern: re.Pattern[str], kind: str, text: str, group: int) -> Extracted | None:
    match = None
    for match in pattern.finditer(text):  # noqa: B007 (the last one is wanted)
        pass
    if match is None or not match.group(group).strip():
        return None
    return Extracted(kind, match.group(group).strip(), match.span(group))


_Rule = Callable[[str], "Extracted | None"]
_RULES: Mapping[str, _Rule] = {
    "boxed": _boxed,
    "hashes": lambda text: _last(_HASHES, "hashes", text, 1),
    "phrase": lambda text: _last(_PHRASE, "phrase", text, 1),
    "prefix": lambda text: _last(_PREFIX, "prefix", text, 1),
    "last_number": lambda text: _last(_NUMBER, "last_number", text, 0),
}
_MISSING = {
    "boxed": "no boxed answer",
    "hashes": "no ####",
    "phrase": 'no "answer is"',
    "prefix": "no line A: …",
    "last_number": "no number",
}
