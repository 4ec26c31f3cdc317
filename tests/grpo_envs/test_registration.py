from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

import grpo_envs
from grpo_envs import EnvInfo, LanguageEnv, env_info, make, register
from grpo_envs.errors import EnvNameTaken, UnknownEnv

PACKAGE = '''
"""A package of somebody else's."""
import grpo_envs
from rewards import reward

@reward
def echoed(completion: str, answer: str) -> bool:
    return completion == answer

class EchoEnv(grpo_envs.LanguageEnv):
    def __init__(self, times: int = 1, **options):
        tasks = grpo_envs.TaskSet([grpo_envs.Task("t", "say hi", "hi" * times)])
        super().__init__(tasks, options.pop("reward", echoed), **options)

def setup():
    grpo_envs.register("third/Echo-v0", EchoEnv, description="Say it.", suites=("one",), reward=echoed)
'''


def install(site: Path, name: str, source: str, value: str) -> None:
    """Lay a distribution out on the disk as pip would."""
    (site / f"{name}.py").write_text(source)
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[grpo_envs.environments]\n{name} = {value}\n")
    (info / "RECORD").write_text("")


def run(site: Path, code: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(site), str(Path(grpo_envs.__file__).parents[1])])
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.fixture
def site(tmp_path: Path) -> Path:
    install(tmp_path, "thirdparty", PACKAGE, "thirdparty:setup")
    return tmp_path


def test_installed_packages_are_loaded_when_first_asked_for(site: Path) -> None:
    done = run(
        site,
        """
        import sys, grpo_envs
        assert "thirdparty" not in sys.modules
        env = grpo_envs.make("third/Echo-v0", times=2)
        env.reset()
        assert env.step("hihi")[1] == 1.0
        assert "third/Echo-v0" in grpo_envs.env_ids()
        info = grpo_envs.env_info("third/Echo-v0")
        assert (info.description, info.suites, info.reward) == ("Say it.", ("one",), "echoed"), info
        assert dict(grpo_envs.failed_entry_points()) == {}
        """,
    )
    assert done.stderr == ""


def test_a_broken_package_is_reported_and_breaks_no_other(site: Path) -> None:
    install(site, "aaa_broken", "raise RuntimeError('no such luck')", "aaa_broken:setup")
    install(site, "bbb_missing", "", "bbb_missing:setup")
    install(site, "zzz_taken", "import grpo_envs\nclass E: pass\ngrpo_envs.register('third/Echo-v0', E)", "zzz_taken")
    done = run(
        site,
        """
        import grpo_envs
        from grpo_envs.errors import UnknownEnv
        assert "third/Echo-v0" in grpo_envs.env_ids()
        failed = grpo_envs.failed_entry_points()
        assert list(failed) == ["aaa_broken", "bbb_missing", "zzz_taken"], failed
        assert failed["aaa_broken"] == "aaa_broken:setup: RuntimeError: no such luck"
        assert "has no attribute 'setup'" in failed["bbb_missing"]
        assert "EnvNameTaken" in failed["zzz_taken"]
        try: grpo_envs.make("third/Ekho-v0")
        except UnknownEnv as error: print(error)
        """,
    )
    assert "environments of aaa_broken (aaa_broken:setup) cannot be loaded: RuntimeError: no such luck" in done.stderr
    assert done.stdout.startswith("no environment 'third/Ekho-v0' is registered; did you mean 'third/Echo-v0'?")
    assert "Not loaded: aaa_broken (aaa_broken:setup: RuntimeError: no such luck)" in done.stdout


def test_a_module_named_in_the_id_is_imported_first(tmp_path: Path) -> None:
    (tmp_path / "loner.py").write_text(PACKAGE + "\nsetup()\n")
    done = run(
        tmp_path,
        """
        import gymnasium, grpo_envs
        assert gymnasium.make("loner:third/Echo-v0").unwrapped.spec.id == "third/Echo-v0"
        assert grpo_envs.make("loner:third/Echo-v0", times=3).spec.kwargs["times"] == 3
        """,
    )
    assert done.stderr == ""


def test_a_spec_survives_the_trip_through_json(tmp_path: Path) -> None:
    (tmp_path / "loner.py").write_text(PACKAGE)
    done = run(
        tmp_path,
        """
        import gymnasium, grpo_envs, loner
        grpo_envs.register("third/Plain-v0", loner.EchoEnv, kwargs={"times": 2})
        spec = gymnasium.spec("third/Plain-v0")
        assert spec.entry_point == "loner:EchoEnv"
        print(spec.to_json())
        """,
    )
    assert json.loads(done.stdout)["kwargs"] == {"times": 2}
    made = gym.make("grpo_envs/MathTools-v0", suite="algebra", max_turns=3)
    assert made.spec is not None
    again = gym.make(EnvSpec.from_json(made.spec.to_json())).unwrapped
    assert (again.max_turns, again.tasks.name) == (3, made.unwrapped.tasks.name)


@pytest.fixture
def fresh_id() -> str:
    return f"tests/Garden{uuid.uuid4().hex[:8]}-v0"


def test_registering(fresh_id: str, garden_class: type[LanguageEnv]) -> None:
    info = register(fresh_id, garden_class, description="Plants.", kwargs={"max_turns": 2}, reward="answer")
    assert info == EnvInfo(fresh_id, "Plants.", (), "answer")
    assert env_info(fresh_id) is info
    assert fresh_id in grpo_envs.env_ids()
    assert isinstance(make(fresh_id, reward=_always()), garden_class)
    with pytest.raises(EnvNameTaken, match="is registered already; choose another id or raise its version"):
        register(fresh_id, garden_class)


def _always() -> Any:
    from rewards import reward

    @reward
    def always(completion: str) -> float:
        return 1.0

    return always


def test_local_classes_can_be_registered_too(fresh_id: str, garden_class: Any) -> None:
    class Local(garden_class):  # type: ignore[misc]
        pass

    register(fresh_id, Local)
    assert type(gym.make(fresh_id).unwrapped) is Local


@pytest.mark.parametrize(
    ("env_id", "message"),
    [
        ("grpo_envs/MathTool-v0", "no environment 'grpo_envs/MathTool-v0' is registered; did you mean"),
        ("grpo_envs/Math", "did you mean 'grpo_envs/Math-v0'"),
        ("xyzzy", "known: .*grpo_envs/Math-v0"),
        ("nowhere_at_all:grpo_envs/Math-v0", "names the module 'nowhere_at_all', which cannot be imported"),
        ("CartPole-v1", "Gymnasium knows it: use gymnasium.make, or register it with grpo_envs.register"),
    ],
)
def test_unknown_ids_say_what_is_known(env_id: str, message: str) -> None:
    with pytest.raises(UnknownEnv, match=message):
        make(env_id)


def test_what_is_no_language_environment_is_refused(fresh_id: str) -> None:
    register(fresh_id, "gymnasium.envs.classic_control:CartPoleEnv")
    with pytest.raises(UnknownEnv, match=r"is a CartPoleEnv, not a LanguageEnv; use gymnasium.make for it"):
        make(fresh_id)
