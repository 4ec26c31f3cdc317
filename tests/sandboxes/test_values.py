"""Plain data across the wall."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandboxes.cgroups import Group
from sandboxes.errors import InvalidLimits, InvalidProgram
from sandboxes.limits import Limits
from sandboxes.program import Program
from sandboxes.values import Opaque, TooLarge, decode, encode

_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(), st.fractions(),
    st.complex_numbers(allow_nan=False), st.decimals(allow_nan=False),
)  # fmt: skip
_HASHABLE = st.recursive(
    _SCALARS, lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3), max_leaves=5
)
_DATA = st.recursive(
    _HASHABLE, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_HASHABLE, inner, max_size=3), max_leaves=20
)


@given(_DATA)
def test_data_survives_the_wall(value: Any) -> None:
    there = json.loads(json.dumps(encode(value)).encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass"))
    back = decode(there)
    assert back == value
    assert type(back) is type(value)


@given(st.recursive(st.none() | st.integers() | st.text(max_size=2), lambda i: st.lists(i, max_size=3), max_leaves=8))
def test_forged_data_is_a_value_error_or_a_value(data: Any) -> None:
    try:
        decode(data)
    except ValueError:
        return


@pytest.mark.parametrize("value", [lambda: 1, object(), int, math, iter([]), (i for i in "a")])
def test_what_is_not_plain_data_equals_nothing(value: object) -> None:
    back = decode(encode(value))
    assert isinstance(back, Opaque)
    assert back != back


@pytest.mark.parametrize("value", ["x" * 100, list(range(100)), 1 << 5000, {i: i for i in range(99)}, b"x" * 100])
def test_a_budget_is_kept(value: Any) -> None:
    with pytest.raises(TooLarge):
        encode(value, 50)


def test_numbers_keep_their_kind() -> None:
    for value in (Decimal("1.10"), Fraction(1, 3), 2**70, float("inf"), -0.0, True):
        back = decode(encode(value))
        assert (type(back), str(back)) == (type(value), str(value))
    assert math.isnan(decode(encode(float("nan"))))


@pytest.mark.parametrize("change", [{"wall_s": 0}, {"cpu_s": float("nan")}, {"processes": -1}, {"network": True}])
def test_limits_that_limit_nothing_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidLimits, match=next(iter(change))):
        Limits(**change)


def test_programs_are_checked() -> None:
    with pytest.raises(InvalidProgram, match="'cobol' is not one of python, bash"):
        Program("", "cobol")


@pytest.mark.parametrize(
    ("version", "limit", "events"),
    [(2, "memory.max", "memory.events"), (1, "memory.limit_in_bytes", "memory.oom_control")],
)
def test_groups_of_both_versions(tmp_path: Path, version: int, limit: str, events: str) -> None:
    memory, pids = tmp_path / "memory", tmp_path / "pids"
    for folder in (memory, pids):
        folder.mkdir()
        (folder / "cgroup.procs").write_text("")
    (memory / events).write_text("low 0\noom_kill 3\n")
    group = Group({"memory": memory, "pids": pids}, {"memory": version, "pids": version})
    group.limit(1 << 20, 7)
    assert (memory / limit).read_text() == str(1 << 20)
    assert (pids / "pids.max").read_text() == "7"
    assert not group.take_oom()
    (memory / events).write_text("low 0\noom_kill 4\n")
    assert group.take_oom()
    assert not group.take_oom()
    group.add(1234)
    group.let_go()
    assert (memory / "cgroup.procs").read_text() == "1234"
    assert not group.empty(0)
    group.let_go()
