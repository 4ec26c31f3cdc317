from __future__ import annotations

import pytest

pytest.importorskip("reasoning_gym")

from rewards.math.reasoning import ReasoningAnswer, entries, is_hedged, is_safe
from rewards.sample import Sample
from rewards.status import Status


@pytest.mark.parametrize(
    "answer", ["x**2 + sin(3*x)/2 + C", "(1 + 2.5)*3", "[['Q', '_'], ['_', 'Q']]", "AABBC", "7!", "(x + 1)*(x - 1)"]
)
def test_values_and_formulas_are_safe(answer: str) -> None:
    assert is_safe(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "exit()",
        "exit ()",
        "quit(0)",
        "().__class__",
        "__import__('os')._exit(0)",
        "open('x', 'w')",
        "[c for c in ().__class__.__base__.__subclasses__()]",
        "(lambda: 1)()",
        "x.evalf(10**9)",
        "print(1)",
        "getattr(x, 'y')(0)",
        "[exit][0]()",
        "(exit)()",
        "(exit) ()",
        "exit\n()",
    ],
)
def test_nothing_else_is_evaluated(answer: str) -> None:
    assert not is_safe(answer)


@pytest.mark.parametrize(
    ("gold", "answer", "hedged"),
    [
        ("True", "True or False", True),
        ("True", "True, False", True),
        ("34 days", "34 days 34 days", True),
        ("5", "4\n5", True),
        ("a, b", "b,a", False),
        ("x**2 + 1", "1 + x ** 2", False),
        ("5", "5", False),
    ],
)
def test_more_candidates_than_the_gold_has_items_is_a_hedge(gold: str, answer: str, hedged: bool) -> None:
    assert is_hedged(gold, answer) is hedged


def _score(dataset: str, answer: str, index: int = 0) -> tuple[float | None, Status]:
    question, gold, _ = entries(dataset, 5, index, index + 1)[0]
    row = {"id": f"{dataset}/5/{index}", "prompt": question, "answer": gold, "reasoning_gym": dataset}
    score = ReasoningAnswer().score_sync([Sample(f"<answer>{answer}</answer>", row)])[0]
    return score.value, score.status


@pytest.mark.parametrize(
    "dataset", ["string_insertion", "spiral_matrix", "binary_matrix", "n_queens", "puzzle24", "countdown"]
)
def test_an_answer_that_would_end_the_worker_is_worth_nothing_and_excludes_nothing(dataset: str) -> None:
    assert _score(dataset, "__import__('os')._exit(0)") == (0.0, Status.MALFORMED)
    assert _score(dataset, "exit()") == (0.0, Status.MALFORMED)


def test_partial_credit_is_no_credit() -> None:
    gold = entries("word_sorting", 5, 0, 1)[0][1]
    assert gold is not None
    assert _score("word_sorting", gold) == (1.0, Status.SCORED)
    assert _score("word_sorting", ", ".join(reversed(gold.split(", ")))) == (0.0, Status.SCORED)


def test_a_verifier_that_raises_on_the_answer_gives_a_number() -> None:
    value, status = _score("boxnet", "0")
    assert value == 0.0
    assert status.has_value


def test_a_task_that_is_not_made_again_is_infrastructure_and_another_kind_of_task_is_skipped() -> None:
    row = {"id": "gcd/5/0", "answer": "not this", "reasoning_gym": "gcd"}
    other, plain = ReasoningAnswer().score_sync(
        [Sample(r"\boxed{1}", row), Sample(r"\boxed{1}", {"id": "t", "answer": "1"})]
    )
    assert (other.value, other.status) == (None, Status.INFRA_ERROR)
    assert (plain.value, plain.status) == (None, Status.SKIPPED)
