from __future__ import annotations

import itertools
import json

import pytest

from rewards.status import Status

SEVERITY = [Status.SKIPPED, Status.SCORED, Status.MALFORMED, Status.POLICY_LIMIT, Status.INFRA_ERROR]


def test_only_what_the_policy_cannot_cause_has_no_value() -> None:
    assert {status for status in Status if not status.has_value} == {Status.INFRA_ERROR, Status.SKIPPED}


@pytest.mark.parametrize(("mild", "grave"), itertools.combinations(SEVERITY, 2))
def test_the_graver_of_two_is_the_totals(mild: Status, grave: Status) -> None:
    assert Status.worst([mild, grave]) is Status.worst([grave, mild]) is grave


def test_nothing_to_judge_is_skipped() -> None:
    assert Status.worst([]) is Status.SKIPPED


def test_a_status_travels_as_its_own_text() -> None:
    assert [Status(json.loads(json.dumps(status))) for status in Status] == list(Status)
