"""Where each ending sends its item: the table, row by row."""

import random

import pytest

from dispatch.outcome import ROUTES, TRANSIENT, Action, Outcome, decide

O, A = Outcome, Action  # noqa: E741 - the table reads better


def decided(outcome, **earlier):
    return decide(outcome, earlier, random.Random(1))


@pytest.mark.parametrize(
    ("outcome", "earlier", "action"),
    [
        (O.OK, {}, A.SUCCEED),
        (O.OK, {"server": 2, "contract": 1}, A.SUCCEED),
        (O.RATE_LIMITED, {}, A.WAIT),
        (O.RATE_LIMITED, {"rate_limited": 49}, A.WAIT),
        (O.RATE_LIMITED, {"rate_limited": 50}, A.BURY),
        (O.RATE_LIMITED, {"server": 2, "timeout": 9}, A.WAIT),
        *[(each, {}, A.RETRY) for each in sorted(TRANSIENT)],
        *[(each, {"network": 1}, A.RETRY) for each in sorted(TRANSIENT)],
        *[(each, {"network": 2}, A.BURY) for each in sorted(TRANSIENT)],
        *[(each, {"overloaded": 1, "timeout": 1}, A.BURY) for each in sorted(TRANSIENT)],
        (O.SERVER, {"rate_limited": 40, "contract": 1, "lost": 7}, A.RETRY),
        (O.CONTRACT, {}, A.AGAIN),
        (O.CONTRACT, {"contract": 1}, A.BURY),
        (O.CONTRACT, {"truncated": 1, "server": 2}, A.AGAIN),
        (O.TRUNCATED, {}, A.AGAIN),
        (O.TRUNCATED, {"truncated": 1}, A.BURY),
        (O.TRUNCATED, {"contract": 1}, A.AGAIN),
        (O.REFUSED, {}, A.BURY),
        (O.INVALID, {}, A.BURY),
        (O.UNKNOWN, {}, A.BURY),
        (O.UNAUTHORISED, {}, A.BLOCK),
        (O.UNAUTHORISED, {"unauthorised": 30}, A.BLOCK),
        (O.SPEND_CAP, {}, A.BLOCK),
        (O.LOST, {}, A.WAIT),
        (O.LOST, {"lost": 19}, A.WAIT),
        (O.LOST, {"lost": 20}, A.BURY),
        (O.CANCELLED, {}, A.CANCEL),
    ],
)
def test_an_ending_sends_its_item(outcome, earlier, action):
    assert decided(outcome, **earlier).action is action


def test_every_outcome_has_a_route():
    assert set(ROUTES) == set(Outcome)
    for outcome in Outcome:
        assert decided(outcome).action in Action


@pytest.mark.parametrize(("before", "least", "most"), [(0, 0.5, 1), (1, 1, 2)])
def test_a_retry_waits_longer_each_time_and_never_quite_the_same(before, least, most):
    chance = random.Random(7)
    delays = [decide(O.SERVER, {"server": before}, chance).delay for _ in range(200)]
    assert least <= min(delays) < max(delays) <= most
    assert len(set(delays)) > 100


def test_only_a_retry_waits():
    for outcome in set(Outcome) - TRANSIENT:
        assert decided(outcome).delay == 0
