"""A model without a known price: it waits for one, or for the choice to run without."""

from datetime import timedelta
from decimal import Decimal

import pytest

from batchboard.models import Attempt, Limits, Price, StoredPrice
from batchboard.models.batch import Batch
from batchboard.pricing import Usage
from batchboard.states import MoveRefused
from dispatch import recorder, rescue
from dispatch.calls_of import calls_of
from dispatch.outcome import Outcome
from tests.factories import START, admit, draft, finished, live_worker, queued, task_version

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("announced", "clock")]
OWN = {"input": Decimal(1), "output": Decimal(4)}


@pytest.fixture
def worker():
    return live_worker(seconds=10**8)


@pytest.fixture
def version():
    return task_version("own-model")


def blocked(batch):
    batch.refresh_from_db()
    return batch.blocked


def test_a_batch_of_a_model_without_a_price_does_not_start(version):
    batch = draft(2, version=version)
    with pytest.raises(MoveRefused, match="No price of own-model is known"):
        batch.start()
    assert batch.state == "draft"


@pytest.mark.parametrize(
    ("ceiling", "budget", "says"),
    [(None, Decimal(1), "its budget could not hold"), (5, None, "ceiling for all spend")],
)
def test_nothing_runs_unpriced_where_money_is_limited(version, ceiling, budget, says):
    if ceiling:
        Limits.objects.current().change(budget=ceiling)
    batch = draft(2, version=version, unpriced_ok=True, budget=budget)
    with pytest.raises(MoveRefused, match=says):
        batch.start()


def test_a_ceiling_that_is_set_later_stops_what_runs_unpriced(worker, version):
    batch = queued(2, version=version, unpriced_ok=True)
    assert len(admit(worker, 1).calls) == 1
    Limits.objects.get().change(budget=5)
    assert admit(worker).calls == []
    assert blocked(batch) == "unpriced"
    assert "ceiling for all spend could not hold" in batch.blocked_detail


def test_what_runs_unpriced_is_recorded_with_its_cost_and_bound_unknown(worker, version):
    batch = queued(3, version=version, unpriced_ok=True)
    first, second, third = admit(worker).calls
    ended = [
        finished(first, usage=Usage(100, 10)),
        finished(second, Outcome.REFUSED, usage=None),
        finished(third, Outcome.INVALID, usage=Usage()),
    ]
    recorder.settle(worker.pk, ended, admits=False)
    batch.refresh_from_db()
    costs = list(Attempt.objects.order_by("id").values_list("cost", flat=True))
    assert costs == [None, None, 0], "what used nothing costs nothing at any price"
    assert {one.bound for one in Attempt.objects.filter(cost=None)} == {None}
    assert all(one.is_unpriced for one in Attempt.objects.filter(cost=None))
    assert (batch.cost, batch.unknown_cost, batch.input_tokens) == (0, 0, 100)
    assert not Price.objects.exists()


def test_what_a_dead_worker_held_unpriced_has_no_bound_either(worker, version, clock):
    queued(1, version=version, unpriced_ok=True)
    admit(worker)
    worker.lease_until = clock.now
    worker.save()
    rescue.sweep(Limits.objects.current(), clock.now)
    (attempt,) = Attempt.objects.ended()
    assert (attempt.outcome, attempt.cost, attempt.bound) == ("lost", None, None)


def test_a_price_that_is_entered_lets_the_blocked_go_on(worker, version):
    batch = queued(1, version=version, unpriced_ok=True)
    Batch.objects.filter(pk=batch.pk).update(unpriced_ok=False)
    assert admit(worker).calls == []
    assert blocked(batch) == "unpriced"
    StoredPrice.objects.enter("own-model", OWN)
    assert blocked(batch) == ""
    (call,) = admit(worker).calls
    assert (call.rates.input, call.rates.output) == (10_000, 40_000)
    assert (call.rates.cache_write_5m, call.rates.cache_read) == (12_500, 1_000)
    assert call.reserved > 0


def test_a_price_holds_from_its_moment_on_and_the_earlier_stays_with_what_it_was_applied_to(
    worker, version, clock
):
    StoredPrice.objects.enter("own-model", OWN)
    StoredPrice.objects.enter(
        "own-model", {"input": Decimal(9), "output": Decimal(9)},
        valid_from=START + timedelta(hours=1),
    )  # fmt: skip
    queued(2, version=version)
    (before,) = admit(worker, 1).calls
    clock.advance(3_600)
    (after,) = admit(worker, 1).calls
    assert (before.rates.input, after.rates.input) == (10_000, 90_000)
    ended = [finished(before, usage=Usage(100)), finished(after, usage=Usage(100))]
    recorder.settle(worker.pk, ended, admits=False)
    costs = Attempt.objects.order_by("id").values_list("cost", flat=True)
    assert list(costs) == [Decimal("0.0001"), Decimal("0.0009")]
    assert len(set(Attempt.objects.values_list("price__source", flat=True))) == 2


def test_a_call_is_charged_by_the_price_that_was_reserved_for_it(worker, version):
    """Whoever takes a grant may have read another price since."""
    StoredPrice.objects.enter("own-model", OWN)
    queued(1, version=version)
    (call,) = admit(worker, granted=True).calls
    StoredPrice.objects.enter("own-model", {"input": Decimal(9), "output": Decimal(9)})
    attempt = Attempt.objects.select_related("batch", "item", "price", "session").get()
    assert calls_of([attempt])[0].rates == call.rates


def test_a_process_sees_a_new_price_within_seconds(version, monkeypatch):
    from batchboard.models import prices

    moment = [100.0]
    monkeypatch.setattr(prices, "monotonic", lambda: moment[0])
    assert prices.applied("own-model", START) is None
    StoredPrice.objects.create(
        model="own-model", valid_from=START, input=1, output=4, cache_write_5m=1,
        cache_write_1h=2, cache_read=0,
    )  # fmt: skip
    assert prices.applied("own-model", START) is None, "another process entered it just now"
    moment[0] += prices.KEPT_SECONDS
    assert prices.applied("own-model", START).rates.output == 40_000
