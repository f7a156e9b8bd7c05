"""Sums of batches: they add up, and are the same again after they were stored."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from batchboard.batch_sums import BatchSums, merged
from batchboard.compare.spread import Spread
from batchboard.pricing import Usage

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def stretch(start: int, end: int) -> tuple[datetime, datetime]:
    return NOON + timedelta(seconds=start), NOON + timedelta(seconds=end)


ONE = BatchSums(
    spread=Spread.of([(100, True, 0), (300, True, 100), (50, False, 0)]),
    usage=Usage(1, 2, 3, 4, 5),
    money=Usage(10, 20, 30, 40, 50),
    failed_usage=Usage(input=1),
    failed_money=Usage(input=10),
    unknown=100,
    unknown_attempts=1,
    calls=3,
    attempts=4,
    failed_attempts=2,
    lost=1,
    latencies=Counter({5: 1, 70: 1}),
    at_work=(stretch(0, 10), stretch(20, 30)),
)
OTHER = BatchSums(
    spread=Spread.of([(700, True, 0)]),
    usage=Usage(10, 10, 10, 10, 10),
    money=Usage(100, 100, 100, 100, 100),
    unpriced=2,
    calls=1,
    attempts=1,
    latencies=Counter({70: 2}),
    at_work=(stretch(5, 22),),
)


def test_what_was_stored_is_the_same_again():
    for sums in (ONE, OTHER, BatchSums()):
        assert BatchSums.of_json(json.loads(json.dumps(sums.as_json()))) == sums


def test_sums_of_batches_are_those_of_all_their_items():
    whole = BatchSums.total([ONE, OTHER])
    every = Spread.of([(100, True, 0), (300, True, 100), (50, False, 0), (700, True, 0)])
    assert (whole.spread.ok.count, whole.spread.ok.total) == (every.ok.count, every.ok.total)
    assert whole.spread.ok.squares == pytest.approx(every.ok.squares)
    assert whole.usage == Usage(11, 12, 13, 14, 15)
    assert whole.money == Usage(110, 120, 130, 140, 150)
    assert (whole.unknown, whole.unpriced, whole.calls, whole.attempts) == (100, 2, 4, 5)
    assert whole.latencies == {5: 1, 70: 3}
    assert whole.latency(0.5) == 1_400
    assert whole.at_work == (stretch(0, 30),)
    assert whole.seconds_at_work == 30


def test_of_no_batch_there_is_nothing():
    assert BatchSums.total([]) == BatchSums()
    assert BatchSums().latency(0.5) is None


def test_stretches_that_touch_are_one():
    assert merged([stretch(5, 9), stretch(0, 5), stretch(20, 21)]) == (
        stretch(0, 9),
        stretch(20, 21),
    )
