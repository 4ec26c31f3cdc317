"""Read the rows of public code datasets as tasks: HumanEval, MBPP, APPS and TACO, LiveCodeBench."""

from __future__ import annotations

import ast
import base64
import io
import json
import pickle
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from grpo_envs.tasks import Task

__all__ = ["READERS"]

Row = Mapping[str, Any]


def read_humaneval(row: Row, index: int) -> Task:
    """Read a row with `prompt`, `entry_point`, `test` and, where known, `canonical_solution`."""
    head = row["prompt"]
    data = {
        "kind": "asserts",
        "entry_point": row["entry_point"],
        "test": row["test"],
        "code_prompt": head,
        **_solution(head + row["canonical_solution"] if "canonical_solution" in row else None),
    }
    prompt = f"Complete this Python function.\n\n```python\n{head.strip()}\n```"
    return Task(str(row.get("task_id", f"humaneval-{index}")), prompt, None, data)


def read_mbpp(row: Row, index: int) -> Task:
    """Read a row with `text` or `prompt`, `test_list`, and `code`."""
    tests = [*row["test_list"]]
    setup = "\n".join([row.get("test_setup_code") or "", *(row.get("test_imports") or [])]).strip()
    name = _called(tests, row.get("code", ""))
    data = {
        "kind": "asserts",
        "entry_point": name,
        "test": "\n".join([setup, *tests]).strip(),
        "shown": 1,
        **_solution(row.get("code")),
    }
    prompt = f"{(row.get('text') or row['prompt']).strip()}\n\nThe function is `{name}`. A test of it:\n{tests[0]}"
    return Task(f"mbpp-{row.get('task_id', index)}", prompt, None, data)


def read_apps(row: Row, index: int) -> Task:
    """Read a row with `question`, `input_output` (inputs, outputs and perhaps `fn_name`) and `solutions`."""
    cases = _json(row["input_output"])
    if not cases or not cases.get("inputs"):
        raise ValueError("it has no test cases")
    solutions = _json(row.get("solutions")) or [None]
    data = {**_calls_or_stdin(cases), **_solution(solutions[0])}
    starter = row.get("starter_code") or ""
    form = f"Begin with this:\n```python\n{starter}\n```" if starter else _FORMS[data["kind"]]
    return Task(str(row.get("problem_id", row.get("id", f"apps-{index}"))), f"{row['question']}\n\n{form}", None, data)


def read_livecodebench(row: Row, index: int) -> Task:
    """Read a row with `question_content`, `public_test_cases` and `private_test_cases`."""
    public, private = _json(row["public_test_cases"]) or [], _tests(row.get("private_test_cases"))
    tests = [(test, False) for test in public] + [(test, True) for test in private]
    if not tests:
        raise ValueError("it has no test cases")
    starter = row.get("starter_code") or ""
    if tests[0][0].get("testtype") == "functional":
        name = (_json(row.get("metadata")) or {}).get("func_name") or _method(starter)
        cases = [
            {
                "args": [json.loads(line) for line in test["input"].splitlines() if line.strip()],
                "expected": json.loads(test["output"]),
                "hidden": hidden,
            }
            for test, hidden in tests
        ]
        data: dict[str, Any] = {"kind": "function", "entry_point": f"Solution?.{name}", "cases": cases}
    else:
        stdin = [{"input": test["input"], "output": test["output"], "hidden": hidden} for test, hidden in tests]
        data = {"kind": "stdin", "cases": stdin}
    form = f"Begin with this:\n```python\n{starter}\n```" if starter else _FORMS[data["kind"]]
    prompt = f"{row['question_content']}\n\n{form}"
    return Task(str(row.get("question_id", f"livecodebench-{index}")), prompt, None, {**data, **_solution(None)})


def _calls_or_stdin(cases: Mapping[str, Any]) -> dict[str, Any]:
    inputs, outputs = cases["inputs"], cases["outputs"]
    if len(inputs) != len(outputs):
        raise ValueError(f"it has {len(inputs)} inputs and {len(outputs)} outputs")
    if not cases.get("fn_name"):
        pairs = [{"input": _text(i), "output": _text(o)} for i, o in zip(inputs, outputs, strict=True)]
        return {"kind": "stdin", "cases": pairs}
    # These datasets wrap every result of a function in a list of one.
    if all(isinstance(output, list) and len(output) == 1 for output in outputs):
        outputs = [output[0] for output in outputs]
    calls = [{"args": list(i), "expected": o} for i, o in zip(inputs, outputs, strict=True)]
    return {"kind": "function", "entry_point": f"Solution?.{cases['fn_name']}", "cases": calls}


def _text(lines: Any) -> str:
    return "\n".join(map(str, lines)) if isinstance(lines, list) else str(lines)


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) and value.strip() else value


def _tests(value: Any) -> list[dict[str, Any]]:
    """Read private tests: a list, JSON, or the base64 of a compressed pickle of JSON that LiveCodeBench ships."""
    if not value:
        return []
    if isinstance(value, str) and not value.lstrip().startswith("["):
        value = _TextOnly(io.BytesIO(zlib.decompress(base64.b64decode(value)))).load()
    tests: list[dict[str, Any]] = _json(value)
    return tests


class _TextOnly(pickle.Unpickler):
    """Unpickles texts and plain containers; a pickle that asks for anything else is refused."""

    def find_class(self, module: str, name: str) -> Any:
        """Refuse every class."""
        raise ValueError(f"the private tests hold a {module}.{name}; only text is read")


def _called(tests: list[str], code: str) -> str:
    """Return the function that tests call: one that the solution defines, else the first called."""
    defined = {n.name for n in ast.parse(code).body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    calls = [
        n.func.id for n in ast.walk(ast.parse(tests[0])) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    ]
    if not calls:
        raise ValueError(f"its first test calls no function: {tests[0][:80]}")
    return next((name for name in calls if name in defined), calls[0])


def _method(starter: str) -> str:
    for line in starter.splitlines():
        if line.lstrip().startswith("def "):
            return line.split("def ", 1)[1].split("(", 1)[0].strip()
    raise ValueError("neither its metadata nor its starter code names the function")


def _solution(text: str | None) -> dict[str, str]:
    return {} if text is None else {"solution": text}


_FORMS = {
    "stdin": "Write a Python program that reads standard input and writes standard output.",
    "function": "Write the function in Python.",
}
READERS: Mapping[str, Callable[[Row, int], Task]] = {
    "humaneval": read_humaneval,
    "mbpp": read_mbpp,
    "apps": read_apps,
    "taco": read_apps,
    "livecodebench": read_livecodebench,
}
