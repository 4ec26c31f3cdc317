from __future__ import annotations

import copy
import json
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewards.bounds import Bounds
from rewards.errors import InvalidScore
from rewards.score import Part, Score
from rewards.status import Status

VALUED = [status for status in Status if status.has_value]
VALUELESS = [status for status in Status if not status.has_value]
WIDE = Bounds(-100, 100)


@st.composite
def parts(draw: st.DrawFn) -> Part:
    status = draw(st.sampled_from(Status))
    value = draw(st.floats(-100, 100)) if status.has_value else None
    return Part(value, draw(st.floats(-10, 10)), WIDE, status, draw(st.text(max_size=5)))


scores = st.dictionaries(st.text(max_size=5), parts(), max_size=6).map(Score.of)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("status", VALUED)
def test_nan_and_infinity_are_refused(value: float, status: Status) -> None:
    with pytest.raises(InvalidScore, match="finite"):
        Score(value, status)
    with pytest.raises(InvalidScore, match="finite"):
        Part(value, status=status)


@pytest.mark.parametrize("make", [Score, lambda value, status: Part(value, status=status)])
def test_there_is_no_value_if_and_only_if_the_status_says_so(make: Any) -> None:
    for status in VALUED:
        assert make(0.5, status).value == 0.5
        with pytest.raises(InvalidScore, match="needs a number"):
            make(None, status)
    for status in VALUELESS:
        assert make(None, status).value is None
        with pytest.raises(InvalidScore, match="has no value"):
            make(0.0, status)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"value": 0.5, "status": Status.SCORED, "parts": {"a": Part(0.4)}}, "not the sum"),
        ({"value": 0.0, "status": Status.SCORED, "queued_s": -1.0}, "queued_s"),
        ({"value": 0.0, "status": Status.SCORED, "ran_s": math.nan}, "ran_s"),
        ({"value": 0.0, "status": Status.SCORED, "turns": (math.inf,)}, "turn"),
        (
            {"value": 0.0, "status": Status.SCORED, "parts": {"a": Part(None, status=Status.INFRA_ERROR)}},
            "stands on parts that broke: a",
        ),
    ],
)
def test_a_score_that_contradicts_itself_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidScore, match=message):
        Score(**fields)


def test_a_part_out_of_bounds_or_without_a_finite_weight_is_refused() -> None:
    with pytest.raises(InvalidScore, match=r"value 2.0 is outside the declared bounds \[0.0, 1.0\]"):
        Part(2.0)
    with pytest.raises(InvalidScore, match="weight must be finite"):
        Part(1.0, weight=math.nan)


def test_a_broken_metric_does_not_break_the_total() -> None:
    score = Score.of({"a": Part(0.5), "metric": Part(None, 0.0, status=Status.INFRA_ERROR)})
    assert (score.value, score.status) == (0.5, Status.SCORED)


def test_the_total_says_which_part_made_its_status() -> None:
    broken = Part(None, status=Status.INFRA_ERROR, detail="judge answered 503")
    score = Score.of({"a": Part(0.5, detail="fine"), "b": broken})
    assert (score.value, score.detail) == (None, "b: judge answered 503")


def test_parts_cannot_be_changed_afterwards() -> None:
    given_parts = {"a": Part(1.0)}
    score = Score.of(given_parts)
    given_parts["a"] = Part(0.0)
    assert score.parts["a"].value == 1.0
    with pytest.raises(TypeError):
        score.parts["a"] = Part(0.0)  # type: ignore[index]


def test_numbers_of_other_libraries_become_plain_floats() -> None:
    score = Score.of({"a": Part(np.float32(0.5), np.float32(2.0)), "b": Part(True)})  # type: ignore[arg-type]
    assert {type(part.value) for part in score.parts.values()} == {float}
    assert json.loads(json.dumps(score.to_dict()))["value"] == 2.0


@given(scores)
def test_the_total_is_the_weighted_sum_of_the_parts(score: Score) -> None:
    assert (score.value is None) == (score.status in VALUELESS)
    if score.value is not None:
        terms = [part.weight * part.value for part in score.parts.values() if part.value is not None]
        assert score.value == pytest.approx(sum(terms), abs=1e-9)


@given(scores)
def test_a_score_survives_json_pickle_and_copy(score: Score) -> None:
    assert Score.from_dict(json.loads(json.dumps(score.to_dict()))) == score
    assert pickle.loads(pickle.dumps(score)) == score
    assert copy.deepcopy(score) == score


@given(scores)
def test_flat_parts_are_numbers_by_name(score: Score) -> None:
    assert list(score.flat) == list(score.parts)
    assert all(math.isnan(score.flat[n]) == (p.value is None) for n, p in score.parts.items())


@pytest.mark.parametrize(
    "change",
    [
        {"value": math.nan},
        {"value": None},
        {"value": 0.9},
        {"value": "1.0"},
        {"value": 10**400},
        {"status": "fine"},
        {"status": "infra_error"},
        {"parts": {"a": {"value": 1.0}}},
        {"parts": {"a": None}},
        {"parts": None},
        {"ran_s": -1},
        {"turns": [math.inf]},
        {"turns": ["x"]},
    ],
)
def test_data_that_is_no_score_is_refused(change: dict[str, Any]) -> None:
    data = Score.of({"a": Part(1.0)}).to_dict()
    with pytest.raises(InvalidScore):
        Score.from_dict(data | change)


def test_data_without_a_field_is_refused() -> None:
    with pytest.raises(InvalidScore, match="no score can be read"):
        Score.from_dict({"value": 1.0})
