"""Backends by name, and the self-test that stands before each."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

import sandboxes
from sandboxes import Call, Outcome, Program
from sandboxes.backends.namespace import NamespaceSandbox
from sandboxes.backends.unsafe import SubprocessSandbox
from sandboxes.errors import BackendUnavailable, SandboxError, TooWeak, UnknownBackend
from sandboxes.sandbox import CORE, Protections
from sandboxes.selftest import self_test

F = Program("def f(x):\n    return x * x + 1\n")


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(UnknownBackend, match="did you mean 'namespace'"):
        sandboxes.make("namespaces")


def test_an_unknown_option_names_the_known_ones() -> None:
    with pytest.raises(SandboxError, match="no option 'zygote'; it has zygotes, readable, seccomp"):
        sandboxes.make("namespace", zygote=3)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("bwrap", {"executable": "no-such-bwrap"}, "no no-such-bwrap on this machine; install"),
        ("docker", {"url": "unix:///no/such.sock"}, "no container engine answers at unix:///no/such.sock"),
    ],
)
def test_what_cannot_start_says_why(name: str, options: dict[str, str], message: str) -> None:
    if name == "docker":
        pytest.importorskip("docker", reason="the docker package is not installed")
    with pytest.raises(BackendUnavailable, match=message):
        sandboxes.make(name, **options)


def test_the_subprocess_backend_is_loud_and_never_passes_for_safe(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        pool = sandboxes.make("subprocess")
    assert "isolates nothing" in caplog.text
    assert "no_network" in pool.describe().missing
    assert pool.run_sync(F, [Call("f", (3,))]).cases[0].value == 10
    pool.close_now()
    with pytest.raises(TooWeak, match="does not hold no_network, seccomp"):
        sandboxes.make("subprocess", require=("no_network", "seccomp"))


def test_weaker_than_asked_does_not_start(namespace: NamespaceSandbox) -> None:
    with pytest.raises(TooWeak, match="does not hold seccomp"):
        sandboxes.make("namespace", seccomp=False)
    allowed = [name for name in CORE if name != "seccomp"]
    pool = sandboxes.make("namespace", seccomp=False, require=allowed, zygotes=1)
    assert set(allowed) <= set(pool.describe().tested)
    assert pool.describe().missing == ("seccomp",)
    pool.close_now()


class Boastful(SubprocessSandbox):
    """Claims what it does not hold."""

    def describe(self) -> Protections:
        real = super().describe()
        return replace(real, holds=dict.fromkeys(real.holds, True))


async def test_a_claim_that_attack_programs_disprove_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Boastful() as sandbox:
        with pytest.raises(TooWeak) as caught:
            await self_test(sandbox, ())
    for name in ("no_network", "host_files", "private_proc", "disk", "no_leftovers"):
        assert f"{name}: " in str(caught.value)


async def test_make_works_inside_an_event_loop(namespace: NamespaceSandbox) -> None:
    pool = sandboxes.make("namespace", zygotes=1, test=False)
    result = await pool.run(F, [Call("f", (3,))])
    assert result.outcome is Outcome.SCORED
    assert pool.describe().tested == ()
    await pool.close()


def test_backends_that_isolate_hold_the_same(isolated: sandboxes.Pool) -> None:
    described = isolated.describe()
    assert set(CORE) <= set(described.tested)
    assert not set(CORE) & set(described.missing)
