"""The algebra: totals, bounds, gates, and what a broken part does to them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewards import (
    Bounds,
    Malformed,
    Part,
    Reward,
    Sample,
    Score,
    Skip,
    Status,
    Turn,
    clip,
    first_of,
    gate,
    group,
    penalty,
    per_turn,
    reward,
    scale,
    schedule,
    weighted,
)
from rewards.bounds import UNIT
from rewards.combinators.weighted import Weighted
from rewards.errors import InvalidReward
from tests.rewards.strategies import SAMPLE, VALUES, leaf, trees


@settings(max_examples=200, deadline=None)
@given(trees())
def test_every_tree_scores_what_its_arithmetic_says(tree):
    score = tree.reward.score_sync([SAMPLE])[0]
    assert score.status is tree.status
    assert (score.value is None) == (tree.value is None) == (score.status in {Status.INFRA_ERROR, Status.SKIPPED})
    if tree.value is not None:
        assert score.value == pytest.approx(tree.value, abs=1e-6)
        assert score.value == pytest.approx(sum(p.contribution for p in score.parts.values()), abs=1e-6)
        assert score.value in tree.reward.bounds


@settings(max_examples=100, deadline=None)
@given(trees(broken=False))
def test_reported_parts_are_declared(tree):
    score = tree.reward.score_sync([SAMPLE])[0]
    declared = tree.reward.part_bounds
    assert set(score.parts) <= set(declared)
    for name, part in score.parts.items():
        assert part.value is None or part.value in declared[name][1]


@given(st.lists(VALUES, min_size=2, max_size=6), VALUES)
def test_gates_are_monotone(values, threshold):
    totals = []
    for value in sorted(values):
        gated = gate(leaf(value, "condition").reward, leaf(1.0, "inner").reward, threshold=threshold)
        totals.append(gated.score_sync([SAMPLE])[0].value)
    assert totals == sorted(totals)


def _raises(error: Exception, name: str = "r") -> Reward:
    @reward(name=name)
    def verifier(completion):
        raise error

    return verifier


right = reward(name="right")(lambda completion: 1.0)
wrong = reward(name="wrong")(lambda completion: 0.0)
broken = _raises(OSError("down"), "broken")
malformed = _raises(Malformed("?"), "malformed")
skipping = _raises(Skip("no"), "skipping")


class Raising(Reward):
    """Breaks the contract: it raises."""

    name, bounds = "raising", UNIT

    async def score(self, batch):
        raise RuntimeError("score() raised")


class Miscounting(Reward):
    """Breaks the contract: it loses scores."""

    name, bounds = "miscounting", UNIT

    async def score(self, batch):
        return [Score.skipped("")] * (len(batch) - 1)


@pytest.mark.parametrize(
    ("made", "value", "status"),
    [
        (weighted(a=right, b=(0.5, right)), 1.5, Status.SCORED),
        (weighted(a=right, b=(-0.5, right)), 0.5, Status.SCORED),
        (weighted(a=right, b=broken), None, Status.INFRA_ERROR),
        (weighted(a=right, b=(0.0, broken)), 1.0, Status.SCORED),
        (weighted(a=right, b=malformed), 1.0, Status.MALFORMED),
        (weighted(a=right, b=skipping), 1.0, Status.SCORED),
        (weighted(a=skipping, b=skipping), None, Status.SKIPPED),
        (weighted(a=right, b=Raising()), None, Status.INFRA_ERROR),
        (weighted(a=right, b=Miscounting()), None, Status.INFRA_ERROR),
        (gate(right, right), 1.0, Status.SCORED),
        (gate(wrong, right), 0.0, Status.SCORED),
        (gate(wrong, broken), 0.0, Status.SCORED),
        (gate(broken, right), None, Status.INFRA_ERROR),
        (gate(right, broken), None, Status.INFRA_ERROR),
        (gate(malformed, right), 0.0, Status.MALFORMED),
        (first_of(skipping, right), 1.0, Status.SCORED),
        (first_of(broken, right), None, Status.INFRA_ERROR),
        (first_of(malformed, right), 0.0, Status.MALFORMED),
        (first_of(skipping, weighted(a=skipping)), None, Status.SKIPPED),
        (clip(scale(right, 3.0), 0.0, 2.0), 2.0, Status.SCORED),
        (clip(broken, 0.0, 2.0), None, Status.INFRA_ERROR),
        (penalty(right, 0.3), -0.3, Status.SCORED),
        (scale(right, 2.0, 1.0), 3.0, Status.SCORED),
    ],
)
def test_what_the_parts_do_to_the_total(made, value, status):
    score = made.score_sync([Sample("x")])[0]
    assert (score.value, score.status) == (None if value is None else pytest.approx(value), status)
    assert value is None or score.value in made.bounds


def test_nested_names_are_dotted_and_weights_multiply():
    inner = weighted(name="inner", a=right, b=(0.5, wrong))
    score = weighted(outer=(2.0, inner), c=right).score_sync([Sample("x")])[0]
    assert {name: part.weight for name, part in score.parts.items()} == {"outer.a": 2.0, "outer.b": 1.0, "c": 1.0}
    assert score.value == 3.0


@pytest.mark.parametrize(("step", "weight"), [(-5, 0.0), (0, 0.0), (25, 0.25), (100, 1.0), (150, 0.5), (900, 0.0)])
def test_a_schedule_is_linear_between_its_points(step, weight):
    ramp = schedule(right, [(0, 0.0), (100, 1.0), (200, 0.0)])
    assert ramp.score_sync([Sample("x", step=step)])[0].value == pytest.approx(weight)


@pytest.mark.parametrize(
    ("reduce", "gamma", "total"), [("mean", 1.0, 0.5), ("sum", 1.0, 1.0), ("sum", 0.5, 0.25), ("last", 1.0, 0.0)]
)
def test_per_turn_keeps_each_turns_credit(reduce, gamma, total):
    good = reward(name="good")(lambda completion: float(completion == "good"))
    made = per_turn(good, reduce=reduce, gamma=gamma, max_turns=4)
    sample = Sample("", turns=(Turn("bad"), Turn("bad"), Turn("good"), Turn("good")) if gamma < 1 else _half())
    if gamma < 1:
        total = 0.5**2 + 0.5**3
    score = made.score_sync([sample])[0]
    assert score.value == pytest.approx(total)
    assert set(score.turns) == {0.0, 1.0}
    assert score.value in made.bounds


def _half():
    return (Turn("good"), Turn("bad"))


def test_per_turn_with_a_broken_turn_is_broken():
    made = per_turn(broken)
    assert made.score_sync([Sample("", turns=_half())])[0].status is Status.INFRA_ERROR


def test_a_sample_without_turns_is_one_turn():
    made = per_turn(reward(bounds=(-1, 0))(lambda completion: -float(completion == "bad")))
    assert [s.value for s in made.score_sync([Sample("bad"), Sample("good")])] == [-1.0, 0.0]


def test_turns_over_the_limit_count_nothing_and_are_the_policys_fault():
    made = per_turn(right, reduce="sum", max_turns=2)
    score = made.score_sync([Sample("", turns=(Turn("a"), Turn("b"), Turn("c")))])[0]
    assert (score.value, score.status, score.turns) == (2.0, Status.POLICY_LIMIT, (1.0, 1.0, 0.0))
    assert "max_turns=2" in score.detail


@pytest.mark.parametrize(
    ("make", "turns"),
    [
        (lambda turn: weighted(a=(2.0, turn), b=right), (2.0, 0.0)),
        (lambda turn: weighted(a=(2.0, turn), b=(-1.0, turn)), (1.0, 0.0)),
        (lambda turn: scale(turn, 3.0, 1.0), (3.0, 0.0)),
        (lambda turn: penalty(turn, 0.5), (-0.5, 0.0)),
        (lambda turn: schedule(turn, [(0, 0.5)]), (0.5, 0.0)),
        (lambda turn: gate(right, turn), (1.0, 0.0)),
        (lambda turn: first_of(skipping, turn), (1.0, 0.0)),
        (lambda turn: clip(turn, 0.0, 0.2), (1.0, 0.0)),
    ],
)
def test_turn_credit_goes_through_every_combinator(make, turns):
    good = per_turn(reward(name="good")(lambda completion: float(completion == "good")))
    assert make(good).score_sync([Sample("", turns=_half())])[0].turns == turns


def test_a_group_functions_error_says_whose_fault_it_was():
    for error, value, status in [(Malformed("?"), -1.0, Status.MALFORMED), (Skip("no"), None, Status.SKIPPED)]:

        def judge(members, error=error):
            raise error

        score = group(judge, bounds=(-1, 1)).score_sync([Sample("x")])[0]
        assert (score.value, score.status) == (value, status)


def test_one_bad_value_of_a_group_breaks_one_member():
    made = group(lambda members: [1.0, float("nan"), 2.0, 0.5])
    assert [s.value for s in made.score_sync([Sample("x")] * 4)] == [1.0, None, None, 0.5]


def test_an_async_group_function_is_awaited():
    async def judge(members):
        return [1.0 / len(members)] * len(members)

    for function in (judge, lambda members: judge(members)):
        assert [s.value for s in group(function, name="j").score_sync([Sample("x")] * 2)] == [0.5, 0.5]


class Odd(Reward):
    """Breaks the contract in the way it is told."""

    name, bounds = "odd", UNIT

    def __init__(self, returned):
        self.returned = returned

    async def score(self, batch):
        return self.returned


@pytest.mark.parametrize(
    "returned",
    [None, 1.0, [], [0.5, 0.5], iter([Score.of({})]), [Score.of({"odd": Part(2.0, bounds=Bounds(0, 2))})]],
    ids=repr,
)
@pytest.mark.parametrize(
    "make",
    [
        lambda odd: weighted(a=right, b=odd),
        lambda odd: gate(odd, right),
        lambda odd: gate(right, odd),
        lambda odd: first_of(odd, right),
        lambda odd: clip(odd, 0, 1),
        lambda odd: scale(odd, 2),
        lambda odd: penalty(odd),
        lambda odd: schedule(odd, [(0, 1.0)]),
        lambda odd: per_turn(odd),
    ],
)
def test_a_child_that_breaks_its_contract_is_broken_and_nothing_escapes(make, returned):
    if hasattr(returned, "__next__"):
        returned = iter([1.0])
    score = make(Odd(returned)).score_sync([Sample("x")])[0]
    assert (score.value, score.status) == (None, Status.INFRA_ERROR)
    assert "odd" in score.detail


def test_a_score_that_is_none_breaks_only_its_own_sample():
    good = Score.of({"odd": Part(1.0)})
    scores = weighted(a=Odd([good, 0.5, good])).score_sync([Sample("x")] * 3)
    assert [s.value for s in scores] == [1.0, None, 1.0]


def test_a_cause_without_a_part_reaches_the_total():
    lost = Odd([Score.failed("lost session", parts={"a": Part(1.0)})])
    assert weighted(x=lost, y=right).score_sync([Sample("x")])[0].detail == "x: lost session"


def test_what_is_skipped_stays_within_the_bounds():
    high = reward(name="high", bounds=(2.0, 3.0))(lambda completion: 2.5)
    low = reward(name="low", bounds=(-3.0, -2.0))(lambda completion: -2.5)
    absent = reward(name="absent", bounds=(-3.0, -2.0))(skipping.__wrapped__)
    both, one = weighted(a=high, b=low), weighted(a=high, b=absent)
    assert (both.bounds.low, both.bounds.high) == (one.bounds.low, one.bounds.high) == (-3.0, 3.0)
    assert one.score_sync([Sample("x")])[0].value == 2.5
    floor = weighted(a=high, b=(2.0, high), metric=(0.0, low)).bounds
    assert (floor.low, floor.high) == (2.0, 9.0)


@pytest.mark.parametrize(
    ("made", "value"),
    [
        (schedule(broken, [(0, 0.0)]), 0.0),
        (scale(broken, 0.0, 0.5), 0.5),
        (penalty(broken, 0), 0.0),
        (weighted(a=(0.0, broken)), 0.0),
        (weighted(a=(0, right)), 0.0),
    ],
)
def test_a_metric_that_breaks_costs_nothing(made, value):
    score = made.score_sync([Sample("x")])[0]
    assert (score.value, score.status) == (value, Status.SCORED)


def test_names_that_meet_are_told_apart():
    inner, offset, closed = (reward(name=name)(lambda completion: 1.0) for name in ("inner", "offset", "closed"))
    for made in (
        clip(inner, 0.0, 0.5),
        scale(offset, 2.0, 1.0),
        gate(right, closed),
        gate(right, reward(name="gate")(lambda completion: 1.0)),
        Weighted({"a.b": (1.0, right), "a": (1.0, weighted(b=right))}),
        clip(clip(inner, 0.0, 0.5), 0.0, 0.4),
        gate(gate(right, inner), gate(right, closed)),
    ):
        score = made.score_sync([Sample("x")])[0]
        assert score.value == pytest.approx(sum(part.contribution for part in score.parts.values()))
        assert score.value in made.bounds
        assert len(score.parts) >= 2


def test_a_name_given_in_a_sum_replaces_the_childs_own():
    made = weighted(
        answer=gate(malformed, right),
        short=penalty(weighted(a=right), 0.5),
        kept=clip(right, 0, 0.5),
        any=first_of(right),
    )
    assert set(made.score_sync([Sample("x")])[0].parts) == {
        *("answer.gate", "answer.closed", "short.a", "kept", "kept.inner", "any.right")
    }


def test_a_gate_that_adds_up_to_its_threshold_but_for_rounding_is_open():
    tenth = reward(name="tenth", bounds=(0, 0.1))(lambda completion: 0.1)
    condition = weighted(**{f"c{i}": (1 / 3, scale(tenth, 1.0)) for i in range(30)})
    assert gate(condition, right, threshold=1.0).score_sync([Sample("x")])[0].value == 1.0


def test_what_a_closed_gate_hides_is_not_scored():
    asked = []
    inner = reward(name="inner")(lambda completion: bool(asked.append(completion)) or 1.0)
    condition = reward(name="condition")(lambda completion: completion == "yes")
    scores = gate(condition, inner).score_sync([Sample("no"), Sample("yes"), Sample("no")])
    assert ([s.value for s in scores], asked) == ([0.0, 1.0, 0.0], ["yes"])
    assert scores[0].detail == "closed: condition is 0 < 1"


def test_times_of_children_are_put_together():
    timed = [Odd([Score.of({"odd": Part(1.0)}, queued_s=q, ran_s=r)]) for q, r in [(1.0, 2.0), (3.0, 4.0)]]
    score = weighted(a=timed[0], b=timed[1]).score_sync([Sample("x")])[0]
    assert (score.queued_s, score.ran_s) == (3.0, 6.0)


def test_an_empty_batch_gives_no_scores():
    for made in (weighted(a=right), gate(right, right), first_of(right), per_turn(right), group(len, name="g")):
        assert made.score_sync([]) == []


@settings(max_examples=20, deadline=None)
@given(st.lists(trees(), min_size=1, max_size=4))
def test_one_tree_in_64_threads_scores_as_in_one(made):
    def judged(tree):
        return [(s.value, s.status, dict(s.parts)) for s in tree.reward.score_sync([SAMPLE, SAMPLE])]

    alone = [judged(made[i % len(made)]) for i in range(64)]
    with ThreadPoolExecutor(64) as pool:
        assert list(pool.map(lambda i: judged(made[i % len(made)]), range(64))) == alone


def test_a_group_is_judged_together():
    best = group(lambda g: [float(s.completion == max(t.completion for t in g)) for s in g], name="best")
    batch = [Sample(c, group=g) for c, g in [("a", "1"), ("b", "2"), ("c", "1"), ("b", "2")]]
    assert [s.value for s in best.score_sync(batch)] == [0.0, 1.0, 1.0, 1.0]


def test_a_group_that_breaks_breaks_alone():
    def fussy(members):
        if members[0].group == "bad":
            raise OSError("judge down")
        return [1.0] * len(members)

    batch = [Sample("x", group="good"), Sample("x", group="bad"), Sample("x", group="good")]
    assert [s.value for s in group(fussy).score_sync(batch)] == [1.0, None, 1.0]
    short = group(lambda members: [1.0], name="short")
    assert {s.status for s in short.score_sync(batch[::2])} == {Status.INFRA_ERROR}


async def test_children_are_scored_at_once():
    import asyncio

    arrived = asyncio.Event()

    @reward
    async def first(completion):
        await asyncio.wait_for(arrived.wait(), 10)
        return 1.0

    @reward
    async def second(completion):
        arrived.set()
        return 1.0

    assert (await weighted(first=first, second=second)([Sample("x")]))[0].value == 2.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: weighted(), "at least one"),
        (lambda: weighted(a=1.0), "must be a reward or"),
        (lambda: first_of(right, right), "distinct names"),
        (lambda: penalty(right, -1), ">= 0"),
        (lambda: schedule(right, [(10, 0.0), (5, 1.0)]), "rising steps"),
        (lambda: schedule(right, []), "rising steps"),
        (lambda: per_turn(right, reduce="sum"), "max_turns"),
        (lambda: per_turn(right, reduce="median"), "mean, sum or last"),
        (lambda: per_turn(right, gamma=0.0), "gamma"),
        (lambda: per_turn(right, max_turns=0), "at least 1"),
        (lambda: weighted(a=(1.0, right, right)), "must be a reward or"),
        (lambda: gate(right, right, threshold=float("nan")), "finite"),
    ],
)
def test_bad_declarations_say_what_is_wrong(make, message):
    with pytest.raises((InvalidReward, TypeError), match=message):
        make()
