"""Faults and latencies repeat with the seed, and a retry draws anew."""

import statistics
from collections import Counter

import pytest

from dispatch.simulator import Options
from dispatch.simulator.fault import Fault
from dispatch.simulator.faults import FaultPlan

RATES = {"rate_429": 0.1, "rate_529": 0.1, "rate_malformed": 0.2}


def drawn(seed=1, items=2000, ordinal=1):
    plan = FaultPlan(Options(seed=seed, **RATES))
    return [plan.draw(f"item{number}", ordinal, "").fault for number in range(items)]


def test_the_same_seed_draws_the_same_and_another_seed_differs():
    assert drawn(seed=1) == drawn(seed=1)
    assert drawn(seed=1) != drawn(seed=2)


def test_a_retry_draws_anew():
    both = Counter(zip(drawn(ordinal=1), drawn(ordinal=2), strict=True))
    assert both[Fault.MALFORMED, None] > both[Fault.MALFORMED, Fault.MALFORMED] > 0


def test_faults_come_at_their_rates():
    shares = Counter(drawn(items=10_000))
    assert 900 < shares[Fault.RATE_LIMIT] < 1100
    assert 1850 < shares[Fault.MALFORMED] < 2150
    assert 5850 < shares[None] < 6150


def test_latency_is_lognormal_around_its_median():
    plan = FaultPlan(Options(latency=2, latency_sigma=0.5))
    latencies = [plan.draw(str(number), 1, "").latency for number in range(4000)]
    assert statistics.median(latencies) == pytest.approx(2, rel=0.05)
    assert min(latencies) > 0
    assert statistics.quantiles(latencies, n=100)[83] == pytest.approx(2 * 1.6487, rel=0.1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"latency": -1},
        {"rate_429": 0.6, "rate_500": 0.6},
        {"first_token_share": 1.5},
        {"fail_containing": {"x": "earthquake"}},
        {"burst_seconds": 0},
        {"rate_drop": float("nan")},
    ],
)
def test_options_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError):
        Options(**wrong)
