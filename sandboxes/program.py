"""Programs: source text in a language, with what it is given."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandboxes.errors import InvalidProgram, ToolchainMissing
from sandboxes.values import encode

__all__ = ["LANGUAGES", "Call", "Input", "Language", "Program", "Stdin", "Steps"]


@dataclass(frozen=True, slots=True)
class Language:
    """How programs of a language are compiled and run, in the jail's working tree.

    Attributes:
        name: What it is called.
        file: Name of the source file.
        compile: Command line of the compiler, or () where there is none.
        run: Command line of the program.
        tools: Alternatives of the executable it needs.
    """

    name: str
    file: str
    run: tuple[str, ...]
    tools: tuple[str, ...]
    compile: tuple[str, ...] = ()

    def check(self) -> None:
        """Refuse a language whose toolchain is not here.

        Raises:
            ToolchainMissing: If none of its tools is on the path.
        """
        if self.tools and not any(map(shutil.which, self.tools)):
            raise ToolchainMissing(f"{self.name} programs need one of {', '.join(self.tools)}; install it")


LANGUAGES: Mapping[str, Language] = {
    language.name: language
    for language in (
        Language("python", "program.py", ("python3", "program.py"), ()),
        Language("bash", "program.sh", ("/bin/bash", "program.sh"), ("bash",)),
        Language("c", "program.c", ("./program",), ("gcc",), ("gcc", "-O2", "-o", "program", "program.c", "-lm")),
        Language("cpp", "program.cpp", ("./program",), ("g++",), ("g++", "-O2", "-o", "program", "program.cpp")),
        Language("javascript", "program.js", ("node", "--max-old-space-size=256", "program.js"), ("node",)),
    )
}


@dataclass(frozen=True, slots=True)
class Program:
    """An untrusted program.

    Attributes:
        source: Its text.
        language: One of `LANGUAGES`.
        files: Other files put beside it, by path in the working tree.
        env: Environment variables; nothing of the host's environment is passed on.
        module: For Python programs that are fed calls: the module's `__name__`.
    """

    source: str
    language: str = "python"
    files: Mapping[str, bytes] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    module: str = "solution"

    def __post_init__(self) -> None:
        """Check what can be checked without running it.

        Raises:
            InvalidProgram: If the language is unknown or the source is not text.
        """
        if self.language not in LANGUAGES:
            raise InvalidProgram(f"language {self.language!r} is not one of {', '.join(LANGUAGES)}")
        if not isinstance(self.source, str):
            raise InvalidProgram(f"a program's source must be text, got {type(self.source).__name__}")


@dataclass(frozen=True, slots=True)
class Call:
    """Call a function of a Python program, given plain data.

    Attributes:
        target: Name of the function, dotted for an attribute of a saved object.
        args: Positional arguments.
        kwargs: Keyword arguments.
        save: Name to keep the result under, instead of sending it out.
    """

    target: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    save: str = ""

    @property
    def steps(self) -> list[dict[str, Any]]:
        """Return the call in the jail's protocol."""
        step: dict[str, Any] = {"target": self.target, "args": [encode(item) for item in self.args]}
        if self.kwargs:
            step["kwargs"] = {key: encode(item) for key, item in self.kwargs.items()}
        return [{**step, "save": self.save} if self.save else step]


@dataclass(frozen=True, slots=True)
class Steps:
    """Carry out trusted steps in a Python program: `{"code": expression}`, `{"run": statements}` or a call.

    Attributes:
        steps: The steps, in the jail's protocol; the value of the last is the result.
    """

    steps: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Stdin:
    """Run a program of any language with this input and these arguments.

    Attributes:
        data: Bytes on its standard input.
        args: Command line arguments.
    """

    data: bytes = b""
    args: tuple[str, ...] = ()


Input = Call | Steps | Stdin
