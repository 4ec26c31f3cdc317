"""Find the program in a completion: the last closed code block of its language, by written rules."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from rewards.math.extraction import strip_thinking

__all__ = ["Code", "extract_code"]

_MAX_CHARACTERS = 200_000
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^\n`]*$")
_TAGS: Mapping[str, frozenset[str]] = {
    "python": frozenset({"python", "py", "python3"}),
    "bash": frozenset({"bash", "sh", "shell"}),
    "c": frozenset({"c"}),
    "cpp": frozenset({"cpp", "c++", "cc", "cxx"}),
    "javascript": frozenset({"javascript", "js", "node"}),
    "sql": frozenset({"sql", "sqlite"}),
}


@dataclass(frozen=True, slots=True)
class Code:
    """A program found in a completion, or why there is none.

    Attributes:
        text: The program.
        rule: "block" for a fenced block, "bare" for a text without fences, "none".
        blocks: How many closed blocks of the language there are.
        reason: Why there is no program, or "".
    """

    text: str = ""
    rule: str = "none"
    blocks: int = 0
    reason: str = ""

    @property
    def found(self) -> bool:
        """Return whether there is a program."""
        return self.rule != "none"


def extract_code(completion: str, language: str = "python") -> Code:
    r"""Return the program of a completion.

    Reasoning inside think tags is not an answer. Of closed code blocks the last one tagged with the language counts,
    else the last without a tag. A text without any fence is taken as the program itself. A block that is not closed
    was cut off, and is no program.

    Args:
        completion: The policy's text.
        language: Language of the program.

    >>> extract_code("Try:\n```python\nx = 1\n```\nno, better:\n```python\nx = 2\n```").text
    'x = 2\n'
    >>> extract_code("```python\nx = 1").reason
    'the code block is not closed'
    """
    if len(completion) > _MAX_CHARACTERS:
        return Code(reason=f"the answer is longer than {_MAX_CHARACTERS} characters")
    text = strip_thinking(completion)
    blocks, is_open = _blocks(text)
    if not blocks and not is_open:
        return Code(text, "bare") if text.strip() else Code(reason="there is no code")
    tags = _TAGS.get(language, frozenset({language}))
    tagged = [body for tag, body in blocks if tag in tags] or [body for tag, body in blocks if not tag]
    if not tagged:
        return Code(reason="the code block is not closed" if is_open else f"there is no {language} code block")
    if not tagged[-1].strip():
        return Code(reason="the code block is empty", blocks=len(tagged))
    return Code(tagged[-1], "block", len(tagged))


def _blocks(text: str) -> tuple[list[tuple[str, str]], bool]:
    """Return tag and text of every closed block, and whether one is left open."""
    found: list[tuple[str, str]] = []
    fence, tag, lines = "", "", list[str]()
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line.rstrip("\r\n"))
        if not fence:
            if match:
                fence, tag, lines = match.group(1), match.group(2).lower(), []
        elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            found.append((tag, "".join(lines)))
            fence = ""
        else:
            lines.append(line)
    return found, bool(fence)
