"""Reservations: one person judges a drawn result at a time, and nobody waits for long."""

from datetime import timedelta

import pytest

from batchboard.models import SampledItem
from batchboard.models.reserving import RESERVED_FOR
from batchboard.roles import NotAllowed
from batchboard.states import MoveRefused
from tests.at_once import at_once
from tests.factories import in_review, judge_all, person

pytestmark = pytest.mark.django_db


def reviewer(name="Ada"):
    return person(name, is_superuser=True)


def drawn(batch):
    return [row["key"] for row in batch.sample()]


def holders(batch):
    rows = SampledItem.objects.filter(review__batch=batch, reserved_by__isnull=False)
    return dict(rows.values_list("item__key", "reserved_by"))


def test_a_reservation_keeps_others_out_until_it_runs_out(clock):
    ada, ben, batch = reviewer(), reviewer("Ben"), in_review(5)
    assert batch.reserve("k1", ada)
    assert not batch.reserve("k1", ben)
    clock.advance(RESERVED_FOR.total_seconds() + 1)
    assert batch.reserve("k1", ben)
    assert holders(batch) == {"k1": ben.pk}


def test_it_is_renewed_by_who_holds_it(clock):
    ada, ben, batch = reviewer(), reviewer("Ben"), in_review(5)
    batch.reserve("k1", ada)
    clock.advance(400)
    assert batch.reserve("k1", ada)
    clock.advance(400)
    assert not batch.reserve("k1", ben)


def test_only_a_change_of_hands_is_announced(announced, django_capture_on_commit_callbacks):
    ada, batch = reviewer(), in_review(5)
    with django_capture_on_commit_callbacks(execute=True):
        batch.reserve("k1", ada)
    announced.clear()
    with django_capture_on_commit_callbacks(execute=True):
        batch.reserve("k1", ada)
    assert announced == []


def test_a_person_holds_one_result_at_a_time():
    ada, batch = reviewer(), in_review(5)
    batch.reserve("k1", ada)
    batch.reserve("k2", ada)
    assert holders(batch) == {"k2": ada.pk}


def test_a_verdict_on_what_another_holds_is_refused():
    ada, ben, batch = reviewer(), reviewer("Ben"), in_review(5)
    batch.reserve("k1", ada)
    for by in (ben, None):
        with pytest.raises(MoveRefused, match="is judging k1"):
            batch.judge("k1", "pass", by=by)
    assert SampledItem.objects.get(item__key="k1").verdict == ""
    batch.judge("k1", "pass", by=ada)
    assert holders(batch) == {}


def test_what_is_judged_cannot_be_reserved():
    ada, batch = reviewer(), in_review(5)
    batch.judge("k1", "pass", by=ada)
    assert not batch.reserve("k1", ada)


def test_the_next_is_the_first_free_one_after_it_and_then_from_the_beginning():
    ada, ben, batch = reviewer(), reviewer("Ben"), in_review(20)
    keys = drawn(batch)
    batch.reserve(keys[2], ben)
    batch.judge(keys[1], "pass", by=ada)
    assert batch.reserve_next(ada, after=keys[1]) == keys[3]
    assert batch.reserve_next(ada, after=keys[4]) == keys[0]


def test_there_is_no_next_once_others_hold_what_is_left():
    ada, ben, batch = reviewer(), reviewer("Ben"), in_review(3)
    batch.judge("k0", "pass", by=ada)
    batch.judge("k1", "pass", by=ada)
    batch.reserve("k2", ben)
    assert batch.reserve_next(ada, after="k1") is None


def test_whoever_leaves_lets_go():
    ada, ben, batch = reviewer(), reviewer("Ben"), in_review(5)
    batch.reserve("k1", ada)
    batch.hand_back(ada)
    assert batch.reserve("k1", ben)
    batch.hand_back(ada)
    assert holders(batch) == {"k1": ben.pk}


def test_only_what_is_drawn_and_open_can_be_reserved_and_only_by_a_reviewer():
    ada, batch = reviewer(), in_review(5)
    with pytest.raises(MoveRefused, match="not in the sample"):
        batch.reserve("other", ada)
    with pytest.raises(NotAllowed):
        batch.reserve("k1", person("Viewer", roles=[]))
    judge_all(batch)
    batch.approve()
    with pytest.raises(MoveRefused, match="no open review"):
        batch.reserve("k1", ada)


@pytest.mark.django_db(transaction=True)
class TestAtOnce:
    def test_one_of_many_gets_it(self):
        people, batch = [reviewer(str(n)) for n in range(6)], in_review(5)
        for key in drawn(batch):
            won = at_once(*(lambda by=by, key=key: batch.reserve(key, by) for by in people))
            assert sorted(won) == [False] * 5 + [True]
            SampledItem.objects.update(reserved_until=None, reserved_by=None)

    def test_nobody_gets_the_same_next_one(self):
        people, batch = [reviewer(str(n)) for n in range(5)], in_review(5)
        found = at_once(*(lambda by=by: batch.reserve_next(by) for by in people))
        assert sorted(found) == sorted(drawn(batch))

    def test_either_the_verdict_or_the_reservation_of_another_comes_first(self):
        ada, ben, batch = reviewer(), reviewer("Ben"), in_review(5)
        for key in drawn(batch):
            refused, reserved = at_once(
                lambda key=key: batch.judge(key, "pass", by=ada),
                lambda key=key: batch.reserve(key, ben),
            )
            verdict = SampledItem.objects.get(item__key=key).verdict
            assert (verdict == "pass") == (refused is None) == (not reserved)
            SampledItem.objects.update(reserved_until=None, reserved_by=None)


def test_it_holds_for_ten_minutes():
    assert timedelta(minutes=10) == RESERVED_FOR
