from __future__ import annotations

import pytest

from rewards.bounds import Bounds
from rewards.math import boxed_format, default_reward, soft_length
from rewards.sample import Sample, Turn


@pytest.mark.parametrize(
    ("completion", "value"),
    [
        (r"so \boxed{7}", 1.0),
        (r"so $\boxed{\frac{1}{2}}$." + "\n", 1.0),
        (r"<think>\boxed{1}</think>\boxed{7}", 1.0),
        (r"\boxed{7} or \boxed{8}", 0.0),
        (r"\boxed{7} is it", 0.0),
        (r"\boxed{}", 0.0),
        (r"\boxed{7", 0.0),
        (r"\boxed{\boxed{7}}", 0.0),
        ("7", 0.0),
        ("", 0.0),
    ],
)
def test_format_wants_one_box_at_the_end(completion: str, value: float) -> None:
    assert boxed_format.score_sync([Sample(completion)])[0].value == value


def test_length_is_the_papers_soft_overlong_punishment() -> None:
    # DAPO (arXiv 2503.14476): L_max = 20480 and L_cache = 4096 give -0.5 at 18432.
    length = soft_length(20_480, 4_096)
    scores = length.score_sync([Sample("x" * n) for n in (0, 16_384, 18_432, 20_480, 99_999)])
    assert [score.value for score in scores] == [0.0, 0.0, -0.5, -1.0, -1.0]
    assert length.bounds == Bounds(-1, 0)


def test_length_counts_words_and_every_turn() -> None:
    words = soft_length(10, 4, unit="words")
    assert words.score_sync([Sample("a bb  ccc\nd e f g h")])[0].value == -0.5
    turns = (Turn("x" * 60), Turn("x" * 30))
    assert soft_length(100, 20).score_sync([Sample("x" * 30, turns=turns)])[0].value == -0.5


@pytest.mark.parametrize(("limit", "margin"), [(10, 0), (10, 10), (10, 11)])
def test_length_refuses_a_margin_that_makes_no_slope(limit: int, margin: int) -> None:
    with pytest.raises(ValueError, match="margin must lie between"):
        soft_length(limit, margin)


def test_the_default_reward_has_three_parts() -> None:
    score = default_reward().score_sync([Sample(r"\boxed{7}", {"answer": "7"})])[0]
    assert score.value == pytest.approx(1.1)
    assert {name: part.value for name, part in score.parts.items()} == {"answer": 1.0, "format": 1.0, "length": 0.0}
