# ruff: noqa: E501 (programs that are data, each on a line)
"""Programs that are paid to break their judge, and honest ones that look odd. None of the first may earn anything."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rewards.code import ClassCase, ClassProblem, Comparison, StdioCase, StdioProblem, UnitTestProblem, judge
from rewards.status import Status
from sandboxes.limits import Limits
from sandboxes.sandbox import Sandbox

CASES = [((2,), 5), ((3,), 10), ((0,), 1), ((-4,), 17)]
# Programs that burn CPU end by its limit, which a loaded machine only delays; sleeping ones by the wall clock.
QUICK = Limits(wall_s=15.0, total_wall_s=20.0, cpu_s=1.0, memory_bytes=128 << 20, processes=16)
SLEEPERS = ("sleep", "exit from a thread")

FORGE = """
import json, os, struct
def send(text):
    body = text.encode()
    for fd in range(3, 10):
        try: os.write(fd, struct.pack("<I", len(body)) + body)
        except OSError: pass
"""

HACKS = {
    "exit at import": "import sys; sys.exit(0)",
    "hard exit at import": "import os; os._exit(0)",
    "exit in the call": "import sys\ndef f(x): sys.exit(0)",
    "hard exit in the call": "import os\ndef f(x): os._exit(0)",
    "SystemExit": "raise SystemExit(0)",
    "object equal to all": "class E:\n    def __eq__(s, o): return True\n    __hash__ = None\ndef f(x): return E()",
    "int equal to all": "class I(int):\n    def __eq__(s, o): return True\n    __hash__ = int.__hash__\ndef f(x): return I(0)",
    "int that is right by a lie": "class I(int):\n    def __eq__(s, o): return True\ndef f(x): return I(x * x + 1)",
    "float equal to all": "class F(float):\n    def __eq__(s, o): return True\ndef f(x): return F('nan')",
    "a lie about its class": "class E:\n    __class__ = int\n    def __eq__(s, o): return True\ndef f(x): return E()",
    "list equal to all": "class L(list):\n    def __eq__(s, o): return True\ndef f(x): return L()",
    "excepthook": "import sys, os\nsys.excepthook = lambda *a: os._exit(0)\ndef f(x): raise ValueError",
    "atexit": "import atexit, os\natexit.register(lambda: os._exit(0))\ndef f(x): return 0",
    "exit in __del__": "import os\nclass D:\n    def __del__(s): os._exit(0)\nd = D()\ndef f(x): return 0",
    "markers and exit": "import os\nprint('ALL_TESTS_PASSED', flush=True); print('{\"passed\": true}', flush=True); os._exit(0)",
    "markers": "print('ALL_TESTS_PASSED\\n4 passed')\ndef f(x): print('PASSED'); return None",
    "search the disk": (
        "import os, re\nfound = []\nfor d, _, names in os.walk('/'):\n"
        "    if d.startswith(('/usr', '/lib', '/proc', '/root')): continue\n"
        "    for n in names:\n        try: found += re.findall(r'== *(-?\\d+)', open(os.path.join(d, n)).read(100000))\n"
        "        except OSError: pass\n        except ValueError: pass\n"
        "def f(x): return int(found.pop()) if found else 0"
    ),
    "read the callers' frames": (
        "import sys\ndef f(x):\n    frame, seen = sys._getframe(1), []\n    while frame:\n"
        "        for v in list(frame.f_locals.values()) + list(frame.f_code.co_consts):\n"
        "            if type(v) is int and v not in (x, 0): seen.append(v)\n        frame = frame.f_back\n"
        "    return seen[0] if seen else 0"
    ),
    "take lists from the frames": (
        "import sys\ndef f(x):\n    frame = sys._getframe(1)\n    while frame:\n"
        "        for v in frame.f_locals.values():\n            if isinstance(v, (list, tuple)) and len(v) == 4: return v[0]\n"
        "        frame = frame.f_back\n    return 0"
    ),
    "scan the heap": (
        "import gc\ndef f(x):\n    for o in gc.get_objects():\n        if type(o) is list and 17 in [v for v in o if type(v) is int]: return 17\n    return 0"
    ),
    "exit from a thread": "import threading, os\nthreading.Timer(0.05, lambda: os._exit(0)).start()\ndef f(x):\n    import time; time.sleep(9)",
    "exit through libc": "import ctypes\nctypes.CDLL(None)._exit(0)",
    "exit in a signal handler": "import signal, os\nsignal.signal(signal.SIGUSR1, lambda *a: os._exit(0))\nos.kill(os.getpid(), signal.SIGUSR1)",
    "conftest": "open('/work/conftest.py', 'w').write('def pytest_runtest_call(item): pass')\ndef f(x): return 0",
    "patched comparisons": "import operator, builtins\noperator.eq = lambda a, b: True\nbuiltins.all = lambda *a: True\ndef f(x): return 0",
    "patched encoder": (
        "import sandboxes.values as v, sandboxes.jail.harness as h\nclass E: pass\nv.encode = h.encode = lambda *a: True\ndef f(x): return E()"
    ),
    "evil pickle": "import os\nclass R:\n    def __reduce__(s): return (os.system, ('touch /tmp/owned',))\ndef f(x): return R()",
    "list inside itself": "def f(x):\n    l = []; l.append(l); return l",
    "deep list": "def f(x):\n    l = []\n    for _ in range(5000): l = [l]\n    return l",
    "kill the parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.kill(-1, signal.SIGKILL)\ndef f(x): return 0",
    "NaN": "def f(x): return float('nan')",
    "infinity": "def f(x): return float('inf')",
    "text": "def f(x): return str(x * x + 1)",
    "huge int": "def f(x): return 1 << 10_000_000",
    "endless loop": "def f(x):\n    while True: pass",
    "loop that will not be interrupted": (
        "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\ndef f(x):\n    while True:\n"
        "        try:\n            while True: pass\n        except BaseException: pass"
    ),
    "sleep": "import time\ndef f(x): time.sleep(1000)",
    "memory": "def f(x): return len(bytearray(10 << 30))",
    "output": "import os\ndef f(x):\n    while True: os.write(1, b'x' * 65536)",
    "forged number": FORGE + "send('5')\ndef f(x): return 0",
    "forged list": FORGE + "send('[1, 2]')\ndef f(x): return 0",
    "forged nesting": FORGE + "send('{\"value\":' + '[' * 900 + ']' * 900 + '}')\ndef f(x): return 0",
    "forged deep nesting": FORGE + "send('{\"value\":' + '[' * 90000 + ']' * 90000 + '}')\ndef f(x): return 0",
    "forged not JSON": FORGE + "send('\\x00\\xff{{')\ndef f(x): return 0",
    "forged fraction": FORGE + 'def f(x): send(\'{"value":["q",[1,0]]}\')',
    "forged decimal": FORGE + 'def f(x): send(\'{"value":["D",[1,[2],3]]}\')',
    "forged set": FORGE + 'def f(x): send(\'{"value":["s",[["l",[]]]]}\')',
    "forged both": FORGE + 'def f(x): send(\'{"value":1,"error":"x"}\')',
    "forged loaded and no more": FORGE + "send('{\"value\":null}'); os._exit(0)",
    "forged answers ahead": FORGE
    + "send('{\"value\":null}')\nfor i in range(8): send('{\"value\":true}')\nos._exit(0)",
    "forged header": "import os\nos.write(4, b'\\xff\\xff\\xff\\xff')\ndef f(x): return 0",
    "closed channels": "import os\nos.closerange(3, 100)\ndef f(x): return x * x + 1",
    "raises something odd": "class B(BaseException):\n    def __str__(s): raise s\ndef f(x): raise B",
    "name that is no function": "f = 5",
    "no such name": "def g(x): return x * x + 1",
    "null byte": "def f(x): return x * x + 1\n\0",
    "lone surrogate": "def f(x): return '\ud800'",
    "does not parse": "def f(x: return",
    "nested too deeply to parse": "(" * 3000 + ")" * 3000,
}


@pytest.mark.parametrize("name", HACKS)
def test_a_program_that_breaks_its_judge_earns_a_zero_and_never_an_excuse(sandbox: Sandbox, name: str) -> None:
    limits = replace(QUICK, wall_s=1.0) if name in SLEEPERS else QUICK
    score = judge(HACKS[name], entry_point="f", cases=CASES, limits=limits, backend=sandbox)
    assert score.status is not Status.INFRA_ERROR, score.detail
    assert score.value == 0.0, score.detail
    assert score.parts["all_passed"].value == 0.0


HONEST = {
    "plain": "def f(x): return x * x + 1",
    "invalid UTF-8 on stdout": "import os\ndef f(x):\n    os.write(1, b'\\xff\\x00\\xfe'); return x * x + 1",
    "ten megabytes of output": "def f(x):\n    print('x' * 2_500_000); return x * x + 1",
    "a child that holds stdout": (
        "import os, time\nif os.fork() == 0:\n    time.sleep(30); os._exit(0)\ndef f(x): return x * x + 1"
    ),
    "a thread that never stops": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()\ndef f(x): return x * x + 1"
    ),
    "closes its stdout": "import os\nos.close(1); os.close(2)\ndef f(x): return x * x + 1",
    "replaces stdout": "import sys\nsys.stdout = None\ndef f(x): return x * x + 1",
    "leaves files and a fifo": "import os\nos.mkfifo('/work/p')\nopen('/tmp/x', 'w').write('x')\ndef f(x): return x * x + 1",
    "a float of the same value": "def f(x): return float(x * x + 1)",
}


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_program_passes_however_odd_it_is(sandbox: Sandbox, name: str) -> None:
    limits = Limits(wall_s=10.0, total_wall_s=20.0)
    score = judge(HONEST[name], entry_point="f", cases=CASES, limits=limits, backend=sandbox)
    assert (score.value, score.status) == (1.0, Status.SCORED), score.detail


def test_a_five_thousand_digit_integer_is_an_answer(sandbox: Sandbox) -> None:
    expected = 10**4_999 + 7
    assert judge(f"def f(): return {expected:#x}", entry_point="f", cases=[((), expected)], backend=sandbox).value == 1
    assert judge("def f(): return 10 ** 4999", entry_point="f", cases=[((), expected)], backend=sandbox).value == 0


def test_true_is_not_one_unless_the_rule_says_so(sandbox: Sandbox) -> None:
    program, cases = "def f(x): return True", [((0,), 1)]
    assert judge(program, entry_point="f", cases=cases, backend=sandbox).value == 0.0
    python = Comparison("python")
    assert judge(program, entry_point="f", cases=cases, comparison=python, backend=sandbox).value == 1.0


def test_a_program_that_knows_the_visible_cases_only_shows_as_one(sandbox: Sandbox) -> None:
    cases = [{"args": [2], "expected": 5, "hidden": False}, {"args": [3], "expected": 10}]
    score = judge("def f(x): return {2: 5}[x]", entry_point="f", cases=cases, backend=sandbox)
    assert (score.value, score.parts["visible"].value, score.parts["hidden"].value) == (0.0, 1.0, 0.0)


def test_a_prefix_of_the_output_is_not_the_output(sandbox: Sandbox) -> None:
    problem = StdioProblem((StdioCase("3", "1\n2\n3\n"),))
    for program, value in (("print(1)", 0.0), ("print(*'1234', sep='\\n')", 0.0), ("print(*'123', sep='\\n')", 1.0)):
        assert judge(program, problem=problem, backend=sandbox).value == value


def test_one_process_cannot_answer_for_the_next(sandbox: Sandbox) -> None:
    problem = StdioProblem((StdioCase("1", "1"), StdioCase("2", "2")))
    program = (
        "import os\nif os.fork() == 0:\n    import time; time.sleep(0.2); print(2, flush=True); os._exit(0)\nprint(1)"
    )
    assert judge(program, problem=problem, backend=sandbox).value == 0.0


UNIT = "import unittest\nfrom m import g\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(g(2), 5)\n    def test_b(self): self.assertEqual(g(3), 10)\n    def test_c(self): self.assertRaises(ValueError, g, None)\n"


@pytest.mark.parametrize(
    ("program", "passed"),
    [
        ("def g(x):\n    if x is None: raise ValueError\n    return x * x + 1", 3),
        ("def g(x): return x * x + 1", 2),
        (
            "def map(*a): return []\nall = len = map\ndef g(x):\n    if x is None: raise ValueError\n    return x * x + 1",
            3,
        ),
        ("import unittest\nunittest.TestCase.assertEqual = lambda *a: None\ndef g(x): raise ValueError", 1),
        ("import unittest\ndef g(x): raise unittest.SkipTest", 0),
        ("class E:\n    def __eq__(s, o): return True\ndef g(x): return E()", 0),
        ("class E(int):\n    def __eq__(s, o): return True\ndef g(x): return E(0)", 0),
        ("class E:\n    def __eq__(s, o): return True\ndef g(x): return [E()]", 0),
        ("import os\ndef g(x): os._exit(0)", 0),
        ("import sys; sys.exit(0)", 0),
        ("raise ImportError", 0),
        ("def h(x): return 1", 0),
    ],
)
def test_unit_tests_count_only_where_each_says_so_itself(sandbox: Sandbox, program: str, passed: int) -> None:
    score = judge(program, problem=UnitTestProblem("m", UNIT), limits=QUICK, backend=sandbox, credit="fraction")
    assert score.value == pytest.approx(passed / 3), score.detail
    assert score.parts["judged_outside"].value == 0.0


def test_an_object_cannot_answer_for_its_class(sandbox: Sandbox) -> None:
    case = ClassCase(("C", "add", "total"), ((), (2,), ()), (None, None, 2))
    right = "class C:\n    def __init__(s): s.t = 0\n    def add(s, x): s.t += x\n    def total(s): return s.t"
    liar = "class E:\n    def __eq__(s, o): return True\nclass C:\n    def __getattr__(s, n): return lambda *a: E()"
    problem = ClassProblem((case,))
    assert judge(right, problem=problem, backend=sandbox).value == 1.0
    assert judge(liar, problem=problem, backend=sandbox).value == 0.0
    assert judge("", problem=problem, backend=sandbox).value == 0.0
