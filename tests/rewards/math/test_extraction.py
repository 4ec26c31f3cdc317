from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewards.math.extraction import boxes, extract, last_boxed, strip_thinking

RULES = ("boxed", "hashes", "phrase", "prefix", "tag", "last_number")

FOUND = [
    (r"so \boxed{42}", "boxed", "42"),
    (r"\boxed{1} hmm no, it is \boxed{2}", "boxed", "2"),
    (r"\boxed{\frac{1}{2}} and \boxed{", "boxed", r"\frac{1}{2}"),
    (r"\boxed{\{1, 2\}}", "boxed", r"\{1, 2\}"),
    (r"\boxed{\boxed{5}}", "boxed", "5"),
    (r"\fbox{7}", "boxed", "7"),
    (r"\boxed {7}", "boxed", "7"),
    (r"\boxed 7.", "boxed", "7"),
    (r"<think>\boxed{4}</think>\boxed{3}", "boxed", "3"),
    (r"<THINK>\boxed{4}</THINK>\boxed{3}", "boxed", "3"),
    (r"\boxed{3} <think> no, \boxed{9}", "boxed", "3"),
    ("İ" * 50 + r"</think>\boxed{3}", "boxed", "3"),
    (r"\boxed{13} The final answer is 12.", "boxed", "13"),
    ("a\n#### 1,234", "hashes", "1,234"),
    ("The answer is 5.", "phrase", "5"),
    ("The answer is 0.5. Good.", "phrase", "0.5"),
    ("Final answer: $12$", "phrase", "12"),
    ("Answer: **12**", "phrase", "12"),
    ("answer is 3\nanswer is 4", "phrase", "4"),
]

MISSING = [
    ("", "no boxed answer"),
    ("I do not know", "no boxed answer"),
    (r"\boxed{}", "empty"),
    (r"The answer might be 7. \boxed{ }", "empty"),
    (r"\boxed{7", "not closed"),
    (r"\boxed", "not closed"),
    (r"\boxed 42", "not closed"),
    (r"<think>\boxed{4}", "no boxed answer"),
    ("<think>" + "x" * 60_000 + r"\boxed{4}", "no boxed answer"),
    ("the answer is 7} or {8", "do not match"),
    ("#### 7}", "do not match"),
]


@pytest.mark.parametrize(("text", "kind", "answer"), FOUND)
def test_an_answer_is_found_by_the_first_rule_that_applies(text: str, kind: str, answer: str) -> None:
    found = extract(text)
    assert (found.kind, found.text, found.reason) == (kind, answer, "")


@pytest.mark.parametrize(("text", "reason"), MISSING)
def test_a_missing_answer_has_a_reason(text: str, reason: str) -> None:
    found = extract(text)
    assert not found.found
    assert reason in found.reason


def test_rules_beyond_the_default_must_be_asked_for() -> None:
    assert not extract("A: 18").found
    assert extract("so\nA: 18", ("prefix",)).text == "18"
    assert not extract("it is 18").found
    assert extract("from 3 to 1,018", ("last_number",)).text == "1,018"
    assert extract("<answer>1</answer> <answer>{ [</answer>", ("tag",)).text == "{ ["
    with pytest.raises(ValueError, match="no extraction rule 'guess'"):
        extract("18", ("guess",))


@given(st.text(max_size=300), st.sampled_from(RULES))
@settings(max_examples=300)
def test_no_text_makes_extraction_raise_and_the_span_points_at_the_answer(text: str, rule: str) -> None:
    found = extract(text, (rule,))
    if found.found:
        assert found.text in text[slice(*found.span)]


@given(
    st.lists(st.sampled_from(["\\boxed{", "\\boxed", "{", "}", "\\{", "1", " ", "<think>", "</think>"]), max_size=40)
)
@settings(max_examples=300)
def test_the_contents_of_every_box_are_balanced(pieces: list[str]) -> None:
    text = "".join(pieces)
    for box in boxes(text):
        if box.inner is not None:
            inner = text[slice(*box.inner)].replace("\\{", "").replace("\\}", "")
            assert inner.count("{") == inner.count("}")


def test_many_unclosed_boxes_are_read_in_one_pass() -> None:
    text = "\\boxed{" * 100_000
    assert len(boxes(text)) == 100_000
    assert extract(text).reason == "the box is not closed"
    assert last_boxed("\\boxed{5}" + text) == "5"


def test_strip_thinking_keeps_what_is_said_aloud() -> None:
    assert strip_thinking("a<think>b</think>c<think>d") == "c"
    assert strip_thinking("a</thinking>b") == "b"
    assert strip_thinking("plain") == "plain"
