"""What a run reports, whoever ended it and however."""

from __future__ import annotations

import os
import shutil

import pytest

from sandboxes import Call, Cause, Limits, Outcome, Program, Stdin, Steps
from sandboxes.backends.namespace import NamespaceSandbox
from sandboxes.values import Opaque

SHORT = Limits(wall_s=0.5, cpu_s=5, total_wall_s=5, memory_bytes=96 << 20, output_bytes=1 << 16)
LONG = Limits(wall_s=30, cpu_s=30, total_wall_s=60)
F = "def f(x):\n    return x * x + 1\n"


async def test_calls_come_back_as_plain_data(namespace: NamespaceSandbox) -> None:
    source = (
        "def f(*a, **k):\n    return [a, k]\n"
        "class C:\n    n = 0\n    def up(self, by=1):\n        self.n += by\n        return self.n\n"
    )
    inputs = [
        Call("f", (1, 2.5, "x", b"y", None, True, {1, 2}, (3,)), {"key": 10**30}),
        Call("C", save="c"),
        Call("c.up"),
        Call("c.up", (), {"by": 5}),
        Call("c"),
        Call("missing"),
        Steps([{"run": "y = 20"}, {"code": "y + 1"}]),
    ]
    result = await namespace.run(Program(source), inputs, LONG)
    assert result.outcome is Outcome.SCORED
    values = [case.value for case in result.cases]
    assert values[0] == [(1, 2.5, "x", b"y", None, True, {1, 2}, (3,)), {"key": 10**30}]
    assert values[1:4] == [None, 1, 6]
    assert [case.error for case in result.cases[4:]] == ["TypeError", "NameError", ""]
    assert values[6] == 21
    assert result.usage.wall_s > 0
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("source", "outcomes", "causes"),
    [
        ("import sys; sys.exit(0)", {Outcome.MALFORMED}, {Cause.CRASHED}),
        ("import os; os._exit(0)", {Outcome.MALFORMED}, {Cause.CRASHED}),
        ("def f(x:", {Outcome.MALFORMED}, {Cause.CRASHED}),
        ("raise ValueError('no')", {Outcome.MALFORMED}, {Cause.CRASHED}),
        ("def f(x): raise ValueError('no')", {Outcome.SCORED}, {Cause.FINISHED}),
        ("import os\ndef f(x): os._exit(3)", {Outcome.SCORED}, {Cause.CRASHED}),
        ("import time; time.sleep(99)", {Outcome.POLICY_LIMIT}, {Cause.WALL}),
        ("import time\ndef f(x): time.sleep(99)", {Outcome.POLICY_LIMIT}, {Cause.WALL}),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", {Outcome.POLICY_LIMIT}, {Cause.WALL}),
        ("x = bytearray(1 << 30)", {Outcome.POLICY_LIMIT}, {Cause.MEMORY}),
        ("def f(x): return bytearray(1 << 30)", {Outcome.SCORED}, {Cause.FINISHED}),
        ("def f(x): return 'x' * (1 << 20)", {Outcome.SCORED}, {Cause.FINISHED}),
        ("import os\nwhile True: os.write(1, b'x' * 65536)", {Outcome.POLICY_LIMIT}, {Cause.OUTPUT, Cause.WALL}),
        ("import os\nos.write(4, b'\\xff' * 99)", {Outcome.MALFORMED}, {Cause.CRASHED}),
        (
            "import os\nfor n in range(3, 99):\n  try: os.close(n)\n  except OSError: pass",
            {Outcome.MALFORMED},
            {Cause.CRASHED},
        ),
    ],
)
async def test_whose_doing_it_was(
    namespace: NamespaceSandbox, source: str, outcomes: set[Outcome], causes: set[Cause]
) -> None:
    result = await namespace.run(Program(source), [Call("f", (3,))], SHORT)
    assert (result.outcome, result.cause) in {(o, c) for o in outcomes for c in causes}, result.detail
    assert result.outcome is Outcome.SCORED or not result.cases or result.cases[0].value is None


async def test_a_case_that_needs_too_much_is_a_limit_of_that_case(namespace: NamespaceSandbox) -> None:
    source = "def f(x): return bytearray(1 << 30) if x == 0 else 'x' * (1 << 20) if x == 1 else x"
    result = await namespace.run(Program(source), [Call("f", (x,)) for x in (0, 1, 2)], SHORT)
    assert [case.outcome for case in result.cases] == [Outcome.POLICY_LIMIT, Outcome.POLICY_LIMIT, Outcome.SCORED]
    assert [case.cause for case in result.cases] == [Cause.MEMORY, Cause.OUTPUT, Cause.FINISHED]


@pytest.mark.parametrize("number", [2, 9, 15, 1, 11, 19])
async def test_no_signal_of_a_program_ends_its_init(namespace: NamespaceSandbox, number: int) -> None:
    source = f"import os, time\nos.kill(1, {number})\ntime.sleep(0.05)\n" + F
    result = await namespace.run(Program(source), [Call("f", (3,))], LONG)
    assert [case.value for case in result.cases] == [10]


async def test_out_of_memory_is_never_excused(namespace: NamespaceSandbox) -> None:
    """Not even when the kernel's killing reaches past the program itself."""
    if "memory" not in namespace._crew.cgroups.controllers:
        pytest.skip("no writable memory control group on this machine")
    source = "import os\nfor _ in range(4): os.fork()\nb = []\nwhile True: b.append(bytearray(b'x' * (1 << 20)))\n"
    for _ in range(3):
        result = await namespace.run(Program(source), [Call("f", (3,))], SHORT)
        assert result.outcome is not Outcome.INFRA_ERROR, result.detail


async def test_memory_used_up_in_one_case_is_not_held_against_the_next(namespace: NamespaceSandbox) -> None:
    source = "x = int(input())\nb = bytearray(b'x' * (x << 20))\nprint(x)\n"
    inputs = [Stdin(b"1"), Stdin(b"4000"), Stdin(b"2")]
    result = await namespace.run(Program(source), inputs, Limits(memory_bytes=96 << 20, wall_s=20, total_wall_s=60))
    assert [case.stdout for case in result.cases] == [b"1\n", b"", b"2\n"]
    assert result.cases[2].cause is Cause.FINISHED


async def test_a_program_that_keeps_itself_waiting_is_not_starved(namespace: NamespaceSandbox) -> None:
    source = "import os\nfor _ in range(4): os.fork()\nwhile True: pass\n"
    result = await namespace.run(Program(source), [Call("f", (3,))], SHORT)
    assert result.cause is Cause.WALL


async def test_limits_of_one_run_are_not_those_of_the_next(namespace: NamespaceSandbox) -> None:
    source = "def f(n):\n    b = b'x' * (n << 20)\n    return len(b) >> 20\n"
    for size, limit in ((20, 64), (200, 400), (20, 64), (300, 500)):
        limits = Limits(memory_bytes=limit << 20, wall_s=30, total_wall_s=60)
        result = await namespace.run(Program(source), [Call("f", (size,)), Call("f", (2 * limit,))], limits)
        assert result.cases[0].value == size, (size, limit, result.detail)
        assert len(result.cases) < 2 or result.cases[1].cause is Cause.MEMORY


async def test_standard_input_and_exit_codes(namespace: NamespaceSandbox) -> None:
    source = (
        "import sys\nx = int(sys.stdin.read())\nprint(x * 2)\n"
        "if x == 1: sys.exit(3)\nif x == 2: raise KeyError('k')\nsys.exit()\n"
    )
    result = await namespace.run(Program(source), [Stdin(b"0"), Stdin(b"1"), Stdin(b"2")], LONG)
    assert [(case.stdout, case.exit_code) for case in result.cases] == [(b"0\n", 0), (b"2\n", 3), (b"4\n", 1)]
    assert "KeyError: 'k'" in result.cases[2].message
    assert "harness" not in result.cases[2].message


async def test_arguments_and_files(namespace: NamespaceSandbox) -> None:
    program = Program("import sys\nprint(sys.argv[1:], open('data/in.txt').read())", files={"data/in.txt": b"hi"})
    result = await namespace.run(program, [Stdin(args=("a", "b c"))], LONG)
    assert result.cases[0].stdout == b"['a', 'b c'] hi\n"


LANGUAGES = {
    "bash": ("bash", "read x\necho $((x * 2))\n"),
    "c": ("gcc", '#include <stdio.h>\nint main(){int x; scanf("%d", &x); printf("%d\\n", 2 * x);}'),
    "cpp": ("g++", "#include <iostream>\nint main(){int x; std::cin >> x; std::cout << 2 * x << std::endl;}"),
    "javascript": ("node", "console.log(2 * require('fs').readFileSync(0))"),
    "python": ("python3", "print(2 * int(input()))"),
}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_every_language(namespace: NamespaceSandbox, language: str) -> None:
    tool, source = LANGUAGES[language]
    if not shutil.which(tool):
        pytest.skip(f"no {tool} on this machine")
    result = await namespace.run(Program(source, language), [Stdin(b"21\n"), Stdin(b"4\n")], LONG)
    assert [case.stdout for case in result.cases] == [b"42\n", b"8\n"], result.detail or result.stderr


async def test_a_program_that_does_not_compile_is_malformed(namespace: NamespaceSandbox) -> None:
    if not shutil.which("gcc"):
        pytest.skip("no gcc on this machine")
    result = await namespace.run(Program("int main( {", "c"), [Stdin()], LONG)
    assert (result.outcome, result.cause) == (Outcome.MALFORMED, Cause.COMPILE)
    assert "error" in result.detail


async def test_two_sandboxes_of_one_process_do_not_share_groups(namespace: NamespaceSandbox) -> None:
    program = Program(F)
    async with NamespaceSandbox(zygotes=1) as other:
        for sandbox in (namespace, other, namespace):
            assert (await sandbox.run(program, [Call("f", (3,))], LONG)).cases[0].value == 10
    assert (await namespace.run(program, [Call("f", (3,))], LONG)).cases[0].value == 10


async def test_nothing_of_one_run_is_in_the_next(namespace: NamespaceSandbox) -> None:
    write = "import os\nfor d in ('/work', '/tmp', '/dev/shm'):\n    open(d + '/x', 'w').write('x')\n" + F
    look = "import os\ndef f(x): return [n for d in ('/work', '/tmp', '/dev/shm') for n in os.listdir(d)]"
    await namespace.run(Program(write), [Call("f", (1,))], LONG)
    result = await namespace.run(Program(look), [Call("f", (1,))], LONG)
    assert result.cases[0].value == []


async def test_objects_of_a_program_are_never_rebuilt(namespace: NamespaceSandbox) -> None:
    source = "class E(int):\n    def __eq__(s, o): return True\n    __hash__ = int.__hash__\ndef f(x): return [E(5), 5]"
    result = await namespace.run(Program(source), [Call("f", (2,))], LONG)
    first, second = result.cases[0].value
    assert isinstance(first, Opaque)
    assert first != 5
    assert second == 5


async def test_a_secret_of_the_environment_stays_outside(
    namespace: NamespaceSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_SECRET", "do not tell")
    result = await namespace.run(
        Program("import os\ndef f(): return dict(os.environ)", env={"GIVEN": "1"}), [Call("f")]
    )
    assert "A_SECRET" in os.environ
    assert "A_SECRET" not in result.cases[0].value
    assert result.cases[0].value["GIVEN"] == "1"
