"""Sessions: files and an interpreter that stay."""

from __future__ import annotations

import asyncio

import pytest

from sandboxes import Call, Cause, Limits, Outcome, Pool, Program
from sandboxes.errors import SandboxClosed, SandboxError, Saturated

LIMITS = Limits(wall_s=20, cpu_s=20, total_wall_s=60, output_bytes=1 << 16)
SHORT = Limits(wall_s=0.5, cpu_s=5, output_bytes=1 << 16)


async def test_the_interpreter_keeps_its_state(isolated: Pool) -> None:
    async with await isolated.session(LIMITS) as session:
        assert (await session.execute("x = 41")).outcome is Outcome.SCORED
        shown = await session.execute("x + 1")
        assert shown.stdout == b"42\n"
        failed = await session.execute("1 / 0")
        assert failed.cases[0].error == "ZeroDivisionError"
        assert b"ZeroDivisionError" in failed.stderr
        assert (await session.execute("print(x)")).stdout == b"41\n"


async def test_a_cell_out_of_time_is_interrupted_and_loses_nothing(pool: Pool) -> None:
    async with await pool.session(LIMITS) as session:
        await session.execute("x = 1")
        stopped = await session.execute("while True: pass", SHORT)
        assert stopped.outcome is Outcome.POLICY_LIMIT
        assert stopped.cause is Cause.WALL
        assert (await session.execute("x")).stdout == b"1\n"


@pytest.mark.parametrize(
    "cell",
    [
        "import os; os._exit(1)",
        "while True:\n    try:\n        while True: pass\n    except KeyboardInterrupt: pass",
        "import os\nwhile True: os.write(1, b'x' * 65536)",
    ],
)
async def test_an_interpreter_that_ends_is_replaced(pool: Pool, cell: str) -> None:
    async with await pool.session(LIMITS) as session:
        await session.execute("x = 1")
        ended = await session.execute(cell, SHORT)
        assert "what it held is lost" in ended.detail or ended.outcome is Outcome.POLICY_LIMIT
        assert (await session.execute("'x' in globals()", LIMITS)).stdout in (b"False\n", b"True\n")


async def test_runs_share_files_and_spare_the_interpreter(pool: Pool) -> None:
    async with await pool.session(LIMITS) as session:
        await session.execute("x = 7\nimport subprocess\nopen('a.txt', 'w').write('from the cell')")
        read = Program("import subprocess\nsubprocess.Popen(['sleep', '99'])\ndef f(): return open('a.txt').read()")
        assert (await session.run(read, [Call("f")])).cases[0].value == "from the cell"
        assert (await session.execute("x")).stdout == b"7\n"


async def test_files_in_and_out(isolated: Pool) -> None:
    async with await isolated.session(LIMITS) as session:
        await session.write({"a/b.txt": b"\x00\xff", "../../c.txt": b"c"})
        assert await session.files() == ["a/b.txt", "c.txt"]
        assert await session.read("a/b.txt") == b"\x00\xff"
        with pytest.raises(FileNotFoundError, match=r"nothing\.txt"):
            await session.read("nothing.txt")
        assert await session.snapshot() == {"a/b.txt": b"\x00\xff", "c.txt": b"c"}


async def test_what_a_program_puts_in_the_way_is_not_followed(pool: Pool) -> None:
    async with await pool.session(LIMITS) as session:
        await session.execute(
            "import os\nos.symlink('/proc/1', 'd')\nos.mkfifo('p')\nos.symlink('/etc/passwd', 'l')\nos.mkdir('t')"
        )
        for name in ("d/environ", "p", "l", "t", "."):
            with pytest.raises(FileNotFoundError):
                await session.read(name)
        await session.write({"p": b"1", "l": b"2"})
        assert (await session.read("p"), await session.read("l")) == (b"1", b"2")
        for name in ("d/oom_score_adj", "t"):
            with pytest.raises(SandboxError, match="cannot write a file"):
                await session.write({name: b"x"})
        assert await session.files() == ["l", "p"]


async def test_a_fork_has_the_files_and_goes_its_own_way(pool: Pool) -> None:
    async with await pool.session(LIMITS) as session:
        await session.write({"a": b"1"})
        async with await session.fork() as other:
            await other.write({"a": b"2", "b": b"3"})
            assert await session.snapshot() == {"a": b"1"}
            assert await other.snapshot() == {"a": b"2", "b": b"3"}


async def test_a_closed_session_says_so(pool: Pool) -> None:
    before = pool.stats.sessions
    session = await pool.session(LIMITS)
    assert pool.stats.sessions == before + 1
    await session.close()
    await session.close()
    assert pool.stats.sessions == before
    with pytest.raises(SandboxClosed):
        await session.execute("1")


async def test_calls_at_once_take_turns(pool: Pool) -> None:
    async with await pool.session(LIMITS) as session:
        await session.execute("n = 0")
        results = await asyncio.gather(*(session.execute("n += 1; print(n)") for _ in range(8)))
        assert sorted(int(result.stdout) for result in results) == list(range(1, 9))


async def test_sessions_are_bounded(pool: Pool) -> None:
    small = Pool(pool.backend, max_sessions=1)
    async with await small.session(LIMITS):
        with pytest.raises(Saturated, match="1 sessions are open"):
            await small.session(LIMITS)
    async with await small.session(LIMITS):
        assert small.stats.refused == 1
