"""Changing a batch under way, cancelling some of its items, and noting what was delivered."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import Group
from django.utils import timezone

from batchboard.models import Batch
from batchboard.models.changing import NotPossible
from batchboard.roles import NotAllowed, Role
from batchboard.states import BatchState, MoveRefused
from tests.factories import draft, in_review, person, queued, states

pytestmark = pytest.mark.django_db


def operator():
    found = person("operator")
    found.groups.add(Group.objects.get_or_create(name=Role.OPERATOR)[0])
    return found


def test_a_change_is_stored_with_what_was_before_and_who_made_it():
    batch, by = queued(3, budget=Decimal(1)), operator()
    changed = batch.change(by=by, budget=Decimal("2.50"), concurrency=4, priority=0)
    assert changed == ["budget", "concurrency"]
    assert (batch.budget, batch.concurrency) == (Decimal("2.50"), 4)
    event = batch.events.get(verb="batch.changed")
    assert event.actor == by
    assert [Decimal(amount) for amount in event.detail["budget"]] == [1, Decimal("2.5")]
    assert event.detail["concurrency"] == [None, 4]


def test_what_stays_as_it_is_leaves_no_event():
    batch = queued(3)
    assert batch.change(budget=None, priority=0) == []
    assert not batch.events.filter(verb="batch.changed").exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [("budget", Decimal(-1)), ("budget", Decimal("NaN")), ("concurrency", 0), ("priority", 11),
     ("deadline", 0)],
)  # fmt: skip
def test_a_value_that_cannot_be_is_refused_and_named(field, value):
    batch = queued(3)
    with pytest.raises(NotPossible) as refusal:
        batch.change(**{field: value})
    assert refusal.value.field == field
    batch.refresh_from_db()
    assert not batch.events.filter(verb="batch.changed").exists()


@pytest.mark.parametrize("state", ["review", "released", "rejected", "cancelled"])
def test_a_batch_that_ended_is_not_changed(state):
    batch = draft(3)
    Batch.objects.filter(pk=batch.pk).update(state=state)
    with pytest.raises(MoveRefused, match="can no longer be changed"):
        batch.change(priority=1)


@pytest.mark.parametrize(
    ("before", "after", "blocked"),
    [(1, 2, ""), (1, None, ""), (2, 1, "budget")],
)
def test_more_money_lifts_the_block_for_want_of_it(before, after, blocked):
    batch = queued(3, budget=Decimal(before))
    Batch.objects.filter(pk=batch.pk).update(blocked="budget", blocked_detail="spent")
    batch.change(budget=None if after is None else Decimal(after))
    assert batch.blocked == blocked


def test_another_block_stays_whatever_is_changed():
    batch = queued(3, budget=Decimal(1))
    Batch.objects.filter(pk=batch.pk).update(blocked="key_refused")
    batch.change(budget=Decimal(5))
    assert batch.blocked == "key_refused"


def test_a_deadline_counts_from_the_first_call_and_lifts_its_block():
    batch = queued(3, deadline=60)
    began = timezone.now() - timedelta(seconds=100)
    Batch.objects.filter(pk=batch.pk).update(started_at=began, blocked="deadline")
    with pytest.raises(NotPossible, match="over already"):
        batch.change(deadline=90)
    batch.change(deadline=200)
    assert batch.deadline_at == began + timedelta(seconds=200)
    assert batch.blocked == ""


@pytest.mark.parametrize("verb", ["change", "cancel_items"])
def test_only_an_operator_may(verb):
    batch = queued(3)
    with pytest.raises(NotAllowed, match="Only an operator or an administrator may"):
        getattr(batch, verb)(by=person(roles=()))
    assert states(batch) == {"waiting": 3}


def test_some_waiting_items_are_cancelled_and_the_rest_goes_on():
    batch = queued(5)
    assert batch.cancel_items(batch.items.filter(position__gte=3), by=operator()) == 2
    assert states(batch) == {"waiting": 3, "cancelled": 2}
    assert (batch.cancelled, batch.state) == (2, BatchState.QUEUED)
    assert batch.events.get(verb="items.cancelled").detail == {"count": 2}


def test_items_of_another_batch_are_left_alone():
    batch, other = queued(2), queued(2)
    with pytest.raises(MoveRefused, match="nothing to cancel"):
        batch.cancel_items(other.items.all())
    assert states(other) == {"waiting": 2}


def test_when_the_last_waiting_item_is_cancelled_the_batch_ends():
    batch = queued(3)
    batch.cancel_items()
    assert batch.state == BatchState.REVIEW


def test_what_is_cancelled_is_never_called():
    from tests.factories import admit, live_worker

    batch = queued(5)
    batch.cancel_items(batch.items.filter(position__in=[0, 2]))
    called = [call.parts[0].key for call in admit(live_worker()).calls]
    assert called == ["k1", "k3", "k4"]


def test_a_finished_batch_has_nothing_to_cancel():
    with pytest.raises(MoveRefused, match="while a batch is under way"):
        in_review(3).cancel_items()


def test_dead_items_are_sent_again_among_those_chosen():
    batch = in_review(5, bad=3)
    assert batch.retry(among=batch.items.filter(key="k3")) == 1
    assert states(batch) == {"succeeded": 2, "dead": 2, "waiting": 1}
