"""What bounds alone can show of a reward before training."""

from __future__ import annotations

import pytest

from rewards import clip, first_of, gate, penalty, per_turn, reward, scale, weighted
from rewards.lint import lint

unit = reward(name="unit")(lambda completion: 1.0)
signed = reward(name="signed", bounds=(-1, 1))(lambda completion: 1.0)
paid = reward(name="paid", bounds=(0.5, 1))(lambda completion: 1.0)
punishing = reward(name="punishing", bounds=(-1, 0))(lambda completion: 0.0)
fixed = reward(name="fixed", bounds=(0.5, 0.5))(lambda completion: 0.5)
lenient = reward(name="lenient", malformed=0.5)(lambda completion: 1.0)


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (unit, set()),
        (weighted(a=unit, b=unit), set()),
        (weighted(a=(0.0, unit)), {("constant", ""), ("metric", "a")}),
        (weighted(a=unit, b=(-1.0, unit)), {("penalty", "b")}),
        (weighted(a=unit, b=(0.01, unit)), {("dominant", "a")}),
        (weighted(a=unit, b=fixed), {("offset", "b"), ("floor", "")}),
        (scale(unit, 1.0, 0.5), {("floor", ""), ("offset", "offset")}),
        (scale(unit, 0.0), {("constant", ""), ("metric", "unit")}),
        (weighted(a=paid, b=unit), {("floor", "")}),
        (weighted(a=paid, b=signed), set()),
        (penalty(unit), {("sign", ""), ("penalty", "unit")}),
        (weighted(a=unit, b=penalty(punishing)), {("sign", "b")}),
        (scale(unit, 1e6), {("scale", "")}),
        (weighted(a=unit, b=(-1.0, scale(unit, -1.0))), set()),
        (gate(unit, unit), {("metric", "gate")}),
        (gate(unit, unit, threshold=2.0), {("metric", "gate"), ("never-opens", "unit")}),
        (gate(unit, unit, threshold=0.0), {("metric", "gate"), ("never-closes", "unit")}),
        (gate(unit, signed), {("metric", "gate"), ("failing-pays", "signed")}),
        (gate(unit, signed, otherwise=-1.0), {("metric", "gate"), ("offset", "closed")}),
        (gate(unit, paid), {("metric", "gate")}),
        (first_of(paid, unit), set()),
        (weighted(a=gate(unit, signed), b=unit), {("metric", "a.gate"), ("failing-pays", "a")}),
        (
            clip(weighted(a=unit, b=(-1.0, unit)), 0.0, 1.0),
            {("metric", "inner.a"), ("metric", "inner.b"), ("penalty", "inner.b")},
        ),
        (per_turn(penalty(punishing)), {("sign", "turn.punishing")}),
        (lenient, {("malformed-pays", "lenient")}),
        (weighted(a=lenient, b=unit), {("malformed-pays", "a")}),
    ],
)
def test_what_stands_out_is_found_and_nothing_else(made, found):
    assert {(finding.code, finding.part) for finding in lint(made)} == found


@pytest.mark.parametrize(
    ("made", "warns"),
    [
        (weighted(a=unit, b=(-0.5, unit)), False),
        (weighted(a=unit, b=(0.0, unit)), False),
        (weighted(a=unit, b=(-0.5, punishing)), True),
        (weighted(a=paid, b=unit), True),
        (gate(unit, signed), True),
    ],
)
def test_only_what_is_probably_a_mistake_is_a_warning(made, warns):
    assert any(finding.severity == "warning" for finding in lint(made)) == warns


def test_the_floor_is_what_doing_nothing_earns():
    (finding,) = lint(weighted(a=(2.0, paid), b=unit))
    assert finding.message == "the worst score is 1: doing nothing is paid"
