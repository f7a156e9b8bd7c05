"""Money: a batch's budget and the installation's ceiling are held before a call is sent."""

import random
from collections import Counter
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from batchboard.intake import foresee
from batchboard.models import Attempt, Batch, Limits, ModelLimit, Price, RunOptions, Spend
from batchboard.money import dollars, units
from batchboard.pricing import Usage
from dispatch import price_rows, recorder, rescue, versions
from dispatch.deciding import deciding
from dispatch.forecast import Counted
from dispatch.outcome import Outcome
from tests.factories import MODEL, admit, finished, live_worker, queued, task_version

pytestmark = pytest.mark.django_db

WORST = 30 * 1_000 + 1_000 * 1_000 + 200 * 5_000
"""Units of one call's worst case: 30 bytes and 1,000 tokens of framing in, 200 out."""


@pytest.fixture
def worker():
    return live_worker()


def ceiling(calls, over=0):
    """A ceiling that pays for so many worst cases, and `over` units more."""
    Limits.objects.update_or_create(pk=1, defaults={"budget": dollars(calls * WORST + over)})


def settle(worker, calls, outcome=Outcome.OK, **fields):
    recorder.settle(worker.pk, [finished(c, outcome, **fields) for c in calls], admits=False)


def standing(batch):
    batch.refresh_from_db()
    return batch.waits_for, batch.blocked


@pytest.mark.parametrize(
    ("version", "reserved"),
    [
        ({}, WORST),
        ({"max_tokens": 400}, WORST + 200 * 5_000),
        ({"system": "é" * 500}, WORST + 1_000 * 1_000),  # bytes, not characters
        ({"system": "s" * 1_000, "shared_tokens": 600}, WORST + 1_000 * 1_000),
        ({"contract": {"type": "string"}}, WORST + 18 * 1_000),
    ],
)
def test_what_is_reserved_is_the_worst_case(worker, version, reserved):
    batch = queued(1, version=task_version(**version))
    admit(worker)
    assert units(batch.reserved) == reserved


@pytest.mark.parametrize("run", [{"mode": "single"}, {"mode": "packed", "group_size": 5}])
@pytest.mark.parametrize("contract", [None, {"type": "string"}])
def test_what_is_reserved_is_the_worst_case_that_was_told_before(worker, settings, run, contract):
    settings.DISPATCH_CONCURRENCY = 12
    batch = queued(12, version=task_version(contract=contract, max_tokens=200), **run)
    told = foresee(
        batch.version.definition, Counter({30: 12}), RunOptions(**run), Counted(), batch.version
    )
    admit(worker)
    assert batch.items.waiting().count() == 0
    assert batch.reserved == told.worst


@pytest.mark.parametrize(("looks", "rate"), [(False, 1_250), (True, 2_000)])
def test_a_call_that_writes_a_cache_reserves_for_writing_all_of_it(worker, looks, rate):
    version = task_version(system="s" * 1_000, shared_tokens=600)
    batch = queued(3, version=version, mode="cached", first_look=looks, concurrency=2)
    admit(worker)
    assert units(batch.reserved) == 2_030 * rate + 200 * 5_000


@pytest.mark.parametrize(("over", "calls"), [(0, 2), (-1, 1), (WORST - 1, 2), (WORST, 3)], ids=str)
@pytest.mark.parametrize("whose", ["batch", "installation"])
def test_no_call_begins_whose_worst_case_is_not_covered(worker, whose, over, calls):
    money = 2 * WORST + over
    if whose == "batch":
        batch = queued(9, budget=dollars(money))
    else:
        batch = queued(9)
        ceiling(2, over)
    assert len(admit(worker).calls) == calls
    assert standing(batch) == ("money", "")


@pytest.mark.parametrize("whose", ["batch", "installation"])
def test_what_is_in_flight_is_held_and_what_it_did_not_cost_pays_for_the_next(worker, whose):
    if whose == "batch":
        batch = queued(9, budget=dollars(2 * WORST))
    else:
        batch = queued(9)
        ceiling(2)
    calls = admit(worker, 1).calls + admit(worker).calls
    assert len(calls) == 2
    assert admit(worker).calls == []
    settle(worker, calls, usage=Usage(input=50, output=20))
    assert len(admit(worker).calls) == 1, "the first two cost a little: one more is covered"
    batch.refresh_from_db()
    assert units(batch.cost) == 2 * (50 * 1_000 + 20 * 5_000)


def test_the_price_of_a_decision_that_came_to_nothing_is_written_anew(worker):
    queued(1)
    with transaction.atomic():
        admit(worker)
        transaction.set_rollback(True)
    assert not Price.objects.exists()
    Price.objects.create(model="another", digest="d", rates={}, source="s")
    admit(worker)
    assert Attempt.objects.get().price.model == MODEL


def test_a_budget_that_is_spent_blocks_its_batch_alone(worker):
    poor, rich = queued(3, budget=dollars(WORST - 1)), queued(3)
    assert {call.batch for call in admit(worker).calls} == {rich.pk}
    assert standing(poor) == ("", "budget")
    assert "the next call may cost" in poor.blocked_detail


def test_a_ceiling_that_is_spent_blocks_every_batch(worker):
    ceiling(0)
    first, second = queued(3), queued(3)
    assert admit(worker).calls == []
    assert (standing(first), standing(second)) == (("", "ceiling"), ("", "ceiling"))
    Limits.objects.get().change(budget=100)
    assert len(admit(worker).calls) == 6


def test_an_unknown_cost_keeps_what_was_held_for_it(worker):
    batch = queued(3, budget=dollars(2 * WORST))
    ceiling(2)
    settle(worker, admit(worker).calls, Outcome.TIMEOUT, usage=None)
    batch.refresh_from_db()
    assert (batch.cost, units(batch.unknown_cost)) == (0, 2 * WORST)
    assert units(Spend.objects.get().unknown) == 2 * WORST
    assert {attempt.cost for attempt in Attempt.objects.all()} == {None}
    admit(worker)
    assert standing(batch) == ("", "budget")


def test_what_was_spent_last_month_does_not_count_in_this_one(worker, clock):
    Spend.objects.create(month="2026-10", known=Decimal(1_000))
    ceiling(2)
    queued(9)
    assert len(admit(worker).calls) == 2


def test_twice_the_tokens_are_paid_from_the_same_budget(worker):
    batch = queued(1, budget=dollars(WORST + 200 * 5_000))
    settle(worker, admit(worker).calls, Outcome.TRUNCATED, usage=Usage(output=200))
    assert admit(worker).calls == []
    assert standing(batch) == ("", "budget")


USAGES = [
    None,
    Usage(),
    Usage(input=1_030, output=200),  # all of the worst case
    Usage(input=40, output=100),
    Usage(input=10, output=0, cache_read=900),
]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("admit"), st.integers(1, 6)),
        st.tuples(st.just("admit"), st.integers(1, 2)),
        st.tuples(st.just("settle"), st.sampled_from(list(Outcome)), st.sampled_from(USAGES)),
        st.tuples(st.just("die"), st.booleans()),
        st.tuples(st.just("resume"), st.none()),
    ),
    min_size=3,
    max_size=14,
)


@given(
    steps=STEPS,
    ceiling_units=st.integers(0, 5 * WORST),
    budgets=st.lists(st.none() | st.integers(0, 3 * WORST), min_size=1, max_size=3),
    cap=st.integers(3, 9),
    seed=st.integers(0, 99),
)
@example_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_spent_and_reserved_never_pass_the_ceiling_or_a_budget(
    db, settings, steps, ceiling_units, budgets, cap, seed
):
    """Whatever is admitted, answered, lost or sent again, and in whatever order."""
    settings.DISPATCH_CONCURRENCY = cap
    price_rows.forget()
    versions.work_of.cache_clear()
    with transaction.atomic():
        _live_through(steps, ceiling_units, budgets, cap, random.Random(seed))
        transaction.set_rollback(True)


def _live_through(steps, ceiling_units, budgets, cap, chance):
    Limits.objects.update_or_create(pk=1, defaults={"budget": dollars(ceiling_units)})
    batches = [queued(6, budget=None if budget is None else dollars(budget)) for budget in budgets]
    worker, flying = live_worker(), []
    for step in steps:
        match step:
            case ("admit", room):
                flying += admit(worker, room, granted=chance.random() < 0.2).calls
            case ("settle", outcome, usage):
                chance.shuffle(flying)
                settle(worker, flying[:3], outcome, usage=usage)
                flying = flying[3:]
            case ("die", True):
                type(worker).objects.filter(pk=worker.pk).update(lease_until=worker.started_at)
                with deciding() as made:
                    rescue.sweep(made.limits, made.now)
                worker, flying = live_worker(), []
            case ("resume", _):
                ModelLimit.objects.update(paused_until=None)
                for batch in Batch.objects.exclude(blocked=""):
                    batch.resume()
        _check(batches, ceiling_units, budgets, cap)


def _check(batches, ceiling_units, budgets, cap):
    live = Attempt.objects.live()
    assert live.count() <= cap
    held = sum(units(attempt.reserved) for attempt in live)
    spent = sum(units(spend.known + spend.unknown) for spend in Spend.objects.all())
    assert spent + held <= ceiling_units
    for batch, budget in zip(batches, budgets, strict=True):
        batch.refresh_from_db()
        assert budget is None or units(batch.cost + batch.reserved) <= budget
        ended = batch.items.filter(state__in=["succeeded", "dead", "cancelled"]).count()
        assert batch.ended == ended
        assert batch.items.filter(state="running").count() == live.filter(batch=batch).count()
    costs = [units(attempt.cost) for attempt in Attempt.objects.ended() if attempt.cost is not None]
    assert sum(costs) == sum(units(batch.cost) for batch in batches)
    assert Price.objects.count() <= 1
