"""What runs beside a Python program in its own process: loads it, feeds it one input at a time, sends back plain data.

The program shares this process, so nothing here is secret and nothing here decides anything: expected values are not
in the jail at all, and a program that forges results forges only its own answers.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import types
from collections.abc import Iterator
from typing import Any

from sandboxes.jail.frames import FrameReader, write_frame
from sandboxes.values import TooLarge, decode, encode

__all__ = ["answers", "run_script", "serve"]

_MESSAGE_CHARACTERS = 500


def serve(source: str, name: str, commands: int, results: int, budget: int) -> None:
    """Run a program's module, then each command, until the channel closes.

    Args:
        source: Text of the module.
        name: Its `__name__`.
        commands: Descriptor to read inputs from, one at a time.
        results: Descriptor to write one result for each to, the first for loading the module.
        budget: Most items and characters of one result.
    """
    # The init ignores interrupts, so that the program cannot end it; the program itself gets Python's own handler.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for result in answers(source, name, _commands(commands), budget):
        write_frame(results, result)
    _flush()


def run_script(source: str) -> None:
    """Run a program as `python program.py` does, up to its exit code; never returns."""
    import atexit
    import threading

    signal.signal(signal.SIGINT, signal.default_int_handler)
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module
    sys.argv = ["program.py"]
    module.__dict__["__file__"] = "/work/program.py"
    code = 0
    try:
        _load(source, module.__dict__)
    except SystemExit as error:
        code = _exit_code(error.code)
    except BaseException as error:  # noqa: BLE001 (as the interpreter itself does)
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        code = 1
    try:
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        atexit._run_exitfuncs()
    except BaseException:  # noqa: BLE001 (the program may have put anything there)
        code = code or 1
    _flush()
    os._exit(code)


def _exit_code(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    sys.stderr.write(f"{code}\n")
    return 1


def answers(source: str, name: str, inputs: Iterator[Any], budget: int) -> Iterator[dict[str, Any]]:
    """Yield what came of loading a program's module, and then of each input; see `serve`."""
    sys.set_int_max_str_digits(0)
    module = types.ModuleType(name)
    sys.modules[name] = module
    sys.argv = ["program.py"]
    namespace = module.__dict__
    namespace["__file__"] = "/work/program.py"
    loaded = _attempt(lambda: _load(source, namespace), budget)
    yield loaded
    if "error" in loaded:
        return
    for steps in inputs:
        yield _attempt(lambda steps=steps: _perform(steps, namespace), budget)


def _commands(fd: int) -> Iterator[Any]:
    reader = FrameReader(fd)
    while True:
        try:
            steps = json.loads(reader.read().decode("utf-8", "surrogatepass"))
        except EOFError:
            return
        if steps is None:
            return
        yield steps


def _load(source: str, namespace: dict[str, Any]) -> None:
    exec(compile(source, "/work/program.py", "exec", dont_inherit=True), namespace)  # noqa: S102 (what a sandbox is for)


def _perform(steps: list[dict[str, Any]], namespace: dict[str, Any]) -> Any:
    """Carry out the steps of one input and return the value of the last."""
    value: Any = None
    for step in steps:
        if "code" in step:
            value = eval(compile(step["code"], "<input>", "eval", dont_inherit=True), namespace)  # noqa: S307
        elif "run" in step:
            exec(compile(step["run"], "<input>", "exec", dont_inherit=True), namespace)  # noqa: S102
            value = None
        elif "cell" in step:
            _cell(step["cell"], namespace)
            value = None
        else:
            target = _resolve(step["target"], namespace)
            arguments = [decode(item) for item in step.get("args", ())]
            keywords = {key: decode(item) for key, item in step.get("kwargs", {}).items()}
            value = target(*arguments, **keywords)
        if "save" in step:
            namespace[step["save"]] = value
    if "save" in steps[-1]:
        return None
    return value


def _cell(source: str, namespace: dict[str, Any]) -> None:
    """Run statements as an interactive interpreter does: show the value of a last expression, and any traceback."""
    import ast
    import linecache
    import traceback

    linecache.cache["<cell>"] = (len(source), None, source.splitlines(keepends=True), "<cell>")
    try:
        tree = ast.parse(source, "<cell>")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<cell>", "exec", dont_inherit=True), namespace)  # noqa: S102
        if isinstance(last, ast.Expr):
            shown = ast.Interactive([last])
            exec(compile(shown, "<cell>", "single", dont_inherit=True), namespace)  # noqa: S102
    except BaseException as error:
        traceback.print_exception(error.with_traceback(error.__traceback__ and error.__traceback__.tb_next))
        raise
    finally:
        _flush()


def _resolve(path: str, namespace: dict[str, Any]) -> Any:
    first, *rest = path.split(".")
    if first not in namespace:
        raise NameError(f"name {first!r} is not defined by the program")
    value = namespace[first]
    for attribute in rest:
        value = getattr(value, attribute)
    return value


def _attempt(action: Any, budget: int) -> dict[str, Any]:
    """Run untrusted code; whatever it raises, `SystemExit` and `KeyboardInterrupt` too, is its result."""
    try:
        return {"value": encode(action(), budget)}
    except TooLarge as error:
        return {"error": "TooLarge", "message": str(error)}
    except MemoryError:
        return {"error": "MemoryError", "message": "out of memory"}
    except BaseException as error:  # noqa: BLE001 (the wall between the program and its harness)
        return {"error": type.__getattribute__(type(error), "__name__"), "message": _text_of(error)}


def _text_of(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 (a program's own __str__ may raise anything)
        return "the exception has no text"
    return str.__str__(text)[:_MESSAGE_CHARACTERS] if type(text) is str else "the exception has no text"


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: BLE001 (the program may have put anything in sys.stdout's place)
            os.write(2, b"")
