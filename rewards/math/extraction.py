"""Find the final answer in a completion: typed, by written rules, and never by a crash."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

__all__ = ["DEFAULT_RULES", "Box", "Extracted", "boxes", "extract", "last_boxed", "strip_thinking"]

DEFAULT_RULES = ("boxed", "hashes", "phrase")
"""Rules tried in order. Also known: "tag" (`<answer>…</answer>`), "prefix" (a last line `A: …`), "last_number"."""

_MAX_CHARACTERS = 50_000
_THINK_OPEN = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
_THINK_CLOSE = re.compile(r"</think(?:ing)?>", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|fbox)(?![A-Za-z])\s*")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_HASHES = re.compile(r"####[ \t]*([^\n]+)")
_PHRASE = re.compile(r"\banswer\s*(?:is|=|:)[: ]*\$?([^\n]+?)\$?(?:\.(?=\s|$)|\n|$)", re.IGNORECASE)
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


@dataclass(frozen=True, slots=True)
class Box:
    r"""A `\boxed` or `\fbox` in a text.

    Attributes:
        start: Where its backslash stands.
        inner: Span of its contents, or None if it is not closed.
        end: Where it ends; where its contents would begin if it is not closed.
    """

    start: int
    inner: tuple[int, int] | None
    end: int


def extract(completion: str, rules: Sequence[str] = DEFAULT_RULES) -> Extracted:
    r"""Return the final answer of a completion.

    Reasoning inside think tags is not an answer. The first rule that applies decides, even if what it finds is empty
    or not closed: a policy that boxes nothing has answered nothing. Of several boxes the last closed one counts.

    Args:
        completion: The policy's text; of a longer one, the last 50,000 characters are read.
        rules: Rules to try, in order.

    Raises:
        ValueError: If a rule is unknown.

    >>> extract("so \\boxed{1}, no: \\boxed{2}").text
    '2'
    >>> extract("I do not know").reason
    'no boxed answer, no ####, no "answer is"'
    """
    for rule in rules:
        if rule not in _RULES:
            raise ValueError(f"no extraction rule {rule!r}; there are {', '.join(_RULES)}")
    start, end = _visible(completion)
    start = max(start, end - _MAX_CHARACTERS)
    text = completion[start:end]
    for rule in rules:
        found = _RULES[rule](text)
        if found is not None:
            return replace(found, span=(found.span[0] + start, found.span[1] + start))
    return Extracted("none", reason=", ".join(_MISSING[rule] for rule in rules))


def strip_thinking(text: str) -> str:
    """Return the text after its last think block; an unclosed block leaves nothing.

    >>> strip_thinking("<think>2?</think>3"), strip_thinking("<think>still going")
    ('3', '')
    """
    start, end = _visible(text)
    return text[start:end]


def boxes(text: str) -> list[Box]:
    r"""Return every box of a text in order, in time linear in its length.

    A box holds what its braces hold, or one bare letter or digit.

    >>> [box.inner for box in boxes("\\boxed{12} \\boxed 7 \\boxed{")]
    [(7, 9), (18, 19), None]
    """
    heads = list(_BOX.finditer(text))
    if not heads:
        return []
    closing = _closing_braces(text, heads[0].start())
    return [_box(text, head.start(), head.end(), closing) for head in heads]


def last_boxed(text: str) -> str | None:
    r"""Return the contents of the last closed box that is not empty, or None.

    >>> last_boxed("\\boxed{\\frac{1}{2}} and \\boxed{")
    '\\frac{1}{2}'
    """
    found = _boxed(text)
    return found.text if found is not None and found.found else None


def _visible(text: str) -> tuple[int, int]:
    """Return the span of the text that is not reasoning."""
    start = 0
    for match in _THINK_CLOSE.finditer(text):
        start = match.end()
    opened = _THINK_OPEN.search(text, start)
    return start, opened.start() if opened else len(text)


def _closing_braces(text: str, start: int) -> dict[int, int]:
    """Return where each brace that opens after `start` is closed."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for match in _BRACE.finditer(text, start):
        if match.group() == "{":
            opened.append(match.start())
        elif match.group() == "}" and opened:
            closing[opened.pop()] = match.start()
    return closing


def _box(text: str, start: int, position: int, closing: Mapping[int, int]) -> Box:
    if position in closing:
        return Box(start, (position + 1, closing[position]), closing[position] + 1)
    if text[position : position + 1].isalnum() and not text[position + 1 : position + 2].isalnum():
        return Box(start, (position, position + 1), position + 1)
    return Box(start, None, position)


def _boxed(text: str) -> Extracted | None:
    found = boxes(text)
    if not found:
        return None
    inner = next((box.inner for box in reversed(found) if box.inner is not None), None)
    if inner is None:
        return Extracted("none", reason="the box is not closed")
    content = text[slice(*inner)].strip()
    return Extracted("boxed", content, inner) if content else Extracted("none", reason="the box is empty")


def _last(pattern: re.Pattern[str], kind: str, text: str, group: int = 1) -> Extracted | None:
    match = None
    for match in pattern.finditer(text):  # noqa: B007 (the last one is wanted)
        pass
    if match is None:
        return None
    content = match.group(group).strip().strip("*").strip()
    if not content:
        return None
    if not _is_balanced(content):
        return Extracted("none", reason=f"the braces of the answer {content[:80]!r} do not match")
    return Extracted(kind, content, match.span(group))


def _tagged(text: str) -> Extracted | None:
    """Return what stands between the last `<answer>` that is closed and its end, whatever it holds."""
    end = text.rfind("</answer>")
    start = text.rfind("<answer>", 0, max(end, 0))
    if start < 0:
        return None
    span = (start + len("<answer>"), end)
    content = text[slice(*span)].strip()
    return Extracted("tag", content, span) if content else Extracted("none", reason="the answer tag is empty")


def _is_balanced(text: str) -> bool:
    depth = 0
    for match in _BRACE.finditer(text):
        depth += (match.group() == "{") - (match.group() == "}")
        if depth < 0:
            return False
    return depth == 0


_Rule = Callable[[str], "Extracted | None"]
_RULES: Mapping[str, _Rule] = {
    "boxed": _boxed,
    "hashes": lambda text: _last(_HASHES, "hashes", text),
    "phrase": lambda text: _last(_PHRASE, "phrase", text),
    "prefix": lambda text: _last(_PREFIX, "prefix", text),
    "tag": _tagged,
    "last_number": lambda text: _last(_NUMBER, "last_number", text, 0),
}
_MISSING = {
    "boxed": "no boxed answer",
    "hashes": "no ####",
    "phrase": 'no "answer is"',
    "prefix": "no line A: …",
    "tag": "no <answer>",
    "last_number": "no number",
}
